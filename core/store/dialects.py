"""SQLAlchemy's dialects, which write constants into the statement: only then can a partial index serve it.

Those of PostgreSQL are imported when they are first asked for; an ordinary start on SQLite does without them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, cast

from sqlalchemy import BindParameter, Table
from sqlalchemy.dialects.sqlite import insert as insert_on_sqlite
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Dialect

if TYPE_CHECKING:
    from sqlalchemy.dialects.postgresql import Insert as PostgresInsert
    from sqlalchemy.dialects.sqlite import Insert as SqliteInsert


class _SqliteCompiler(SQLiteCompiler):
    def visit_bindparam(self, bindparam: BindParameter[object], *given: object, **how: object) -> str:
        how["literal_binds"] = how.get("literal_binds") or not bindparam.required
        return cast("str", super().visit_bindparam(bindparam, *given, **how))  # type: ignore[no-untyped-call]  # SQLAlchemy gives no types here


class _SqliteDialect(SQLiteDialect_pysqlite):
    statement_compiler = _SqliteCompiler
    supports_statement_cache = False


@functools.cache
def dialect(name: str) -> Dialect:
    if name == "sqlite":
        return _SqliteDialect(paramstyle="named")
    from core.store.postgres_dialect import PostgresDialect

    return PostgresDialect()  # type: ignore[no-untyped-call]  # SQLAlchemy gives no types here


def insert_into(table: Table, name: str) -> SqliteInsert | PostgresInsert:
    """An INSERT with the dialect's `on_conflict_do_nothing`."""
    if name == "sqlite":
        return insert_on_sqlite(table)
    from sqlalchemy.dialects.postgresql import insert

    return insert(table)
