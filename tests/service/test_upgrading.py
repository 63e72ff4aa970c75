"""C56: a change of the schema that fails half way, in the installed service."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from alembic import command
from alembic.config import Config

from core.store.open import DATABASE_FILE, database_at
from core.store.sqlite_driver import sqlite
from core.store.tables import MIGRATIONS, SCHEMA
from core.store.upgrade import SCRIPTS, _engine
from tests.service.desk import OFFLINE, STATE, Desk

FIRST = "0001"
LAST_STEP = "turns_by_author"
"""What the last of the three steps from 0001 to 0002 makes; something else of that name makes it fail."""


def old_store(folder: Path) -> Path:
    """A database of the first schema with a row of somebody's, and what makes the next migration fail at its end."""
    engine = _engine(database_at(None, folder))
    with engine.connect() as connection:
        config = Config()
        config.set_main_option("script_location", SCRIPTS)
        config.attributes["connection"] = connection
        command.upgrade(config, FIRST)
    engine.dispose()
    path = folder / DATABASE_FILE
    change(path, "INSERT INTO facts (name, value) VALUES ('kept', 'yes')")
    change(path, f"CREATE TABLE {LAST_STEP} (in_the_way TEXT)")
    return path


def change(path: Path, statement: str) -> None:
    with closing(sqlite.connect(str(path), isolation_level=None)) as connection:
        connection.execute(statement)


def found(path: Path, question: str) -> list[tuple[object, ...]]:
    with closing(sqlite.connect(str(path))) as connection:
        return list(connection.execute(question))


def content(path: Path) -> list[tuple[object, ...]]:
    """The version, every definition, and what the desk keeps of its own."""
    version = found(path, f"SELECT version_num FROM {MIGRATIONS}")
    return [
        *version,
        *found(path, "SELECT name, sql FROM sqlite_master ORDER BY name"),
        *found(path, "SELECT * FROM facts"),
    ]


def taken_out(desk: Desk, folder: Path) -> Path:
    """A copy of the stopped desk's database: SQLite would follow the path into a machine out of it again."""
    copy = folder / "copy.db"
    copy.write_bytes(desk.machine.path(f"{STATE}/{DATABASE_FILE}").read_bytes())
    assert not desk.machine.path(f"{STATE}/{DATABASE_FILE}-wal").exists()
    return copy


def put_back(desk: Desk, database: Path) -> None:
    desk.machine.run("mkdir", "-p", "-m", "700", STATE)
    desk.machine.path(f"{STATE}/{DATABASE_FILE}").write_bytes(database.read_bytes())


def test_c56_a_migration_that_fails_half_way_leaves_the_old_schema_and_works_when_tried_again(
    desk: Desk, tmp_path: Path
) -> None:
    """The old version finds its database as it was: nothing of the two steps before is left."""
    desk.configure(OFFLINE)
    prepared = old_store(tmp_path)
    before = content(prepared)
    assert before[0] == (FIRST,)
    put_back(desk, prepared)
    for _ in range(2):
        assert desk.systemctl("start", "frontdesk", check=False).returncode != 0
        desk.stop()
        assert content(taken_out(desk, tmp_path)) == before
    desk.systemctl("reset-failed", "frontdesk", check=False)
    mended = taken_out(desk, tmp_path)
    change(mended, f"DROP TABLE {LAST_STEP}")
    put_back(desk, mended)
    desk.start()
    assert desk.call("status").stdout.startswith("ready")
    desk.stop()
    after = taken_out(desk, tmp_path)
    assert content(after)[0] == (SCHEMA,)
    assert ("kept", "yes") in found(after, "SELECT name, value FROM facts")
    assert [name for name in os.listdir(desk.machine.path(f"{STATE}/backups")) if name.startswith(f"schema-{FIRST}")]
