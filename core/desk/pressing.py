"""A button was pressed: what it means now, for whoever pressed it. It becomes the command that its message names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.people.access import Access
from core.store import buttons, people, turns
from core.store.buttons import Action, Meaning
from core.store.inbox import Lane
from core.store.people import Role
from core.store.sql import Tx
from core.vocabulary import Press, TurnId

_COMMANDS = {
    Action.RESUME: ("resume", Lane.ORDERED),
    Action.STOP: ("stop", Lane.CONTROL),
    Action.APPROVE: ("approve", Lane.CONTROL),
    Action.DENY: ("deny", Lane.CONTROL),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Ordered:
    """The command that a press is."""

    text: str
    command: str
    lane: Lane


@dataclass(frozen=True, kw_only=True, slots=True)
class Pressed:
    """What the one who pressed is told: a key of the message catalogue. `over`: the buttons are good for nothing more,
    for anybody."""

    press: Press
    said: str
    over: bool


def meaning(tx: Tx, press: Press, identity: str | None, now: datetime) -> Meaning | None:
    """None for a button that was used, is too old, or is not this person's in this chat."""
    found = buttons.find(tx, press.data)
    if found is None or found.expires_at <= now or found.identity != identity:
        return None
    if (found.bot, found.chat) != (press.address.bot, press.address.chat):
        return None
    if found.action is Action.STOP and turns.state_of(tx, TurnId(found.target)) != turns.RUNNING:
        return None
    return found


def is_somebodys(tx: Tx, press: Press, now: datetime) -> bool:
    """Is it still good, for somebody else or elsewhere?"""
    found = buttons.find(tx, press.data)
    return found is not None and found.expires_at > now


def role(tx: Tx, access: Access, identity: str) -> Role | None:
    known = people.known(tx, identity) if not access.local else None
    return access.role(identity, known.role if known is not None else None)


def ordered(button: Meaning) -> Ordered | None:
    """None for what is no command of a conversation."""
    if button.action not in _COMMANDS:
        return None
    name, lane = _COMMANDS[button.action]
    argument = "" if button.action is Action.STOP else f" {button.target}"
    return Ordered(text=f"/{name}{argument}", command=name, lane=lane)
