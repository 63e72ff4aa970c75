"""What people type, as Slack hands it on: escaped, with tokens for people, channels and links
(https://docs.slack.dev/messaging/formatting-message-text#retrieving-messages). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_TOKEN: Final = re.compile(r"<([^<>]+)>")
_PERSON: Final = re.compile(r"<@([A-Z0-9]+)(?:\|[^<>]*)?>")
_NAMELESS: Final = re.compile(r"<#([CG][A-Z0-9]+)\|?>")
_SCHEME: Final = re.compile(r"(?:https?://|mailto:|tel:)", re.IGNORECASE)


def people_in(text: str) -> set[str]:
    """The ids of all who are mentioned."""
    return set(_PERSON.findall(text))


def named_in(text: str) -> set[str]:
    """The ids of all whose names are needed to read this: people, and channels that come without theirs."""
    return {*people_in(text), *_NAMELESS.findall(text)}


def mentions(text: str, user: str) -> bool:
    """Is this person mentioned?"""
    return user in people_in(text)


def without_mention(text: str, user: str) -> str:
    """Without the mentions of this person at its start and end; a text of nothing else stays as it is."""
    one = rf"<@{re.escape(user)}(?:\|[^<>]*)?>"
    rest = re.sub(rf"\A\s*(?:{one}[,:]?\s*)+", "", text)
    rest = re.sub(rf"(?:[\s,]*{one})+\s*\Z", "", rest)
    return rest if rest.strip() else text


def readable(text: str, names: Mapping[str, str]) -> str:
    """As a person would read it. `names` are those of people and channels by id; what is not in it keeps label or
    id."""
    return unescaped(_TOKEN.sub(lambda found: _shown(found[1], names), text))


def unescaped(text: str) -> str:
    """With the three characters that Slack escapes."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def escaped(text: str) -> str:
    """With the three characters escaped that Slack reads."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _shown(token: str, names: Mapping[str, str]) -> str:
    body, _, label = token.partition("|")
    match body[:1]:
        case "@":
            return "@" + (escaped(names.get(body[1:], "")) or label.removeprefix("@") or body[1:])
        case "#":
            return "#" + (label or escaped(names.get(body[1:], "")) or body[1:])
        case "!":
            return _special(body[1:], label)
        case _:
            return _link(body, label)


def _special(body: str, label: str) -> str:
    """Broadcasts, groups of people, dates: whatever the token says of itself."""
    name = body.partition("^")[0]
    return label or f"@{name}"


def _link(address: str, label: str) -> str:
    bare = re.sub(r"\A(?:mailto:|tel:)", "", address)
    if not label or label in (address, bare) or _SCHEME.sub("", address, count=1) == label:
        return bare
    return f"{label} ({bare})"
