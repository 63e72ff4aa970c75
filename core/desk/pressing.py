"""A button was pressed: what it means now, for whoever pressed it. It becomes the command that its message names."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from core.people.access import ConsentBy, allows
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


class Presser(Struct, frozen=True, kw_only=True):
    """Who presses, and who may allow calls."""

    identity: str
    role: Role
    consent_by: ConsentBy

    def may(self, tx: Tx, button: Meaning) -> bool:
        """Is it theirs? What waits for consent is every owner's, and the asker's as far as they may answer it."""
        match button.action:
            case Action.APPROVE | Action.DENY:
                if self.role is Role.OWNER:
                    return True
                asked = consents.get(tx, ConsentId(button.target))
                own = asked is not None and asked.asker == self.identity
                return own and (button.action is Action.DENY or allows(self.consent_by, self.role))
            case Action.LET_IN:
                return button.identity == self.identity and self.role is Role.OWNER
            case Action.STOP | Action.RESUME:
                return button.identity == self.identity


def meaning(tx: Tx, press: Press, presser: Presser, now: datetime) -> Meaning | None:
    """None for a button that was used, is too old, is not this person's in this chat, or asks what is settled."""
    found = _good(tx, press, now)
    return found if found is not None and _is_there(press, found) and presser.may(tx, found) else None


def _good(tx: Tx, press: Press, now: datetime) -> Meaning | None:
    """A button that somebody can still press, somewhere."""
    found = buttons.find(tx, press.data)
    return found if found is not None and found.is_good(now) and _stands(tx, found) else None


def _is_there(press: Press, button: Meaning) -> bool:
    return (button.bot, button.chat) == (press.address.bot, press.address.chat)


def _stands(tx: Tx, button: Meaning) -> bool:
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
            return True


def whose(tx: Tx, press: Press, presser: Presser | None, now: datetime) -> str | None:
    """Whose it is, while it is good: what somebody else is told, a key of the message catalogue. None: nobody's.
    `presser` is None for whoever is not heard there; they are told nothing of that, nor is anybody elsewhere."""
    found = _good(tx, press, now)
    if found is None:
        return None
    if presser is None or not _is_there(press, found):
        return "press_expired"
    match found.action:
        case Action.APPROVE | Action.DENY:
            asked = consents.get(tx, ConsentId(found.target))
            asker = None if asked is None or asked.asker != found.identity else asked.asker
            own = asker in (None, presser.identity) or presser.consent_by == "owner"
            return "owner_only" if own else "asker_only"
        case Action.LET_IN:
            return "owner_only"
        case Action.STOP | Action.RESUME:
            return "press_not_yours"


def ordered(button: Meaning) -> Ordered | None:
    """None for what is no command of a conversation."""
    if button.action not in _COMMANDS:
        return None
    name, lane = _COMMANDS[button.action]
    return Ordered(text=f"/{name} {button.target}", command=name, lane=lane)
