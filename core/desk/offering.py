"""Buttons under what the desk says: made with the message, kept in its transaction, good for one person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from core.service.notices import Notices
from core.store import buttons
from core.store.buttons import Action, Meaning
from core.store.conversations import ConversationId
from core.store.sql import Tx
from core.vocabulary import Address, Button, TurnId

Tokens = Callable[[], str]
"""Makes ids of buttons: unguessable, letters and digits. None in its place: the platform has no buttons."""
TOKEN_CHARS = 16


class Choice(Struct, frozen=True, kw_only=True):
    """One button to be. `label` is a key of the message catalogue."""

    label: str
    action: Action
    target: str
    style: Literal["plain", "good", "bad"] = "plain"


class Offered(Struct, frozen=True, kw_only=True):
    """To whom, where, and until when. Pressing one of a `question` uses up all of them."""

    question: str
    address: Address
    identity: str
    conversation: ConversationId | None
    expires_at: datetime


class Made(Struct, frozen=True, kw_only=True):
    """A button that is not kept yet."""

    button: Button
    meaning: Meaning


def make(offered: Offered, choices: Sequence[Choice], token: Tokens | None, notices: Notices) -> tuple[Made, ...]:
    """None where the platform has none, or nobody could press them."""
    if token is None or not offered.identity:
        return ()
    return tuple(_made(offered, choice, token(), notices) for choice in choices)


def _made(offered: Offered, choice: Choice, id_: str, notices: Notices) -> Made:
    meaning = Meaning(
        id=id_, question=offered.question, bot=offered.address.bot, chat=offered.address.chat,
        identity=offered.identity, conversation=offered.conversation, action=choice.action, target=choice.target,
        expires_at=offered.expires_at,
    )  # fmt: skip
    return Made(button=Button(label=notices.say(choice.label), data=id_, style=choice.style), meaning=meaning)


def keep(tx: Tx, made: Sequence[Made]) -> tuple[Button, ...]:
    """From now on they can be pressed."""
    for one in made:
        buttons.add(tx, one.meaning)
    return tuple(one.button for one in made)


def of_turn(turn: TurnId) -> str:
    """The question whether a turn that runs is to go on."""
    return f"turn:{turn}"
