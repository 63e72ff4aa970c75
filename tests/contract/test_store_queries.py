"""Every statement of the store is understood by both databases, and none reads a large table whole."""

from __future__ import annotations

import importlib
import pkgutil
import re

import psycopg

import core.store
from core.store.engine import Store
from core.store.postgres import PostgresDatabase
from core.store.sql import Sql

_ONE_DATABASE_ONLY = {
    "search._MATCHES": "sqlite", "search._INDEX": "sqlite", "search._UNINDEX": "sqlite",
    "checks._TABLES": "sqlite", "checks._ORPHANS": "sqlite",
    "search._LIKE": "postgresql", "search._HAS_INDEX": "postgresql", "search._EMPTY_PENDING": "postgresql",
}  # fmt: skip


def _statements(dialect: str) -> dict[str, Sql]:
    found: dict[str, Sql] = {}
    for module in pkgutil.iter_modules(core.store.__path__):
        if module.ispkg or module.name in ("upgrade", "postgres", "postgres_dialect"):
            continue
        for name, value in vars(importlib.import_module(f"core.store.{module.name}")).items():
            values = value if isinstance(value, tuple) else (value,)
            found |= {f"{module.name}.{name}{i or ''}": sql for i, sql in enumerate(values) if isinstance(sql, Sql)}
    return {name: sql for name, sql in found.items() if _ONE_DATABASE_ONLY.get(name, dialect) == dialect}


def test_postgresql_understands_every_statement(postgres_store: Store) -> None:
    """Run with nothing bound: what is refused is the missing value, never the statement."""
    assert isinstance(postgres_store.database, PostgresDatabase)
    statements = _statements("postgresql")
    assert len(statements) > 100
    with psycopg.connect(postgres_store.database.conninfo, autocommit=True) as connection:
        for name, sql in statements.items():
            words = sql.compiled("postgresql")
            bound = dict.fromkeys(re.findall(r"%\((\w+)\)s", words))
            connection.execute("BEGIN")
            try:
                connection.execute(words.encode(), bound)
            except psycopg.Error as error:
                assert isinstance(error, psycopg.IntegrityError), f"{name}: {error}"
            finally:
                connection.execute("ROLLBACK")


_READ_WHOLE = {
    # Skipped at run time unless a foreign key is violated at that moment; and run only when two nodes race.
    "conversations._INSERT", "conversations._DELETE",
    # From a given entry on, and bounded.
    "search._NEWEST", "search._AFTER", "checks._REFERRED", "forgotten._NO_NAME", "forgotten._NO_TEXT",
    "forgotten._NOT_ALONE", "forgotten._FILES_SENT", "attachments._PAGE", "inbox._NEXT_OLD", "inbox._FORGET_IGNORED",
    "lookups._BY_MESSAGE", "lookups._BY_DETAIL", "lookups._IN", "lookups._PARTS_BY_MESSAGE",
}  # fmt: skip
_LARGE = {
    "conversations", "keys", "sessions", "participants", "turns", "entries", "inbox", "deliveries", "attachments",
    "consents", "idempotency",
}  # fmt: skip
_WHOLE = re.compile(r"SCAN (\w+)$|SEARCH (\w+) USING INTEGER PRIMARY KEY \(rowid[<>]")


def test_sqlite_reads_no_large_table_whole(sqlite_store: Store) -> None:
    """An index that serves a condition must be one that SQLite can prove to serve it, partial ones above all."""
    connection = sqlite_store.database.connect(readonly=False)
    cursor = connection.cursor()
    whole: list[str] = []
    for name, sql in _statements("sqlite").items():
        words = sql.compiled("sqlite")
        cursor.execute(f"EXPLAIN QUERY PLAN {words}", dict.fromkeys(re.findall(r"(?<!:):(\w+)", words), 1))
        steps = [_WHOLE.match(str(row[3])) for row in cursor.fetchall()]
        read = {step[1] or step[2] for step in steps if step} & _LARGE
        if read and name not in _READ_WHOLE:
            whole.append(f"{name}: {read}")
    connection.close()
    assert whole == []
