"""Rows that are not acted on: too old, or breaking whoever touches them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from core.desk.coalesce import Ref
from core.service.notices import Notices
from core.store import deliveries, inbox
from core.store.deliveries import Posted
from core.store.inbox import Fate
from core.store.sql import Tx


def refuse_stale(tx: Tx, refs: Sequence[Ref], now: datetime, notices: Notices) -> list[Posted]:
    """Close old rows with one notice per chat."""
    closed = [ref for ref in refs if inbox.finish(tx, ref.id, Fate.STALE, now)]
    chats: dict[tuple[str, str, str | None], list[Ref]] = {}
    for ref in closed:
        chats.setdefault((ref.address.bot, ref.address.chat, ref.address.thread), []).append(ref)
    return [
        deliveries.say(tx, some[-1].address, some[-1].kind, notices.say("stale", count=len(some)), now)
        for some in chats.values()
    ]


def refuse_broken(tx: Tx, ref: Ref, reference: str, now: datetime, notices: Notices) -> list[Posted]:
    """Close a row that can't be handled, and say so with a reference to the log."""
    if not inbox.finish(tx, ref.id, Fate.REFUSED, now, f"internal:{reference}"):
        return []
    return [deliveries.say(tx, ref.address, ref.kind, notices.say("internal", reference=reference), now)]
