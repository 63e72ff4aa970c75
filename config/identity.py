"""Who a line of an allow-list means: a platform, its realm if it has any, and an immutable id. Never a name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from config.sources import shown, wrong

# The forms of ids: https://core.telegram.org/bots/api#user and Discord's snowflakes are positive 64-bit numbers,
# Slack's are T.../U... (or W...) of capitals and digits.
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,19}\Z")
_FORMS: Final = {
    "telegram": (_NUMBER, "telegram:123456"),
    "discord": (_NUMBER, "discord:123456"),
    "slack": (re.compile(r"[TE][A-Z0-9]+/[UW][A-Z0-9]+\Z"), "slack:TEAM/USER"),
    "http": (re.compile(r"[A-Za-z0-9_.-]+\Z"), "http:CLIENT"),
    "terminal": (re.compile(r"[A-Za-z0-9_.-]+\Z"), "terminal:local"),
}


@dataclass(frozen=True, kw_only=True)
class Identity:
    """One account of one human. Unique everywhere."""

    platform: str
    realm: str = ""
    """Slack's team; else empty."""
    user: str
    """The platform's immutable user id."""

    def __str__(self) -> str:
        return f"{self.platform}:{self.realm}/{self.user}" if self.realm else f"{self.platform}:{self.user}"


def parse_identity(given: object) -> Identity:
    """`platform:ID` or `platform:REALM/ID`. Raises a fault that shows the right form; names like "@bob" are refused."""
    if isinstance(given, Identity):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        raise wrong(
            f"{given} does not say on which platform", f'write "telegram:{given}", with its platform, in quotes'
        )
    if not isinstance(given, str):
        raise wrong("is no identity", 'write "platform:ID" as in "telegram:123456"')
    return _parse(given)


def _parse(text: str) -> Identity:
    platform, colon, user = text.partition(":")
    if not text.strip():
        raise wrong("is empty", 'write "platform:ID", or leave it out')
    if "," in text or "[" in text:
        raise wrong(
            f"{shown(text)} holds a list inside text", 'write each as a text of its own: ["telegram:1", "telegram:2"]'
        )
    if "@" in text:
        raise wrong(f"{shown(text)} is a name, and names change hands: the numeric id is wanted", _WHOAMI)
    if not colon:
        hint = f"write {shown('telegram:' + text)}, with its platform" if text.isdigit() else 'write "platform:ID"'
        raise wrong(f"{shown(text)} does not say on which platform", hint)
    if platform not in _FORMS:
        near = get_close_matches(platform, _FORMS, n=1)
        raise wrong(
            f"{shown(text)} names no known platform",
            f'did you mean "{near[0]}"?' if near else f"known: {', '.join(_FORMS)}",
        )
    form, example = _FORMS[platform]
    if not form.match(user):
        raise wrong(f"{shown(text)} holds no {platform} user id", f'write it as in "{example}"; {_WHOAMI}')
    realm, _, last = user.rpartition("/")
    return Identity(platform=platform, realm=realm, user=last)


_WHOAMI: Final = "/whoami shows a person's id"
