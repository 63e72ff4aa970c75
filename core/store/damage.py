"""A damaged SQLite file: found cheaply at start, copied aside once, never opened, never replaced."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from core.errors import StoreCorrupt
from core.store.engine import Connection
from core.store.sqlite import SqliteDatabase
from core.store.sqlite_driver import sqlite

CHECKED_WHOLE_BYTES = 32 << 20
"""Up to this size the whole file is read at start (0.15 s at most); of a larger one, a page of each table and index."""
COPIES = 3
"""Different damaged files that are kept at most."""

_LOGS = ("-wal", "-journal")


def has_content(path: Path) -> bool:
    """Is there a database, or what is left of one? An empty file is none, unless a log says that it was more."""
    log = Path(f"{path}-wal")
    return any(part.exists() and part.stat().st_size > 0 for part in (path, log))


def look(connection: Connection) -> None:
    """Read enough to notice damage. Raises the driver's error or `StoreCorrupt`."""
    cursor = connection.cursor()
    cursor.execute("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE rootpage > 0", {})
    for kind, name, table, sql in cursor.fetchall():
        cursor.execute(_touch(str(kind), str(name), str(table), str(sql or "")), {})
        cursor.fetchone()
    cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", {})
    size = cursor.fetchone()
    if size is not None and int(size[0] or 0) <= CHECKED_WHOLE_BYTES:
        cursor.execute("PRAGMA quick_check(1)", {})
        found = cursor.fetchone()
        if found is None or found[0] != "ok":
            raise StoreCorrupt(str(found[0] if found else "quick_check says nothing"))


def _touch(kind: str, name: str, table: str, sql: str) -> str:
    """Reads one row by way of this table or index; a partial index serves only its own condition."""
    if kind == "table":
        return f'SELECT 1 FROM "{table}" NOT INDEXED LIMIT 1'  # noqa: S608  # names from the database's own catalogue
    _, where, condition = sql.partition(" WHERE ")
    return f'SELECT 1 FROM "{table}" INDEXED BY "{name}" {where}{condition} LIMIT 1'  # noqa: S608  # the same


@contextlib.contextmanager
def translated(database: SqliteDatabase) -> Iterator[None]:
    """Raises the driver's errors in our words."""
    try:
        yield
    except sqlite.Error as error:
        raise database.translate(error) or error from error


@contextlib.contextmanager
def set_aside_if_damaged(database: SqliteDatabase, state: Path) -> Iterator[None]:
    """Turn every sign of damage into one `StoreCorrupt` that says where the copy is and what to do."""
    path = database.path
    if not path.exists() or path.stat().st_size == 0:
        raise _corrupt(path, state, "its log is there but the database is missing or empty")
    try:
        yield
    except StoreCorrupt as error:
        raise _corrupt(path, state, str(error)) from error
    except sqlite.Error as error:
        ours = database.translate(error)
        if isinstance(ours, StoreCorrupt):
            raise _corrupt(path, state, str(error)) from error
        raise ours or error from error


def _corrupt(path: Path, state: Path, what: str) -> StoreCorrupt:
    try:
        copy = _set_aside(path, state / "quarantine")
    except OSError as error:
        copy = f"it could not be copied aside ({error.strerror})"
    return StoreCorrupt(
        f"the database {path} is damaged ({what}). Nothing was changed; {copy}. Move it away and "
        f"put a backup in its place (there may be one in {state / 'backups'}), or none "
        f"to start with an empty store."
    )


def _set_aside(path: Path, folder: Path) -> str:
    """Copy the database and its logs once per content; in words, where they are."""
    parts = [part for part in (path, *(Path(f"{path}{log}") for log in _LOGS)) if part.exists()]
    target = folder / f"{path.stem}-{_digest(parts)}{path.suffix}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if target.exists():
        return f"a copy is in {target}"
    if sum(1 for kept in folder.iterdir() if kept.suffix == path.suffix) >= COPIES:
        return f"no copy was made, since {folder} holds {COPIES} already"
    if shutil.disk_usage(folder).free < 2 * sum(part.stat().st_size for part in parts):
        return "no copy was made, since the disk has too little space"
    for part in reversed(parts):  # the database last: once it is there, the copy is whole
        _copy(part, Path(f"{target}{part.name.removeprefix(path.name)}"))
    if not path.exists():
        _copy(Path(os.devnull), target)
    return f"a copy is in {target}"


def _copy(source: Path, target: Path) -> None:
    unfinished = Path(f"{target}.part")
    unfinished.unlink(missing_ok=True)
    file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(file, "wb") as out, source.open("rb") as data:
        shutil.copyfileobj(data, out)
        out.flush()
        os.fsync(out.fileno())
    unfinished.replace(target)


def _digest(parts: list[Path]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        with part.open("rb") as data:
            while piece := data.read(1 << 20):
                digest.update(piece)
    return digest.hexdigest()
