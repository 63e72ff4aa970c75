"""What is done to a store that no desk uses at the moment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from core.errors import StoreLocked
from core.store.open import prepare, take_lock, version_of
from core.store.postgres import PostgresDatabase
from core.store.sqlite import SqliteDatabase
from core.store.tables import SCHEMA


@contextlib.contextmanager
def alone(database: SqliteDatabase | PostgresDatabase, state: Path) -> Iterator[None]:
    """Nobody else uses the store meanwhile. Raises `StoreLocked` with words."""
    try:
        lock = take_lock(database, state)
    except StoreLocked as fault:
        raise StoreLocked(f"the desk has to be stopped for this: {fault}") from fault
    try:
        yield
    finally:
        lock.release()


def bring_up(database: SqliteDatabase | PostgresDatabase, state: Path) -> tuple[str | None, str]:
    """Bring a store's schema to ours, with a verified backup before: from which version (None: there was nothing) and
    to which; blocking. Raises as `open_store`."""
    with alone(database, state):
        before = version_of(database)
        prepare(database, state)
    return before, SCHEMA
