"""The processes that ran on this store: did the last one die, or end because it was told to?"""

from __future__ import annotations

from collections.abc import Iterable

from core.store import facts, inbox, turns
from core.store.sql import Tx
from core.vocabulary import RowId

_NAME, _RUNS, _STOPPED = "process", "runs", "stopped"


def start(tx: Tx) -> bool:
    """A process begins. True: the one before it died; what ran then is marked so."""
    died = facts.get(tx, _NAME) != _STOPPED
    facts.put(tx, _NAME, _RUNS)
    if died:
        turns.process_died(tx)
    return died


def stop(tx: Tx, read: Iterable[RowId]) -> None:
    """The process ends because it was told to: that counts against no turn, and not against the files that it was
    reading for these rows."""
    facts.put(tx, _NAME, _STOPPED)
    turns.process_stopped(tx)
    for row in read:
        inbox.reading_stopped(tx, row)
