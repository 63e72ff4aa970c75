"""Restoring a backup: all of it is unpacked, checked and made ready aside; then it takes the store's place at once."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeVar

from msgspec import Struct

from core.errors import StoreCorrupt, StoreError, StoreTooNew
from core.store import archive, damage
from core.store.archive import Manifest
from core.store.backup import FOLDER, Order, back_up, make_folder, run_tool, sync, written
from core.store.engine import Connection
from core.store.files import FILES
from core.store.open import RESTORING, clear_unfinished, make_private, version_of
from core.store.postgres import PostgresDatabase
from core.store.sql import Tx
from core.store.sqlite import SqliteDatabase
from core.store.sqlite_driver import sqlite
from core.store.tables import SCHEMA
from core.store.upgrade import upgrade
from core.store.upkeep import alone

T = TypeVar("T")

FILLED = 0.9
"""How much of what is free on the disk a backup may take up."""
_DIALECTS = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
_LOGS = ("-wal", "-shm", "-journal")
_TABLES = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = current_schema()"
_FUNCTIONS = """
    SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
"""


class Restored(Struct, frozen=True, kw_only=True):
    """`replaced` is where the store went that was there before, None if there was none."""

    manifest: Manifest
    replaced: Path | None


class Aside(Struct, frozen=True, kw_only=True):
    """What is there goes to `STATE/backups` with this `name`, as a backup made by this `order`."""

    name: str
    order: Order


def restore(
    database: SqliteDatabase | PostgresDatabase,
    state: Path,
    source: IO[bytes],
    path: Path,
    aside: Aside,
    ready: Callable[[Tx], T],
) -> tuple[Restored, T]:
    """Put the backup `source`, which is called `path`, in the store's place; blocking.

    What is there is set aside first: as a backup of its own, or, if it is damaged, as the files that it is. The
    restored database is brought to our schema, and `ready` is run on it in one transaction, before it becomes the
    store. Until then nothing has changed.

    Raises `StoreLocked` while a desk runs, `StoreTooNew`, or another `StoreError`, with words.
    """
    make_private(state)
    with alone(database, state), _work_place(state) as work:
        room = int(FILLED * shutil.disk_usage(work).free)
        manifest = archive.read(source, path, aside.order.progress, _into(work), room)
        _fits(manifest, database, path)
        packed = work / archive.DATABASES[manifest.dialect]
        if isinstance(database, SqliteDatabase):
            done = _make_ready(SqliteDatabase(packed), state, ready)
            kept = _set_aside(database, state, aside)
            _add_files(work, state)
            _replace(database, packed, state)
        else:
            kept = _set_aside(database, state, aside)
            _add_files(work, state)
            _load(database, packed, work)
            done = _make_ready(database, state, ready)
    return Restored(manifest=manifest, replaced=kept), done


@contextlib.contextmanager
def _work_place(state: Path) -> Iterator[Path]:
    """Beside the store, so that what is in it can be moved there."""
    clear_unfinished(state)
    try:
        with tempfile.TemporaryDirectory(prefix=RESTORING, dir=state) as folder:
            yield Path(folder)
    except OSError as fault:
        raise StoreError(f"restoring failed: {fault.strerror or fault} ({fault.filename or state})") from fault


def _into(work: Path) -> archive.Sink:
    def open_(name: str) -> IO[bytes]:
        path = work / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")

    return open_


def _fits(manifest: Manifest, database: SqliteDatabase | PostgresDatabase, source: Path) -> None:
    if manifest.dialect != database.dialect:
        has, wants = _DIALECTS[manifest.dialect], _DIALECTS[database.dialect]
        raise StoreError(
            f"{source} is a backup of {has}, and [store] url names {wants}: change [store] url, or take another "
            "backup; nothing was changed"
        )
    if not manifest.schema.isdecimal() or manifest.schema > SCHEMA:
        raise StoreTooNew(
            f"{source} has schema {manifest.schema}, this Frontdesk knows {SCHEMA} and older: install the Frontdesk "
            f"that made it ({manifest.program}) or a newer one; nothing was changed"
        )


def _make_ready(database: SqliteDatabase | PostgresDatabase, state: Path, ready: Callable[[Tx], T]) -> T:
    """Bring it to our schema and run `ready` on it."""
    version = version_of(database)
    if version is None:
        raise StoreCorrupt("the backup holds no store; nothing was changed")
    if version != SCHEMA:
        upgrade(database, state, None)  # the backup is the copy from before
    with contextlib.closing(_connect(database)) as connection:
        cursor = connection.cursor()
        database.begin(cursor, readonly=False)
        done = ready(Tx(cursor, database.dialect))
        connection.commit()
    return done


def _connect(database: SqliteDatabase | PostgresDatabase) -> Connection:
    connection = database.connect(readonly=False)
    if isinstance(database, SqliteDatabase):
        damage.look(connection)
    return connection


def _set_aside(database: SqliteDatabase | PostgresDatabase, state: Path, aside: Aside) -> Path | None:
    if isinstance(database, SqliteDatabase) and not damage.has_content(database.path):
        return None
    folder = state / FOLDER
    make_folder(folder)
    name = _free_name(folder, aside.name)
    target = folder / f"{name}.tar"
    try:
        if version_of(database) is None:
            return None
        with written(target) as out:
            back_up(database, state, out, aside.order)
    except StoreCorrupt:
        target = _set_aside_as_it_is(database, state, folder / name)
    return target


def _free_name(folder: Path, name: str) -> str:
    number, free = 1, name
    while any((folder / taken).exists() for taken in (free, f"{free}.tar")):
        number += 1
        free = f"{name}-{number}"
    return free


def _set_aside_as_it_is(database: SqliteDatabase | PostgresDatabase, state: Path, target: Path) -> Path:
    """A damaged database with its logs and the files of its transcripts."""
    if not isinstance(database, SqliteDatabase):
        raise StoreCorrupt("the database can't be read, so it can't be set aside; give [store] url another database")
    make_folder(target)
    for part in (database.path, *(Path(f"{database.path}{log}") for log in _LOGS)):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(part, target / part.name)
            sync(target / part.name)
    for path in state.glob(f"{FILES}/??/" + "[0-9a-f]" * 64):
        if path.is_file() and not path.is_symlink():
            (target / FILES / path.parent.name).mkdir(mode=0o700, parents=True, exist_ok=True)
            _link(path, target / FILES / path.parent.name / path.name)
    sync(target)
    return target


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target, follow_symlinks=False)


def _add_files(work: Path, state: Path) -> None:
    """A file is under the hash of its content, so one that is there already is the same."""
    for path in sorted((work / FILES).glob("??/*")):
        for folder in (state / FILES, state / FILES / path.parent.name):
            make_folder(folder)
        target = state / FILES / path.parent.name / path.name
        sync(path)
        path.replace(target)
        sync(target.parent)


def _replace(database: SqliteDatabase, packed: Path, state: Path) -> None:
    """The one moment in which the store is another. What the old one's log still holds must not be taken for the new
    one's, so it is written back before; a damaged one's is set aside already."""
    if database.path.exists() and not _written_back(database):
        for log in _LOGS:
            Path(f"{database.path}{log}").unlink(missing_ok=True)
    sync(packed)
    database.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if packed.stat().st_dev == database.path.parent.stat().st_dev:
        packed.replace(database.path)
    else:
        beside = database.path.with_name(f"{database.path.name}.restoring")
        shutil.copyfile(packed, beside)
        beside.chmod(0o600)
        sync(beside)
        beside.replace(database.path)
    sync(database.path.parent)


def _written_back(database: SqliteDatabase) -> bool:
    """The log is empty, and gone with the last connection. False for a database that is damaged."""
    try:
        with contextlib.closing(sqlite.connect(str(database.path), isolation_level=None)) as connection:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite.Error as error:
        ours = database.translate(error)
        if isinstance(ours, StoreCorrupt):
            return False
        raise ours or error from error
    if busy or any(Path(f"{database.path}{log}").exists() for log in _LOGS):
        raise StoreError(f"another program keeps {database.path} open; end it and try again; nothing was changed")
    return True


def _load(database: PostgresDatabase, packed: Path, work: Path) -> None:
    """What is there goes and what was packed comes, in one transaction."""
    drops, loads = work / "drops.sql", work / "loads.sql"
    with database.translated(), contextlib.closing(database.connect(readonly=True)) as connection:
        cursor = connection.cursor()
        cursor.execute(_TABLES, {})
        words = [f'DROP TABLE IF EXISTS "{row[0]!s}" CASCADE;' for row in cursor.fetchall()]
        cursor.execute(_FUNCTIONS, {})
        words += [f"DROP FUNCTION IF EXISTS {row[0]!s} CASCADE;" for row in cursor.fetchall()]
    drops.write_text("\n".join(words), encoding="utf-8")
    run_tool(["pg_restore", "--no-owner", "--no-privileges", "--no-comments", f"--file={loads}", str(packed)], None)
    once = ["psql", "--quiet", "--no-psqlrc", "--single-transaction", "--set=ON_ERROR_STOP=1"]
    run_tool([*once, f"--file={drops}", f"--file={loads}"], database)
