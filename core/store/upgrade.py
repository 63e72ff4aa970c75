"""Bringing an older schema, or none, to the present one. Imported only then, for Alembic is slow to import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection as SqlConnection
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from core.errors import StoreError
from core.store import backup, damage
from core.store.postgres import PostgresDatabase
from core.store.sqlite import SqliteDatabase
from core.store.sqlite_driver import sqlite

if TYPE_CHECKING:
    import psycopg

SCRIPTS = "core.store:migrations"
"""Where the migrations are, as a package's resource: it is found in a wheel too."""
_WAITING = 0x46524F4F
"""Advisory lock: of several nodes that start at once, one migrates."""


def upgrade(
    database: SqliteDatabase | PostgresDatabase, state: Path, version: str | None, *, scripts: str | None = None
) -> None:
    """Run the migrations that the store has not seen, each in one transaction; blocking.

    `version` is what the store is at, None if it is empty. One that is not is backed up first.

    Raises `StoreError` or a subclass; then the migration that failed left nothing.
    """
    if version is not None:
        backup.before_upgrade(database, state, version)
    engine = _engine(database)
    translated = database.translated() if isinstance(database, PostgresDatabase) else damage.translated(database)
    try:
        with translated, engine.connect() as connection:
            config = Config()
            config.set_main_option("script_location", scripts or SCRIPTS)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except DBAPIError as error:
        driver = error.orig
        ours = database.translate(driver) if isinstance(driver, Exception) else None
        raise ours or StoreError(f"the upgrade failed: {error}") from error
    finally:
        engine.dispose()


def _engine(database: SqliteDatabase | PostgresDatabase) -> Engine:
    if isinstance(database, PostgresDatabase):
        return create_engine(
            "postgresql+psycopg://", creator=lambda: _connect_postgres(database.conninfo), poolclass=NullPool
        )
    engine = create_engine(
        "sqlite://", creator=lambda: _connect_sqlite(database), poolclass=NullPool, module=cast("object", sqlite)
    )
    event.listen(engine, "begin", _begin)
    return engine


def _connect_postgres(conninfo: str) -> psycopg.Connection[tuple[object, ...]]:
    import psycopg

    connection = psycopg.connect(conninfo, autocommit=True, connect_timeout=10)
    connection.execute("SELECT pg_advisory_lock(%s::int4, hashtext(current_schema()))", (_WAITING,))
    connection.autocommit = False
    return connection


def _connect_sqlite(database: SqliteDatabase) -> object:
    """A table that is rebuilt loses its rows for a moment; `env.py` checks what they reference before the commit."""
    connection = database.connect(readonly=False)
    connection.cursor().execute("PRAGMA foreign_keys=OFF", {})
    return connection


def _begin(connection: SqlConnection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
