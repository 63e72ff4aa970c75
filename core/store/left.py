"""What a store still has to do, all of it at once: for a store that is not to do it (restored from a backup)."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select, update

from core.store.conversations import ConversationId
from core.store.sql import Sql, Tx, integer, text, to_us
from core.store.tables import deliveries, turns

_SUSPENDED = Sql(
    select(turns.c.conversation_id)
    .where(turns.c.state.in_(("running", "suspended")), turns.c.state == "suspended")
    .distinct()
)
_UNSENT = deliveries.c.state.in_(("queued", "sending")), deliveries.c.role != "preview"
_KEEP_BACK = Sql(update(deliveries).where(*_UNSENT).values(state="failed", error=text("why"), done_at=integer("at")))
_KEEP_BACK_IN = Sql(
    update(deliveries)
    .where(*_UNSENT, deliveries.c.conversation_id == integer("conversation"))
    .values(state="failed", error=text("why"), done_at=integer("at"))
)


def suspended(tx: Tx) -> list[ConversationId]:
    """Where turns wait for somebody."""
    return [ConversationId(row.integer("conversation_id")) for row in tx.all(_SUSPENDED)]


def keep_back(tx: Tx, why: str, at: datetime) -> int:
    """Nothing that waits in the outbox is sent; how many parts. Previews belong to their turns."""
    return tx.run(_KEEP_BACK, why=why, at=to_us(at))


def keep_back_in(tx: Tx, conversation: ConversationId, why: str, at: datetime) -> int:
    """The same for one conversation, while no desk runs that could be sending it."""
    return tx.run(_KEEP_BACK_IN, conversation=conversation, why=why, at=to_us(at))
