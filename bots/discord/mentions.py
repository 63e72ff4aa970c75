"""Discord's own marks in a text, made readable: https://docs.discord.com/developers/reference#message-formatting.

Inside code they are plain text, so they stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from msgspec import Struct, field

from core.people.names import storable

_MARK: Final = re.compile(
    r"(?P<code>```.*?```|``[^`].*?``|`[^`\n]+`)"
    r"|<@!?(?P<user>[0-9]{1,20})>"
    r"|<@&(?P<role>[0-9]{1,20})>"
    r"|<#(?P<channel>[0-9]{1,20})>"
    r"|<a?:(?P<emoji>\w{2,32}):[0-9]{1,20}>"
    r"|<t:(?P<time>-?[0-9]{1,15})(?::(?P<form>[tTdDfFsSR]))?>"
    r"|</(?P<command>[-_\w ']{1,100}):[0-9]{1,20}>",
    re.DOTALL | re.ASCII,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES: Final = {"t": "%H:%M UTC", "T": "%H:%M:%S UTC", "d": "%Y-%m-%d", "D": "%Y-%m-%d"}
_OTHER_TIME: Final = "%Y-%m-%d %H:%M UTC"


class Names(Protocol):
    """What ids are called; None: nobody knows."""

    def channel_name(self, channel: str) -> str | None: ...

    def role_name(self, role: str) -> str | None: ...


class NoNames:
    """`Names` where nothing is known."""

    def channel_name(self, channel: str) -> str | None:
        return None

    def role_name(self, role: str) -> str | None:
        return None


class Known(Struct, frozen=True, kw_only=True):
    """Whom a text can name: the people that came with it, and us."""

    users: Mapping[str, str]
    names: Names = field(default_factory=NoNames)
    ours: frozenset[str] = frozenset()
    """Our own marks: that of our user, and those of roles that are ours alone."""


def marks_of(user: str, roles: Iterable[str]) -> frozenset[str]:
    return frozenset({f"<@{user}>", f"<@!{user}>", *(f"<@&{role}>" for role in roles)})


def names_us(text: str, known: Known) -> bool:
    """Whether a mention of us stands in the text, outside code."""
    return any(found[0] in known.ours for found in _MARK.finditer(text))


def readable(text: str, known: Known) -> str:
    """The text as people read it, without our own name before and behind it. Where there is nothing but our name, it
    stays."""
    rest = _without_ours(text, known.ours)
    return _shown(rest, known) or _shown(text, known)


def _shown(text: str, known: Known) -> str:
    return storable(_MARK.sub(lambda found: _word(found, known), text)).strip()


def _without_ours(text: str, ours: frozenset[str]) -> str:
    """Several in a row go, and what sets the first one off from the rest."""
    text = text.strip()
    while mark := next((one for one in ours if text.startswith(one)), None):
        text = re.sub(r"\A[,:]?\s+", "", text[len(mark) :]).strip()
    while mark := next((one for one in ours if text.endswith(one)), None):
        text = text[: -len(mark)].rstrip()
    return text


def _word(found: re.Match[str], known: Known) -> str:
    whole = found[0]
    match found.lastgroup:
        case "user":
            name = known.users.get(found["user"])
            return f"@{name}" if name else whole
        case "role":
            name = known.names.role_name(found["role"])
            return f"@{name}" if name else whole
        case "channel":
            name = known.names.channel_name(found["channel"])
            return f"#{name}" if name else whole
        case "emoji":
            return f":{found['emoji']}:"
        case "time" | "form":
            return _time(found["time"], found["form"]) or whole
        case "command":
            return f"/{found['command']}"
        case _:
            return whole


def _time(seconds: str, form: str | None) -> str | None:
    try:
        moment = _EPOCH + timedelta(seconds=int(seconds))
    except OverflowError:
        return None
    return moment.strftime(_TIMES.get(form or "f", _OTHER_TIME))
