"""PostgreSQL as a `Database` (psycopg 3): several writers, each unit its own transaction."""

from __future__ import annotations

from typing import cast

import psycopg

from core.errors import StoreError, StoreFull
from core.store.engine import Connection
from core.store.sql import Cursor

WRITERS = 8


class PostgresDatabase:
    """The database at `conninfo` (a libpq URI)."""

    dialect = "postgresql"
    writers = WRITERS
    group = 1

    def __init__(self, conninfo: str) -> None:
        self.conninfo = conninfo

    def connect(self, *, readonly: bool) -> Connection:
        try:
            connection = psycopg.connect(self.conninfo, autocommit=True, connect_timeout=10)
        except psycopg.Error as error:
            raise StoreError("PostgreSQL can't be reached; check [store] url and that the server runs") from error
        return cast("Connection", _Session(connection))

    def begin(self, cursor: Cursor, *, readonly: bool) -> None:
        mode = "REPEATABLE READ READ ONLY" if readonly else "READ COMMITTED"
        cursor.execute(f"BEGIN ISOLATION LEVEL {mode}", {})

    def translate(self, error: Exception) -> StoreError | None:
        if not isinstance(error, psycopg.Error):
            return None
        if isinstance(error, psycopg.errors.DiskFull):
            return StoreFull("PostgreSQL has no space left; free space on its disk")
        return StoreError(f"PostgreSQL: {type(error).__name__}: {error}")

    def again(self, error: Exception) -> bool:
        return isinstance(error, psycopg.errors.SerializationFailure | psycopg.errors.DeadlockDetected)

    def broken(self, error: Exception) -> bool:
        return isinstance(error, psycopg.OperationalError)


class _Session:
    """An autocommit connection on which we say BEGIN and COMMIT ourselves, as on SQLite."""

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._connection = connection

    def cursor(self) -> Cursor:
        return cast("Cursor", self._connection.cursor())

    def commit(self) -> None:
        self._connection.execute("COMMIT")

    def rollback(self) -> None:
        self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()
