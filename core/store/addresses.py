"""An address as the rows of several tables hold it: columns bot, chat and thread."""

from __future__ import annotations

from core.store.sql import Row
from core.vocabulary import Address, BotName, ChatId, MessageId, ThreadId


def address_of(row: Row, reply_to: str | None = None) -> Address:
    """Where a row's answer goes."""
    thread = row.text_or_none("thread")
    return Address(
        bot=BotName(row.text("bot")),
        chat=ChatId(row.text("chat")),
        thread=None if thread is None else ThreadId(thread),
        reply_to=None if reply_to is None else MessageId(reply_to),
    )
