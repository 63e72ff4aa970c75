"""`core.store.dialects` for PostgreSQL, in a module of its own so that it can stay unimported."""

from __future__ import annotations

from typing import cast

from sqlalchemy import BindParameter
from sqlalchemy.dialects.postgresql.psycopg import PGCompiler_psycopg, PGDialect_psycopg


class _PostgresCompiler(PGCompiler_psycopg):
    def visit_bindparam(self, bindparam: BindParameter[object], *given: object, **how: object) -> str:
        how["literal_binds"] = how.get("literal_binds") or not bindparam.required
        return cast("str", super().visit_bindparam(bindparam, *given, **how))  # type: ignore[no-untyped-call]  # SQLAlchemy gives no types here


class PostgresDialect(PGDialect_psycopg):
    statement_compiler = _PostgresCompiler
    supports_statement_cache = False
