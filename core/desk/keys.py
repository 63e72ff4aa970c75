"""Session keys: where a conversation takes place, as one injective string.

    BOT/dm/CHAT[/thread/T]   BOT/group/CHAT[/user/U]   BOT/group/CHAT/thread/T[/user/U]
    person/ID   BOT/<named by the bot>

Every part is percent-encoded (RFC 3986, all but unreserved characters), so that no part can hold a separator.
"""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from core.vocabulary import Address, ChatKind, UserId

Scope = Literal["chat", "user"]


def encode(part: str) -> str:
    """One part of a key."""
    return quote(part, safe="")


def direct(address: Address) -> str:
    key = f"{encode(address.bot)}/dm/{encode(address.chat)}"
    return key if address.thread is None else f"{key}/thread/{encode(address.thread)}"


def group(address: Address, user: UserId | None = None) -> str:
    """A group or a thread in it; with `user`, that person's own conversation there."""
    key = f"{encode(address.bot)}/group/{encode(address.chat)}"
    if address.thread is not None:
        key += f"/thread/{encode(address.thread)}"
    return key if user is None else f"{key}/user/{encode(user)}"


def person(person_id: str) -> str:
    """One human's direct conversation on every platform."""
    return f"person/{encode(person_id)}"


def named(address: Address, path: str) -> str:
    """A conversation that its bot names; `path` holds the bot's own parts, encoded."""
    return f"{encode(address.bot)}/{path}"


def key_of(
    address: Address,
    kind: ChatKind,
    *,
    user: UserId | None,
    path: str | None,
    person_id: str | None,
    group_scope: Scope,
) -> str:
    """Where a message belongs. `person_id` is given where direct chats are kept per person."""
    if path is not None:
        return named(address, path)
    if kind is ChatKind.DIRECT:
        return direct(address) if person_id is None else person(person_id)
    return group(address, user if group_scope == "user" else None)
