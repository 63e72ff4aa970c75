"""SQLite as a `Database`: one writer that does every checkpoint, readers that can't write, durable at each commit."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import cast

from core.errors import StoreCorrupt, StoreError, StoreFull
from core.store.engine import Connection
from core.store.sql import Cursor
from core.store.sqlite_driver import refusal, sqlite

GROUP = 256
"""Units in one commit at most; at under 1 ms each they hold the write lock for a fraction of a second at worst."""

LOG_S = 0.2
"""How long emptying the log waits for whoever reads or writes."""

_COMMON = ("foreign_keys=ON", "recursive_triggers=ON", "busy_timeout=5000", "temp_store=MEMORY", "trusted_schema=OFF")
_WRITER = ("journal_mode=WAL", "synchronous=FULL", "journal_size_limit=67108864", "secure_delete=ON")
"""What is deleted is overwritten with zeros (sqlite.org, PRAGMA secure_delete), and gone once the log is empty."""
_READER = ("query_only=ON", "wal_autocheckpoint=0")


class SqliteDatabase:
    """The file at `path`."""

    dialect = "sqlite"
    writers = 1
    group = GROUP

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity: tuple[int, int] | None = None

    def connect(self, *, readonly: bool) -> Connection:
        if words := refusal():
            raise StoreError(words)
        if self.is_gone():
            raise StoreError(f"{self.path} is not where it was; put it back, or restart the daemon")  # not an empty one
        connection = sqlite.connect(
            str(self.path), isolation_level=None, check_same_thread=False, cached_statements=512
        )
        try:
            for pragma in (*_COMMON, *(_READER if readonly else _WRITER)):
                connection.execute(f"PRAGMA {pragma}")
        except sqlite.Error:
            connection.close()
            raise
        if self._identity is None:
            self._identity = _identity(self.path)
        return cast("Connection", connection)

    def is_gone(self) -> bool:
        return self._identity is not None and _identity(self.path) != self._identity

    def empty_log(self) -> bool:
        log = Path(f"{self.path}-wal")
        if self.is_gone() or not log.exists() or log.stat().st_size == 0:
            return True
        with contextlib.closing(sqlite.connect(str(self.path), isolation_level=None, timeout=LOG_S)) as connection:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def begin(self, cursor: Cursor, *, readonly: bool) -> None:
        cursor.execute("BEGIN" if readonly else "BEGIN IMMEDIATE", {})

    def translate(self, error: Exception) -> StoreError | None:
        if not isinstance(error, sqlite.Error):
            return None
        text = str(error)
        if "disk is full" in text or "disk I/O error" in text:
            return StoreFull(f"the store can't grow: {text}; free space on the disk of {self.path}")
        if "malformed" in text or "not a database" in text:
            return StoreCorrupt(f"{self.path} is damaged: {text}")
        if "locked" in text:
            return StoreError(f"another program keeps {self.path} locked; end it ({text})")
        return StoreError(f"SQLite: {type(error).__name__}: {text} ({self.path})")

    def again(self, error: Exception) -> bool:
        """Somebody else holds the write lock for longer than `busy_timeout`: a foreign program, for ours is alone."""
        return isinstance(error, sqlite.OperationalError) and "locked" in str(error)

    def broken(self, error: Exception) -> bool:
        """After a failed read or write of the file, what the connection remembers of it may be wrong."""
        return isinstance(error, sqlite.OperationalError) and "disk I/O error" in str(error)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file is there; None: none that can be looked at."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
