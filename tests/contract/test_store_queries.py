"""Every statement of the store is understood by both databases, and none reads a whole table on the way of a message."""

from __future__ import annotations

import importlib
import pkgutil
import re

import psycopg
import pytest

import core.store
from core.store.checks import check
from core.store.engine import Store
from core.store.postgres import PostgresDatabase
from core.store.sql import Sql
from tests.contract.scenes import begin, converse, say

_ONE_DATABASE_ONLY = {
    "search._MATCHES": "sqlite", "search._INDEX": "sqlite", "search._UNINDEX": "sqlite",
    "search._LIKE": "postgresql", "search._HAS_INDEX": "postgresql", "search._EMPTY_PENDING": "postgresql",
}  # fmt: skip


def _statements(dialect: str) -> dict[str, Sql]:
    found: dict[str, Sql] = {}
    for module in pkgutil.iter_modules(core.store.__path__):
        if module.ispkg or module.name in ("upgrade", "postgres", "postgres_dialect"):
            continue
        for name, value in vars(importlib.import_module(f"core.store.{module.name}")).items():
            values = value if isinstance(value, tuple) else (value,)
            for i, sql in enumerate(values):
                if isinstance(sql, Sql):
                    found[f"{module.name}.{name}{i or ''}"] = sql
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
            except psycopg.IntegrityError:
                pass
            except psycopg.Error as error:
                pytest.fail(f"{name}: {error}")
            finally:
                connection.execute("ROLLBACK")


_READ_WHOLE = {
    # at start or on demand, or the table is small
    "deliveries._LEFT_SENDING", "people._PEOPLE", "people._OWNERS", "facts._GET",
    "people._PAIRINGS", "people._PAIRING_COUNT",
    # of its whole session, which the unique index narrows down
    "search._NEWEST",
}  # fmt: skip
_SMALL = {"people", "identities", "pairings", "facts", "deletions", "never"}


def test_sqlite_reads_no_large_table_whole(sqlite_store: Store) -> None:
    """An index that serves a condition must be one that SQLite can prove to serve it, partial ones above all."""
    connection = sqlite_store.database.connect(readonly=False)
    cursor = connection.cursor()
    whole: list[str] = []
    for name, sql in _statements("sqlite").items():
        words = sql.compiled("sqlite")
        bound = dict.fromkeys(re.findall(r"(?<!:):(\w+)", words), 1)
        cursor.execute(f"EXPLAIN QUERY PLAN {words}", bound)
        for row in cursor.fetchall():
            scanned = re.match(r"SCAN (\w+)(?! USING (COVERING )?INDEX)", str(row[3]))
            if scanned and scanned[1] not in _SMALL | {"e", "m", "anon_1"} and name not in _READ_WHOLE:
                whole.append(f"{name}: {row[3]}")
    connection.close()
    assert whole == []


async def test_statements_with_a_conversation_and_words_in_it_are_quick_to_check(store: Store) -> None:
    await store.write(lambda tx: say(tx, begin(tx, converse(tx), "s").id, "100% of it"))
    assert await store.read(check) == []
