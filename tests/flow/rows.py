"""Inbox rows and deliveries, as a test looks at them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from core.store.sql import Sql, Tx
from core.store.tables import deliveries, inbox
from core.vocabulary import RowId

_INBOX = Sql(select(inbox).order_by(inbox.c.id))
_DELIVERIES = Sql(select(deliveries).order_by(deliveries.c.id))


@dataclass(frozen=True, kw_only=True)
class Row:
    """An inbox row as stored."""

    id: RowId
    state: str
    fate: str | None
    detail: str | None
    turn: str | None
    text: str
    command: str | None
    lane: str


def all_rows(tx: Tx) -> list[Row]:
    found = tx.all(_INBOX)
    return [
        Row(
            id=RowId(row.integer("id")),
            state=row.text("state"),
            fate=row.text_or_none("fate"),
            detail=row.text_or_none("detail"),
            turn=row.text_or_none("turn_id"),
            text=row.text("text"),
            command=row.text_or_none("command"),
            lane=row.text("lane"),
        )
        for row in found
    ]


def all_deliveries(tx: Tx, chat: str) -> list[tuple[str, str]]:
    """(state, role) of a chat's deliveries, in order."""
    rows = tx.all(_DELIVERIES)
    return [(row.text("state"), row.text("role")) for row in rows if row.text("chat") == chat]
