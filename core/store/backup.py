"""Backups: a whole, verified copy of the store in one file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO

from msgspec import Struct

from core.clock import rfc3339
from core.errors import StoreCorrupt, StoreError, StoreFull
from core.store import archive, enclosures
from core.store.archive import DATABASES, Manifest, Member, Packing, Progress, file_name
from core.store.damage import has_content
from core.store.files import FILES
from core.store.open import COPYING
from core.store.postgres import PostgresDatabase
from core.store.sql import Cursor
from core.store.sqlite import SqliteDatabase
from core.store.sqlite_driver import sqlite
from core.store.tables import MIGRATIONS

FOLDER = "backups"
KEPT = 3
"""Backups from before an upgrade that are kept; the oldest goes."""
_PG_TOOLS_S = 3600
_STEPS = 100_000
"""Of SQLite's virtual machine, between two looks at how far a copy is."""
_REFERRED = "SELECT DISTINCT digest FROM attachments"
_WAITING = "SELECT enclosed FROM inbox WHERE state <> 'done' AND enclosed IS NOT NULL"
_BRINGS_FROM = "0003"
"""The schema from which on messages that wait have files."""
_VERSION = f"SELECT version_num FROM {MIGRATIONS}"  # noqa: S608  # a constant of ours


def silent(step: str, done: int, total: int) -> None:
    """Nobody looks."""


class Order(Struct, frozen=True, kw_only=True):
    """A backup to be made. `made_at` is now; `program` is our version."""

    made_at: datetime
    program: str
    progress: Progress = silent


# in one file, for people


