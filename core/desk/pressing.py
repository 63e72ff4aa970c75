"""A button was pressed: what it means now, for whoever pressed it. It becomes the command that its message names."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from core.store import buttons, consents, conversations, turns
from core.store.buttons import Action, Meaning
from core.store.consents import ConsentId, ConsentState
from core.store.inbox import Lane
from core.store.people import Role
from core.store.sql import Tx
from core.vocabulary import Message, MessageId, Press, TurnId

_COMMANDS = {
    Action.RESUME: ("resume", Lane.ORDERED),
    Action.STOP: ("stop", Lane.CONTROL),
    Action.APPROVE: ("approve", Lane.CONTROL),
    Action.DENY: ("deny", Lane.CONTROL),
}


class Ordered(Struct, frozen=True, kw_only=True):
    """The command that a press is."""

    text: str
    command: str
    lane: Lane


class Pressed(Struct, frozen=True, kw_only=True):
    """What the one who pressed is told: a key of the message catalogue. `over`: the buttons are good for nothing more,
    for anybody."""

    press: Press
    said: str
    over: bool


def as_message(press: Press) -> Message:
    """What the gate judges: who presses a button has to be let in as who writes there."""
    return Message(
        event=press.event, message=MessageId(""), address=press.address, kind=press.kind, sender=press.sender,
        text="(button)", sent_at=press.pressed_at, addressed=True, within=press.within,
    )  # fmt: skip


def meaning(tx: Tx, press: Press, identity: str, role: Role, now: datetime) -> Meaning | None:
    """None for a button that was used, is too old, is not this person's in this chat, or asks what is settled."""
    found = buttons.find(tx, press.data)
    if found is None or not found.is_good(now) or found.identity != identity:
        return None
    if (found.bot, found.chat) != (press.address.bot, press.address.chat):
        return None
    return found if _stands(tx, found, role) else None


def _stands(tx: Tx, button: Meaning, role: Role) -> bool:
    """Is there still something to be done by it?"""
    match button.action:
        case Action.STOP:
            return turns.state_of(tx, TurnId(button.target)) == turns.RUNNING
        case Action.APPROVE | Action.DENY:
            consent = consents.get(tx, ConsentId(button.target))
            return consent is not None and consent.state is ConsentState.OPEN
        case Action.RESUME:  # the conversation may have lost its keys to another one
            return button.conversation is not None and bool(conversations.keys_of(tx, button.conversation))
        case Action.LET_IN:
            return role is Role.OWNER


def is_somebodys(tx: Tx, press: Press, now: datetime) -> bool:
    """Is it still good, for somebody else or elsewhere?"""
    found = buttons.find(tx, press.data)
    return found is not None and found.is_good(now) and _stands(tx, found, Role.OWNER)


def ordered(button: Meaning) -> Ordered | None:
    """None for what is no command of a conversation."""
    if button.action not in _COMMANDS:
        return None
    name, lane = _COMMANDS[button.action]
    return Ordered(text=f"/{name} {button.target}", command=name, lane=lane)
