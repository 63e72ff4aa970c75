"""Upgrades: forward only, one transaction each, and never without a backup that was read again."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import psycopg
import pytest

from core.errors import StoreError, StoreFull, StoreTooNew
from core.store import backup, facts
from core.store import open as opening
from core.store.backup import KEPT
from core.store.open import DATABASE_FILE, database_at, open_store, prepare
from core.store.sqlite_driver import sqlite
from core.store.tables import SCHEMA
from core.store.upgrade import upgrade

_SECOND = """
import sqlalchemy as sa
from alembic import op

revision = "9998"
down_revision = "{before}"


def upgrade() -> None:
    op.create_table("rooms", sa.Column("id", sa.Text(), primary_key=True))
    op.execute("INSERT INTO rooms (id) VALUES ('made')")
"""
_FAILING = """
from alembic import op

revision = "9999"
down_revision = "9998"


def upgrade() -> None:
    op.execute("CREATE TABLE halfway (id INTEGER)")
    op.execute("{last}")
"""
_ORPHAN = "INSERT INTO keys (key, conversation_id, created_at) VALUES ('k', 77, 0)"


def _scripts(folder: Path, *, last: str | None = None) -> str:
    """Our migrations and one more; with `last`, another whose last statement that is."""
    shutil.copytree(Path(opening.__file__).parent / "migrations", folder)
    (folder / "versions" / "v9998_rooms.py").write_text(_SECOND.format(before=SCHEMA))
    if last is not None:
        (folder / "versions" / "v9999_failing.py").write_text(_FAILING.format(last=last))
    return str(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str | None, Path]:
    """Where a store with one fact in it is: URL and state directory."""
    if request.param == "sqlite":
        url, state = None, request.getfixturevalue("sqlite_state")
    else:
        url, state = request.getfixturevalue("postgres_url"), tmp_path
    store = open_store(url, state)
    asyncio.run(store.write(lambda tx: facts.put(tx, "kept", "x")))
    store.close()
    return url, state


def _ask(url: str | None, state: Path, words: str) -> list[tuple[object, ...]]:
    if url is not None:
        with psycopg.connect(url) as connection:
            return connection.execute(words.encode()).fetchall()
    connection = sqlite.connect(str(state / DATABASE_FILE))
    rows: list[tuple[object, ...]] = connection.execute(words).fetchall()
    connection.close()
    return rows


def _version(url: str | None, state: Path) -> str:
    return str(_ask(url, state, "SELECT version_num FROM schema_version")[0][0])


def test_an_older_store_is_backed_up_and_brought_forward(place: tuple[str | None, Path], tmp_path: Path) -> None:
    url, state = place
    upgrade(database_at(url, state), state, SCHEMA, scripts=_scripts(tmp_path / "scripts"))
    assert _version(url, state) == "9998"
    assert _ask(url, state, "SELECT id FROM rooms") == [("made",)]
    assert _ask(url, state, "SELECT value FROM facts WHERE name = 'kept'") == [("x",)]
    backups = list((state / "backups").iterdir())
    assert [kept.name for kept in backups] == [f"schema-{SCHEMA}-1{'.db' if url is None else '.pgdump'}"]
    assert backups[0].stat().st_mode & 0o777 == 0o600
    if url is None:
        copy = sqlite.connect(str(backups[0]))
        assert copy.execute("SELECT value FROM facts WHERE name = 'kept'").fetchall() == [("x",)]
        copy.close()
    with pytest.raises(StoreTooNew, match="9998"):
        open_store(url, state)


@pytest.mark.parametrize("last", ["SELECT nonsense FROM nowhere", _ORPHAN])
def test_a_migration_that_fails_leaves_nothing_of_itself(
    place: tuple[str | None, Path], tmp_path: Path, last: str
) -> None:
    url, state = place
    with pytest.raises(StoreError):
        upgrade(database_at(url, state), state, SCHEMA, scripts=_scripts(tmp_path / "scripts", last=last))
    assert _version(url, state) == "9998", "each migration is a transaction of its own"
    tables = (
        "SELECT name FROM sqlite_master"
        if url is None
        else "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    )
    names = {row[0] for row in _ask(url, state, tables)}
    assert "rooms" in names
    assert "halfway" not in names


def test_an_empty_store_needs_no_backup(tmp_path: Path) -> None:
    open_store(None, tmp_path).close()
    assert not (tmp_path / "backups").exists()


def test_backups_are_bounded_and_the_newest_stay(sqlite_state: Path) -> None:
    database = database_at(None, sqlite_state)
    made = [backup.before_upgrade(database, sqlite_state, SCHEMA) for _ in range(KEPT + 3)]
    kept = set((sqlite_state / "backups").iterdir())
    assert len(kept) == KEPT
    assert made[-1] in kept


def test_a_backup_that_is_no_true_copy_stops_the_upgrade(sqlite_state: Path, tmp_path: Path) -> None:
    database = database_at(None, sqlite_state)
    with pytest.raises(StoreError, match="nothing was upgraded"):
        upgrade(database, sqlite_state, "0000", scripts=_scripts(tmp_path / "scripts"))
    assert _version(None, sqlite_state) == SCHEMA
    assert list((sqlite_state / "backups").iterdir()) == []


def test_no_room_for_the_backup_stops_the_upgrade(
    sqlite_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        """A connection to a database on a full disk."""

        def execute(self, *_: object) -> None:
            raise sqlite.OperationalError("database or disk is full")

        def close(self) -> None:
            return

    monkeypatch.setattr("core.store.backup.sqlite.connect", lambda *_, **__: Full())
    with pytest.raises(StoreFull, match="free space"):
        upgrade(database_at(None, sqlite_state), sqlite_state, SCHEMA, scripts=_scripts(tmp_path / "scripts"))
    monkeypatch.undo()
    assert _version(None, sqlite_state) == SCHEMA


def test_postgresql_is_not_upgraded_without_its_programs(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.store.backup.shutil.which", lambda _: None)
    with pytest.raises(StoreError, match=r"pg_dump.*install"):
        upgrade(database_at(postgres_url, tmp_path), tmp_path, SCHEMA, scripts=_scripts(tmp_path / "scripts"))
    assert _version(postgres_url, tmp_path) == SCHEMA


def test_a_dump_that_fails_stops_the_upgrade_and_tells_no_password(postgres_url: str, tmp_path: Path) -> None:
    database = database_at(postgres_url.replace("postgres@", "postgres:s3cret@") + "_gone", tmp_path)
    with pytest.raises(StoreError, match="nothing was upgraded") as raised:
        backup.before_upgrade(database, tmp_path, SCHEMA)
    assert "s3cret" not in str(raised.value)
    assert list((tmp_path / "backups").iterdir()) == []


def test_a_start_with_an_older_schema_upgrades_it(
    sqlite_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way that a start takes, with a program that knows one schema more."""
    monkeypatch.setattr("core.store.upgrade.SCRIPTS", _scripts(tmp_path / "scripts"))
    database = database_at(None, sqlite_state)
    prepare(database, sqlite_state, schema="9998")
    assert _version(None, sqlite_state) == "9998"
    prepare(database, sqlite_state, schema="9998")
    assert len(list((sqlite_state / "backups").iterdir())) == 1


def test_migrations_are_found_in_an_installed_wheel() -> None:
    """As packages: they go into the wheel by themselves, and Alembic is told a package, not a path."""
    root = Path(opening.__file__).parent
    for folder in (root / "migrations", root / "migrations" / "versions"):
        assert (folder / "__init__.py").exists()
