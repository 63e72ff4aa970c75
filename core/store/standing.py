"""Which messages of a chat are deliveries."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select, union_all

from core.store.deliveries import Posted
from core.store.sql import Sql, Tx, integer, text, to_us
from core.store.tables import deliveries
from core.vocabulary import MessageId

_d = deliveries.c
_THEIRS = _d.bot == text("bot"), _d.chat == text("chat"), _d.id != integer("but"), _d.message.isnot(None)
_UNSENT = _d.state.in_(("queued", "sending"))
"""As the partial index is defined."""
_OTHERS = Sql(
    union_all(
        select(_d.message).where(_d.done_at >= integer("since"), *_THEIRS), select(_d.message).where(_UNSENT, *_THEIRS)
    )
)


def others(tx: Tx, but: Posted, since: datetime) -> frozenset[MessageId]:
    """Those that were done with since then, or are not yet, in the chat of the one that is left out."""
    rows = tx.all(_OTHERS, bot=but.address.bot, chat=but.address.chat, but=but.id, since=to_us(since))
    return frozenset(MessageId(row.text("message")) for row in rows)
