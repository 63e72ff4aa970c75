"""A new SQLite store is what the migrations lead to.

`python -m tests.contract.test_present_schema` prints `core/store/migrations/present.sql` as it has to be.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from core.store import present
from core.store.sqlite import SqliteDatabase
from core.store.upgrade import upgrade

_SHADOW = re.compile(r"entries_search_\w+")
"""Tables that SQLite makes itself for its search index."""


def _rows(path: Path, statement: str) -> list[tuple[object, ...]]:
    with contextlib.closing(SqliteDatabase(path).connect(readonly=True)) as connection:
        cursor = connection.cursor()
        cursor.execute(statement, {})
        return [tuple(row) for row in cursor.fetchall()]


def _schema(path: Path) -> list[tuple[object, ...]]:
    """Everything that is declared, with blanks as they don't matter."""
    found = _rows(path, "SELECT type, name, tbl_name, sql FROM sqlite_master")
    return sorted((*names, re.sub(r"\s+", " ", str(sql))) for *names, sql in found)


def _content(path: Path) -> dict[str, list[tuple[object, ...]]]:
    tables = [str(name) for [name] in _rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {table: _rows(path, f'SELECT * FROM "{table}"') for table in tables}


def _settings(path: Path) -> list[list[tuple[object, ...]]]:
    names = ("user_version", "application_id", "page_size", "auto_vacuum", "encoding", "journal_mode")
    return [_rows(path, f"PRAGMA {name}") for name in names]


def migrated(folder: Path) -> Path:
    database = SqliteDatabase(folder / "migrated.db")
    upgrade(database, folder, None)
    return database.path


def test_a_new_store_is_as_the_migrations_make_it(tmp_path: Path) -> None:
    made = tmp_path / "made.db"
    present.create(SqliteDatabase(made))
    old = migrated(tmp_path)
    assert _schema(made) == _schema(old)
    assert _content(made) == _content(old)
    assert _settings(made) == _settings(old)


def test_the_script_is_the_one_that_is_printed(tmp_path: Path) -> None:
    there = files("core.store.migrations").joinpath(present.SCRIPT).read_text(encoding="utf-8")
    assert there == script(migrated(tmp_path))


def test_a_first_start_does_without_alembic(tmp_path: Path) -> None:
    start = (
        "import sys; from pathlib import Path; from core.store.open import open_store;"
        "open_store(None, Path(sys.argv[1])).close(); print([name for name in sys.modules if name == 'alembic'])"
    )
    done = subprocess.run([sys.executable, "-c", start, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert _schema(tmp_path / "frontdesk.db") == _schema(migrated(tmp_path))


def script(path: Path) -> str:
    declared = _rows(path, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
    kept = [str(sql) for name, sql in declared if name != "sqlite_sequence" and not _SHADOW.fullmatch(str(name))]
    lines = ["\n".join(line.rstrip().expandtabs(4) for line in one.split("\n")) for one in kept]
    return "".join(one + present.BETWEEN for one in lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(script(migrated(Path(folder))), end="")
