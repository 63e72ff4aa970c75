"""Answers that certainly did not arrive: the next message is met with a word about them, and /again sends them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select, update

from core.store import deliveries
from core.store.conversations import ConversationId
from core.store.deliveries import Posted
from core.store.remains import OWN_WORDS
from core.store.sql import Sql, Tx, integer, text, to_us
from core.store.tables import deliveries as deliveries_table
from core.vocabulary import Address, BotName, ChatId

TOLD = {deliveries.REPLY: "lost_answer", deliveries.UNKNOWN_NOTICE: "unknown_delivery"}
"""What the next message is met with where one of these failed: a key of the message catalogue, by role."""
_d = deliveries_table.c
_LOST = (
    _d.state == "failed", _d.role == "reply", _d.conversation_id == integer("conversation"),
    _d.error.not_in(OWN_WORDS),
)  # fmt: skip
"""As the partial index is defined, and narrower: of those not in it somebody else has said what became of them."""
_PARTS = Sql(select(deliveries_table).where(*_LOST).order_by(_d.id))
_ASKED_AGAIN = Sql(
    update(deliveries_table)
    .where(_d.id == integer("row"))
    .values(state="failed", error="asked_again", done_at=integer("at"))
)
_AWAITED = Sql(
    select(_d.conversation_id, _d.role)
    .where(
        _d.state.in_(("queued", "sending")), _d.role.in_(("reply", "unknown_notice")), _d.bot == text("bot"),
        _d.chat == text("chat"), _d.conversation_id.isnot(None),
    )
    .distinct()
    .order_by(_d.conversation_id, _d.role)
)  # fmt: skip

_UNSENT = _d.state.in_(("queued", "sending"))
_IN_THREAD = func.coalesce(_d.thread, "") == text("in_thread")
_NOTICE_WAITS = Sql(
    select(func.count())
    .select_from(deliveries_table)
    .where(
        _UNSENT,
        _d.role == deliveries.UNKNOWN_NOTICE,
        _d.bot == text("bot"),
        _d.chat == text("chat"),
        _IN_THREAD,
    )
)
_PERHAPS = Sql(
    select(deliveries_table)
    .where(
        _d.state == "unknown",
        _d.role != deliveries.UNKNOWN_NOTICE,
        _d.bot == text("bot"),
        _d.chat == text("chat"),
        _IN_THREAD,
    )
    .order_by(_d.id)
)


def parts(tx: Tx, conversation: ConversationId) -> Sequence[Posted]:
    """Of answers of this conversation, in order."""
    return [deliveries.from_row(row) for row in tx.all(_PARTS, conversation=conversation)]


def asked_again(tx: Tx, some: Sequence[Posted], at: datetime) -> None:
    """They are sent once more, as others, so that their own fate no longer matters."""
    for part in some:
        tx.run(_ASKED_AGAIN, row=part.id, at=to_us(at))


def awaited(tx: Tx, bot: BotName, chat: ChatId) -> list[tuple[ConversationId, str]]:
    """Whose answers, or words about such, wait for a chat or are on their way there; with their roles."""
    rows = tx.all(_AWAITED, bot=bot, chat=chat)
    return [(ConversationId(row.integer("conversation_id")), row.text("role")) for row in rows]


def notice_waits(tx: Tx, place: Address) -> bool:
    return tx.number(_NOTICE_WAITS, bot=place.bot, chat=place.chat, in_thread=place.thread or "") > 0


def perhaps(tx: Tx, place: Address) -> Sequence[Posted]:
    """Parts that may or may not have arrived in this thread of this chat."""
    rows = tx.all(_PERHAPS, bot=place.bot, chat=place.chat, in_thread=place.thread or "")
    return [deliveries.from_row(row) for row in rows]