@contextlib.contextmanager
def written(target: Path, *, force: bool = False) -> Iterator[IO[bytes]]:
    """A file for a backup, mode 0600. It is at `target` once the block has ended well, and not at all otherwise;
    `force`: what is there may be replaced. Raises `StoreError` with words."""
    target = target.absolute()
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise StoreError(f"{target} is no regular file; name one that is not there yet")
    if target.exists() and not force:
        raise _taken(target)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as scratch:
            unfinished = Path(scratch) / "packed"
            with open(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as out:
                yield out
            _put(unfinished, target, force=force)
    except OSError as fault:
        raise StoreError(f"the backup failed: {fault.strerror or fault} ({fault.filename or target})") from fault


def back_up(database: SqliteDatabase | PostgresDatabase, state: Path, out: IO[bytes], order: Order) -> Manifest:
    """Copy the database and all files that are kept into `out`, which is a file, while a desk runs or not.

    Blocks. It is durable and read back when this returns. The database is copied first, into the state directory: every
    file that its copy refers to was on the disk before. Neither configuration nor secrets are in it, nor the lines
    typed at the terminal. Raises `StoreError` with words, and `OSError`.
    """
    if isinstance(database, SqliteDatabase) and not has_content(database.path):
        raise StoreError(f"there is no store in {state}; name another with --state")
    with _scratch(state) as scratch:
        copy = scratch / DATABASES[database.dialect]
        schema, referred = _copy(database, copy, order.progress)
        files = [path for path in sorted(state.glob(f"{FILES}/??/" + "[0-9a-f]" * 64)) if path.is_file()]
        total = copy.stat().st_size + sum(path.stat().st_size for path in files)
        with tarfile.open(fileobj=out, mode="w") as tar, copy.open("rb") as data:
            packing = Packing(tar, int(order.made_at.timestamp()), order.progress, total)
            kept = packing.add(copy.name, data, copy.stat().st_size)
            members = tuple(_whole_files(packing, files))
            there = {member.name for member in members}
            manifest = Manifest(
                made_at=rfc3339(order.made_at), program=order.program,
                dialect=database.dialect, schema=schema, database=kept, files=members,
                missing=tuple(sorted(digest for digest in referred if file_name(digest) not in there)),
            )  # fmt: skip
            packing.finish(manifest)
    out.flush()
    os.fsync(out.fileno())
    if archive.read(out, Path("the backup"), order.progress) != manifest:
        raise StoreError("the backup is not what was written when it is read back; try another disk")
    return manifest


@contextlib.contextmanager
def _scratch(state: Path) -> Iterator[Path]:
    """A folder whose lock says that it is in use."""
    with tempfile.TemporaryDirectory(prefix=COPYING, dir=state) as folder:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield Path(folder)
        finally:
            os.close(descriptor)


def _whole_files(packing: Packing, files: Iterable[Path]) -> Iterable[Member]:
    for path in files:
        with contextlib.suppress(FileNotFoundError):  # its session was deleted since the folder was looked at
            with path.open("rb") as data:
                member = packing.add(file_name(path.name), data, os.fstat(data.fileno()).st_size)
            if member.sha256 != path.name:
                raise StoreError(f"{path} is damaged: its content has another hash; remove it, and try again")
            yield member


def _copy(database: SqliteDatabase | PostgresDatabase, to: Path, progress: Progress) -> tuple[str, set[str]]:
    """The schema of the copy, and the digests that are referred to in it."""
    os.close(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    if isinstance(database, SqliteDatabase):
        return _copy_sqlite(database, to, progress)
    dump_postgres(database, to)
    with database.translated(), contextlib.closing(database.connect(readonly=True)) as connection:
        cursor = connection.cursor()
        cursor.execute(_VERSION, {})
        version = cursor.fetchone()
        schema = str(version[0] if version else "")
        return schema, _referred(cursor, schema)


def _copy_sqlite(database: SqliteDatabase, to: Path, progress: Progress) -> tuple[str, set[str]]:
    version = _vacuum(database, to, progress)
    with contextlib.closing(sqlite.connect(str(to), isolation_level=None)) as copy:
        return version, _referred(copy.cursor(), version)


def _referred(cursor: Cursor, schema: str) -> set[str]:
    """By transcripts, and by messages that wait, which are answered where a restored desk has moved."""
    cursor.execute(_REFERRED, {})
    found = {str(row[0]) for row in cursor.fetchall()}
    if schema >= _BRINGS_FROM:
        cursor.execute(_WAITING, {})
        waiting = [enclosures.read(str(row[0])) for row in cursor.fetchall()]
        found |= {file.digest for one in waiting for file in one.files if file.digest is not None}
    return found


def _vacuum(database: SqliteDatabase, to: Path, progress: Progress) -> str:
    """Copy the database, whatever its schema, and check the copy; the schema that it has. Raises `StoreError`."""
    try:
        with contextlib.closing(sqlite.connect(str(database.path), isolation_level=None)) as source:
            source.execute("PRAGMA busy_timeout=5000")
            [[size]] = source.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
            source.set_progress_handler(lambda: progress("copying", to.stat().st_size, int(size)), _STEPS)
            source.execute("VACUUM INTO ?", (str(to),))
        with contextlib.closing(sqlite.connect(str(to), isolation_level=None)) as copy:
            copy.set_progress_handler(lambda: progress("checking", 0, 0), _STEPS)
            checked = copy.execute("PRAGMA quick_check(1)").fetchone()
            holds = copy.execute(_VERSION).fetchone()
    except sqlite.Error as error:
        ours = database.translate(error)
        if isinstance(ours, StoreFull):
            raise StoreFull(f"no room for the backup; free space on {to.parent}") from error
        raise ours or error from error
    if checked != ("ok",) or holds is None:
        raise StoreCorrupt(f"the copy of {database.path} is not sound ({checked}): `frontdesk db verify` says more")
    return str(holds[0])


def _put(packed: Path, target: Path, *, force: bool) -> None:
    if force:
        packed.replace(target)
    else:
        try:
            os.link(packed, target)
        except FileExistsError:
            raise StoreError(
                f"{target} is there already; choose another name, or write --force to replace it"
            ) from None
        except OSError:  # a file system without links
            packed.rename(target)
    sync(target.parent)


def _taken(target: Path) -> StoreError:
    return StoreError(f"{target} is there already; choose another name, or write --force to replace it")


# before an upgrade


def before_upgrade(database: SqliteDatabase | PostgresDatabase, state: Path, version: str) -> Path:
    """A verified copy of the database in `STATE/backups`, named for the schema that it holds; blocking.

    Raises `StoreError` (then nothing may be upgraded).
    """
    try:
        return _back_up(database, state / FOLDER, version)
    except StoreError as error:
        raise type(error)(f"the backup before the upgrade failed, so nothing was upgraded: {error}") from error
    except OSError as error:
        raise StoreError(
            f"the backup before the upgrade failed ({error.strerror}: {state / FOLDER}); nothing was upgraded"
        ) from error


def _back_up(database: SqliteDatabase | PostgresDatabase, folder: Path, version: str) -> Path:
    make_folder(folder)
    suffix = ".db" if isinstance(database, SqliteDatabase) else ".pgdump"
    unfinished = folder / f"schema-{version}{suffix}.part"
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        if isinstance(database, SqliteDatabase):
            copied = _vacuum(database, unfinished, silent)
            if copied != version:
                raise StoreError(f"the copy has schema {copied}, not {version}")
        else:
            dump_postgres(database, unfinished)
        target = _next_name(folder, version, suffix)
        sync(unfinished)
        unfinished.replace(target)
        sync(folder)
    finally:
        unfinished.unlink(missing_ok=True)
    _drop_oldest(folder)
    return target


def dump_postgres(database: PostgresDatabase, to: Path) -> None:
    """The whole database in pg_dump's custom format, and a look at what is in it. Raises `StoreError`."""
    run_tool(["pg_dump", "--format=custom", f"--file={to}"], database)
    if f" {MIGRATIONS} " not in run_tool(["pg_restore", "--list", str(to)], None):
        raise StoreError("the copy of the database lacks our tables")


def run_tool(words: list[str], database: PostgresDatabase | None) -> str:
    """Run one of PostgreSQL's client programs, on that database; what it prints.

    The password goes by the environment, which other users can't read. Raises `StoreError` with words.
    """
    program = shutil.which(words[0])
    if program is None:
        raise StoreError(
            f"{words[0]} is not installed, and PostgreSQL is backed up and restored by it: install PostgreSQL's client "
            "programs (pg_dump, pg_restore, psql) and try again"
        )
    environ, at = {"LC_ALL": "C"}, []
    if database is not None:
        from psycopg.conninfo import conninfo_to_dict, make_conninfo  # it comes with the extra "postgres"

        known = {name: str(value) for name, value in conninfo_to_dict(database.conninfo).items() if value is not None}
        environ |= {"PGPASSWORD": password} if (password := known.pop("password", None)) is not None else {}
        at = [f"--dbname={make_conninfo(**known)}"]
    done = subprocess.run(  # noqa: S603  # the program that PATH names, with arguments of ours
        [program, *words[1:], *at], env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=_PG_TOOLS_S,
    )  # fmt: skip
    if done.returncode != 0:
        raise StoreError(f"{words[0]} failed: {done.stderr.strip()[:500]}")
    return done.stdout


def _next_name(folder: Path, version: str, suffix: str) -> Path:
    number = 1
    while (target := folder / f"schema-{version}-{number}{suffix}").exists():
        number += 1
    return target


def make_folder(folder: Path) -> None:
    """For its user only. Raises `OSError`."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700)


def sync(path: Path) -> None:
    """What was written there is durable. Raises `OSError`."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _drop_oldest(folder: Path) -> None:
    ours = [path for path in folder.glob("schema-*") if path.suffix != ".part"]
    for path in sorted(ours, key=lambda path: path.stat().st_mtime_ns)[:-KEPT]:
        path.unlink()
