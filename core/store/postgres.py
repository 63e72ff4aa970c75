"""PostgreSQL as a `Database` (psycopg 3): several writers, each unit its own transaction."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import cast

from core.errors import StoreError, StoreFull, StoreLocked
from core.store.engine import Connection
from core.store.sql import Cursor

with contextlib.suppress(ImportError):  # without the extra "postgres" there is none of what is defined here
    import psycopg

WRITERS = 8
PREPARED = 400
"""Prepared statements per connection; more than the store has."""

_CLASS = 0x46524F4E
"""First half of our advisory locks' key ("FRON"); the second is made from the schema's name."""


class PostgresDatabase:
    """The database at `conninfo` (a libpq URI)."""

    dialect = "postgresql"
    writers = WRITERS
    group = 1

    def __init__(self, conninfo: str) -> None:
        self.conninfo = conninfo

    def connect(self, *, readonly: bool) -> Connection:
        connection = psycopg.connect(
            self.conninfo, autocommit=True, connect_timeout=10, application_name="frontdesk store", keepalives_idle=30
        )
        connection.prepared_max = PREPARED
        return cast("Connection", _Session(connection))

    def is_gone(self) -> bool:
        return False  # a server that is not there any more fails every read

    def empty_log(self) -> bool:
        """Its log is the server's, and so is what becomes of deleted rows (VACUUM)."""
        return True

    def begin(self, cursor: Cursor, *, readonly: bool) -> None:
        mode = "REPEATABLE READ READ ONLY" if readonly else "READ COMMITTED"
        cursor.execute(f"BEGIN ISOLATION LEVEL {mode}", {})

    def translate(self, error: Exception) -> StoreError | None:
        if not isinstance(error, psycopg.Error):
            return None
        if isinstance(error, psycopg.errors.DiskFull):
            return StoreFull("PostgreSQL has no space left; free space on its disk")
        if self.broken(error):
            return StoreError(f"PostgreSQL can't be reached; check [store] url and that the server runs ({error})")
        return StoreError(f"PostgreSQL: {type(error).__name__}: {error}")

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Raises the driver's errors in our words."""
        try:
            yield
        except psycopg.Error as error:
            raise self.translate(error) or error from error

    def again(self, error: Exception) -> bool:
        return isinstance(error, psycopg.errors.SerializationFailure | psycopg.errors.DeadlockDetected)

    def broken(self, error: Exception) -> bool:
        """Lost or never made: libpq's own errors have no SQLSTATE; classes 08 and 57P are the server's farewell."""
        if isinstance(error, psycopg.InterfaceError):
            return True
        if not isinstance(error, psycopg.OperationalError):
            return False
        return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


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


class AdvisoryLock:
    """PostgreSQL's advisory lock on a connection of its own; it ends with the connection."""

    def __init__(self, conninfo: str) -> None:
        """Raises `StoreLocked` or the driver's error."""
        self._conninfo = conninfo
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._take()

    def _take(self) -> None:
        connection = psycopg.connect(
            self._conninfo, autocommit=True, connect_timeout=10, application_name=_who(), keepalives_idle=30
        )
        got = connection.execute(
            "SELECT pg_try_advisory_lock(%s::int4, hashtext(current_schema()))", (_CLASS,)
        ).fetchone()
        if got is None or got[0] is not True:
            holder = _holder(connection)
            connection.close()
            raise StoreLocked(
                f"another Frontdesk ({holder}) uses this PostgreSQL database; stop it, give this one another "
                f"database in [store] url, or configure [cluster] on all of them"
            )
        self._connection = connection

    def renew(self) -> None:
        if self._connection is not None:
            try:
                self._connection.execute("SELECT 1")
            except psycopg.OperationalError:
                self.release()
        if self._connection is None:
            self._take()

    def release(self) -> None:
        """Said to the server: a connection that is closed holds the lock for a moment longer."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):  # it ends with the connection, sooner or later
                connection.execute("SELECT pg_advisory_unlock(%s::int4, hashtext(current_schema()))", (_CLASS,))
            connection.close()


def _who() -> str:
    """At most 63 bytes, PostgreSQL's limit for a name."""
    return f"frontdesk {os.getpid()} on {socket.gethostname()}"[:63]


def _holder(connection: psycopg.Connection[tuple[object, ...]]) -> str:
    found = connection.execute(
        """
        SELECT a.application_name, host(a.client_addr) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.locktype = 'advisory' AND l.granted AND l.classid::bigint = %s AND l.objid::bigint
            = (hashtext(current_schema())::bigint & 4294967295)
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """,
        (_CLASS,),
    ).fetchone()
    if found is None:
        return "it has just ended"
    return f"{found[0]}, from {found[1]}" if found[1] else str(found[0])
