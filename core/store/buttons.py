"""Buttons under messages of ours: what pressing one means, and for whom. Each is good once."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from sqlalchemy import delete, select, update

from core.store.conversations import ConversationId
from core.store.sql import Row, Sql, Tx, count, insert, integer, text, to_us
from core.store.tables import buttons
from core.vocabulary import BotName, ChatId

_KNOWN_FOR = timedelta(days=1)


class Action(StrEnum):
    """What a button does; `target` is a session, a turn, a consent's id, or a pairing's code."""

    RESUME = "resume"
    STOP = "stop"
    APPROVE = "approve"
    DENY = "deny"
    LET_IN = "let_in"


class Meaning(Struct, frozen=True, kw_only=True):
    """One button. Pressing one of a `question` uses up all of them. Good for this person in this chat."""

    id: str
    question: str
    bot: BotName
    chat: ChatId
    identity: str
    conversation: ConversationId | None
    action: Action
    target: str
    expires_at: datetime

    def is_good(self, now: datetime) -> bool:
        """It was not used, and its time is not over."""
        return self.expires_at > now


_b = buttons.c
_INSERT = insert(
    buttons, "id", "question", "bot", "chat", "identity", "conversation_id", "action", "target", "expires_at"
)
_GET = Sql(select(buttons).where(_b.id == text("id")))
_USE = Sql(
    update(buttons)
    .where(_b.question == text("row"), _b.expires_at > integer("at"))
    .values(expires_at=integer("over_since"))
)
_FORGET = Sql(
    delete(buttons).where(_b.id.in_(select(_b.id).where(_b.expires_at <= integer("at")).limit(count("most"))))
)


def add(tx: Tx, button: Meaning) -> None:
    tx.run(
        _INSERT, id=button.id, question=button.question, bot=button.bot, chat=button.chat, identity=button.identity,
        conversation_id=button.conversation, action=button.action, target=button.target,
        expires_at=to_us(button.expires_at),
    )  # fmt: skip


def find(tx: Tx, button: str) -> Meaning | None:
    """Also one that was used or has expired, for a day. None: there never was such a one, or that is over."""
    row = tx.one(_GET, id=button) if button.isascii() and button.isalnum() else None
    return None if row is None else _from_row(row)


def use(tx: Tx, question: str, at: datetime) -> bool:
    """Its question is answered: it and the ones beside it have expired, whatever a clock that is set back says. False:
    they had before."""
    return tx.run(_USE, row=question, at=to_us(at), over_since=to_us(at - _KNOWN_FOR / 2)) > 0


def forget(tx: Tx, at: datetime, most: int) -> int:
    """Remove those that have expired, once nobody asks any more what they meant; how many."""
    return tx.run(_FORGET, at=to_us(at - _KNOWN_FOR), most=most)


def _from_row(row: Row) -> Meaning:
    conversation = row.integer_or_none("conversation_id")
    return Meaning(
        id=row.text("id"), question=row.text("question"), bot=BotName(row.text("bot")), chat=ChatId(row.text("chat")),
        identity=row.text("identity"), conversation=None if conversation is None else ConversationId(conversation),
        action=Action(row.text("action")), target=row.text("target"), expires_at=row.time("expires_at"),
    )  # fmt: skip
