"""The schema that the migrations make is the one that `tables` describes, and it refuses what it must."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from core.store.open import DATABASE_FILE
from core.store.sqlite_driver import sqlite
from core.store.tables import MIGRATIONS, metadata


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """SQLAlchemy's own engine on a migrated, empty database."""
    if request.param == "sqlite":
        state: Path = request.getfixturevalue("sqlite_state")
        made = create_engine(f"sqlite:///{state / DATABASE_FILE}", poolclass=NullPool, module=sqlite)
    else:
        url: str = request.getfixturevalue("postgres_url")
        made = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=NullPool)
    yield made
    made.dispose()


def _in_metadata(found: object, name: str | None, kind: str, reflected: bool, _: object) -> bool:
    """Search tables and indexes are none of the metadata."""
    return not (name is not None and (name.startswith("entries_search") or name == "entries_by_text"))


def test_migrations_make_the_schema_that_tables_describes(engine: Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table": MIGRATIONS,
                "include_object": _in_metadata,
                "compare_type": True,
                "compare_server_default": True,
            },
        )
        assert compare_metadata(context, metadata) == []


_CATALOGUE = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL",
    "postgresql": """
        SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()
        UNION ALL
        SELECT conrelid::regclass::text || '.' || conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = current_schema()::regnamespace
    """,
}


def _pieces(definition: str) -> Iterator[str]:
    """What stands between the commas of the outermost list: columns that were added later stand in another place."""
    words = " ".join(definition.split())
    piece, depth = "", 0
    for character in words.removesuffix(")"):
        depth += (character == "(") - (character == ")")
        if (character == "," and depth == 1) or (character == "(" and depth == 1):
            yield piece.strip()
            piece = ""
        else:
            piece += character
    yield piece.strip()


def _catalogue(engine: Engine) -> dict[str, list[str]]:
    """What the database says of tables and indexes, with the conditions that Alembic does not compare."""
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(_CATALOGUE[engine.dialect.name]).fetchall()
    return {
        name: sorted(_pieces(definition))
        for name, definition in rows
        if MIGRATIONS not in name and _in_metadata(None, name, "", reflected=True, _=None)
    }


@pytest.fixture
def conditions_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tables` writes the conditions of indexes down for SQLite, and means PostgreSQL too."""
    for index in (index for table in metadata.tables.values() for index in table.indexes):
        where = index.dialect_options["sqlite"]["where"]
        monkeypatch.setitem(index.dialect_options["postgresql"], "where", where)


@pytest.mark.usefixtures("conditions_everywhere")
def test_conditions_of_indexes_and_checks_are_those_of_tables(engine: Engine) -> None:
    migrated = _catalogue(engine)
    metadata.drop_all(engine)
    metadata.create_all(engine)
    assert migrated == _catalogue(engine)
