"""A small language for the shapes of Block Kit: a check looks at one value and adds what is wrong with it.

A fault reads like Slack's: what, and where as a JSON pointer.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.fakes.slack.model import JsonValue

Check: TypeAlias = Callable[[JsonValue, str, list[str]], None]


@dataclass(frozen=True)
class Shape:
    """An object's fields. `needed` must be there, `may` can be, `one_of` needs at least one of its own."""

    needed: dict[str, Check] = field(default_factory=dict)
    may: dict[str, Check] = field(default_factory=dict)
    one_of: tuple[str, ...] = ()

    def __call__(self, value: JsonValue, where: str, faults: list[str]) -> None:
        if not isinstance(value, dict):
            faults.append(f"must be an object [json-pointer:{where}]")
            return
        known = {**self.needed, **self.may}
        for name, inner in value.items():
            if name in known:
                known[name](inner, f"{where}/{name}", faults)
            elif name != "type":
                faults.append(f"invalid additional property: {name} [json-pointer:{where}]")
        missing = [name for name in self.needed if value.get(name) is None]
        faults += [f"missing required field: {name} [json-pointer:{where}]" for name in missing]
        if self.one_of and not any(value.get(name) for name in self.one_of):
            faults.append(f"missing required field: {' or '.join(self.one_of)} [json-pointer:{where}]")


def text(most: int, least: int = 1) -> Check:
    """A string of so many characters."""

    def check(value: JsonValue, where: str, faults: list[str]) -> None:
        if not isinstance(value, str):
            faults.append(f"must be a string [json-pointer:{where}]")
        elif len(value) > most:
            faults.append(f"must be less than {most + 1} characters [json-pointer:{where}]")
        elif len(value) < least:
            faults.append(f"must be more than {least - 1} characters [json-pointer:{where}]")

    return check


def plain(most: int) -> Check:
    """A plain_text object."""
    return _text_object(most, ("plain_text",))


def rich(most: int) -> Check:
    """A plain_text or mrkdwn object."""
    return _text_object(most, ("plain_text", "mrkdwn"))


_EXTRAS = {"plain_text": {"type", "text", "emoji"}, "mrkdwn": {"type", "text", "verbatim"}}


def _text_object(most: int, kinds: tuple[str, ...]) -> Check:
    inner = text(most)

    def check(value: JsonValue, where: str, faults: list[str]) -> None:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(kind, str) or kind not in kinds:
            faults.append(f"must be a {' or '.join(kinds)} object [json-pointer:{where}]")
            return
        inner(value.get("text"), f"{where}/text", faults)
        faults += [
            f"invalid additional property: {name} [json-pointer:{where}]" for name in value.keys() - _EXTRAS[kind]
        ]

    return check


def flag(value: JsonValue, where: str, faults: list[str]) -> None:
    if not isinstance(value, bool):
        faults.append(f"must be a boolean [json-pointer:{where}]")


def integer(value: JsonValue, where: str, faults: list[str]) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        faults.append(f"must be an integer [json-pointer:{where}]")


def anything(value: JsonValue, where: str, faults: list[str]) -> None:
    """Not looked into."""


def word(*allowed: str) -> Check:
    def check(value: JsonValue, where: str, faults: list[str]) -> None:
        if value not in allowed:
            faults.append(f"must be one of {', '.join(allowed)} [json-pointer:{where}]")

    return check


def listed(inner: Check, most: int, least: int = 1) -> Check:
    def check(value: JsonValue, where: str, faults: list[str]) -> None:
        if not isinstance(value, list):
            faults.append(f"must be an array [json-pointer:{where}]")
            return
        if len(value) > most:
            faults.append(f"no more than {most} items allowed [json-pointer:{where}]")
        if len(value) < least:
            faults.append(f"must provide at least {least} items [json-pointer:{where}]")
        for place, one in enumerate(value):
            inner(one, f"{where}/{place}", faults)

    return check


def typed(shapes: dict[str, Check], allowed: frozenset[str] | None = None) -> Check:
    """An object whose `type` says which shape it has; only the allowed types may stand here."""

    def check(value: JsonValue, where: str, faults: list[str]) -> None:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str):
            faults.append(f"missing required field: type [json-pointer:{where}]")
        elif kind not in shapes or (allowed is not None and kind not in allowed):
            faults.append(f"unsupported type: {kind} [json-pointer:{where}/type]")
        else:
            shapes[kind](value, where, faults)

    return check


def url_check(value: JsonValue, where: str, faults: list[str]) -> None:
    """http or https, 3,000 characters at most."""
    if not isinstance(value, str) or len(value) > 3_000:
        faults.append(f"must be a string of at most 3000 characters [json-pointer:{where}]")
    elif not value.startswith(("http://", "https://", "mailto:", "slack://")):
        faults.append(f"must be a valid URL [json-pointer:{where}]")
