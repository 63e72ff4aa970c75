"""Chats that got another id: what was said and allowed under the old one holds for the new one."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Table, delete, func, literal, select, update
from sqlalchemy.sql.elements import ClauseElement, ColumnElement

from core.store import conversations
from core.store.conversations import Conversation, ConversationId
from core.store.sql import Sql, Tx, insert, integer, text, to_us
from core.store.tables import buttons, consents, deliveries, inbox, keys, moves, turns
from core.store.tables import conversations as conversations_table
from core.vocabulary import BotName, ChatId

MOST = 16
"""Moves that are followed back."""


def _below(dialect: str) -> ClauseElement:
    """Keys hold none of the characters that mean something in a pattern of SQLite's."""
    begins = keys.c.key.op("GLOB")(text("prefix").op("||")(literal("*")))
    known = begins if dialect == "sqlite" else func.starts_with(keys.c.key, text("prefix"))
    return select(keys).where(known).order_by(keys.c.key)


_INSERT = insert(moves, "bot", "chat", "was", "at", once=["bot", "was"])
_WAS = Sql(select(moves.c.was).where(moves.c.bot == text("bot"), moves.c.chat == text("chat")))
_BELOW = Sql(_below)
_RENAME = Sql(update(keys).where(keys.c.key == text("row")).values(key=text("to")))
_LEAD = Sql(update(keys).where(keys.c.key == text("row")).values(conversation_id=integer("to")))
_READDRESS = Sql(
    update(conversations_table).where(conversations_table.c.id == integer("row")).values(chat=text("to"))
)  # fmt: skip


def _there(table: Table) -> ColumnElement[bool]:
    """The rows of the old id."""
    return (table.c.bot == text("of_bot")) & (table.c.chat == text("of_chat"))


_d = deliveries.c
_unsent = _d.state.in_(("queued", "sending")) & _there(deliveries)
_open = turns.c.state.in_(("running", "suspended")) & _there(turns)
"""As the partial indexes are defined: SQLite uses one only for a condition that it can see is its own."""
_FORWARD = (
    Sql(update(inbox).where(inbox.c.state != "done", _there(inbox)).values(chat=text("to"), message=None)),
    Sql(update(consents).where(consents.c.turn_id.in_(select(turns.c.id).where(_open))).values(chat=text("to"))),
    Sql(update(turns).where(_open).values(chat=text("to"), reply_to=None)),
    Sql(delete(deliveries).where(_unsent, _d.state == "sending", _d.role == "preview", _d.message != "")),
    Sql(update(deliveries).where(_unsent, _d.state == "queued").values(chat=text("to"), reply_to=None, message=None)),
    Sql(update(deliveries).where(_unsent, _d.state == "sending").values(chat=text("to"), reply_to=None)),
    Sql(update(buttons).where(_there(buttons)).values(chat=text("to"))),
)
"""No message of the old id is known under the new one: nothing replies to it, and an answer that grew there, or was to
replace what stands there, is sent anew."""


def note(tx: Tx, bot: BotName, chat: ChatId, was: ChatId, at: datetime) -> None:
    """This chat was that one before."""
    tx.run(_INSERT, bot=bot, chat=chat, was=was, at=to_us(at))


def names_of(tx: Tx, bot: BotName, chat: ChatId) -> frozenset[ChatId]:
    """All ids that a chat had, with the one it has."""
    found, latest = {chat}, [chat]
    while latest and len(found) < MOST:
        before = [ChatId(row.text("was")) for one in latest for row in tx.all(_WAS, bot=bot, chat=one)]
        latest = [one for one in before if one not in found]
        found.update(latest)
    return frozenset(found)


def keys_below(tx: Tx, prefix: str) -> list[tuple[str, ConversationId]]:
    """The session keys that begin so."""
    return [(row.text("key"), ConversationId(row.integer("conversation_id"))) for row in tx.all(_BELOW, prefix=prefix)]


def rename(tx: Tx, key: str, to: str) -> None:
    """The key's conversation is found under another key from now on, which leads nowhere yet."""
    tx.run(_RENAME, row=key, to=to)


def lead(tx: Tx, key: str, conversation: ConversationId) -> None:
    """The key leads to that conversation from now on."""
    tx.run(_LEAD, row=key, to=conversation)


def readdress(tx: Tx, conversation: ConversationId, chat: ChatId) -> Conversation:
    """Answers to it go to another chat."""
    tx.run(_READDRESS, row=conversation, to=chat)
    return conversations.get(tx, conversation)


def forward(tx: Tx, bot: BotName, was: ChatId, chat: ChatId) -> None:
    """What waits for the chat or runs in it, in or out, goes on under its new id; buttons in it are pressed there."""
    for sql in _FORWARD:
        tx.run(sql, of_bot=bot, of_chat=was, to=chat)
