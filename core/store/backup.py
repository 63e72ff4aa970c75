"""Backups: a whole, verified copy of the store in one file."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pysqlite3 import dbapi2 as sqlite

from core.errors import StoreError, StoreFull
from core.store.postgres import PostgresDatabase
from core.store.sqlite import SqliteDatabase
from core.store.tables import MIGRATIONS

FOLDER = "backups"
KEPT = 3
"""Backups from before an upgrade that are kept; the oldest goes."""
_PG_TOOLS_S = 3600


def before_upgrade(database: SqliteDatabase | PostgresDatabase, state: Path, version: str) -> Path:
    """A verified backup in `STATE/backups`, named for the schema that it holds; blocking.

    Raises `StoreError` (then nothing may be upgraded).
    """
    try:
        return _back_up(database, state / FOLDER, version)
    except OSError as error:
        raise StoreError(
            f"the backup before the upgrade failed ({error.strerror}: {state / FOLDER}); nothing was upgraded"
        ) from error


def _back_up(database: SqliteDatabase | PostgresDatabase, folder: Path, version: str) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    suffix = ".db" if isinstance(database, SqliteDatabase) else ".pgdump"
    unfinished = folder / f"schema-{version}{suffix}.part"
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        if isinstance(database, SqliteDatabase):
            _copy_sqlite(database, unfinished, version)
        else:
            _dump_postgres(database, unfinished)
        target = _next_name(folder, version, suffix)
        _make_durable(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
    _drop_oldest(folder)
    return target


def _copy_sqlite(database: SqliteDatabase, to: Path, version: str) -> None:
    try:
        with contextlib.closing(sqlite.connect(str(database.path), isolation_level=None)) as source:
            source.execute("VACUUM INTO ?", (str(to),))
        with contextlib.closing(sqlite.connect(str(to), isolation_level=None)) as copy:
            checked = copy.execute("PRAGMA quick_check(1)").fetchone()
            holds = copy.execute(f"SELECT version_num FROM {MIGRATIONS}").fetchone()  # noqa: S608  # a constant of ours
    except sqlite.Error as error:
        ours = database.translate(error)
        if isinstance(ours, StoreFull):
            raise StoreFull(f"no room for the backup that an upgrade makes first; free space on {to.parent}") from error
        raise ours or error from error
    if checked != ("ok",) or holds != (version,):
        raise StoreError(f"the backup before the upgrade is not a true copy ({checked}, {holds}); nothing was upgraded")


def _dump_postgres(database: PostgresDatabase, to: Path) -> None:
    dump, restore = shutil.which("pg_dump"), shutil.which("pg_restore")
    if dump is None or restore is None:
        raise StoreError(
            "the schema must be upgraded, and pg_dump and pg_restore, which back the database up first, are not "
            "installed; install PostgreSQL's client programs and start again"
        )
    given = {name: str(value) for name, value in conninfo_to_dict(database.conninfo).items() if value is not None}
    password = given.pop("password", None)
    secret = {} if password is None else {"PGPASSWORD": password}
    _run([dump, "--format=custom", f"--file={to}", f"--dbname={make_conninfo(**given)}"], secret)
    listed = _run([restore, "--list", str(to)], {})
    if f" {MIGRATIONS} " not in listed:
        raise StoreError("the backup before the upgrade lacks our tables; nothing was upgraded")


def _run(words: list[str], secret: dict[str, str]) -> str:
    """The password goes by the environment, which other users can't read."""
    done = subprocess.run(  # noqa: S603  # the program that PATH names, with arguments of ours
        words, env={"LC_ALL": "C", **secret}, capture_output=True, text=True, check=False, timeout=_PG_TOOLS_S
    )
    if done.returncode != 0:
        raise StoreError(f"the backup before the upgrade failed; nothing was upgraded: {done.stderr.strip()[:500]}")
    return done.stdout


def _next_name(folder: Path, version: str, suffix: str) -> Path:
    number = 1
    while (target := folder / f"schema-{version}-{number}{suffix}").exists():
        number += 1
    return target


def _make_durable(unfinished: Path, target: Path) -> None:
    _sync(unfinished)
    unfinished.replace(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _drop_oldest(folder: Path) -> None:
    ours = [path for path in folder.glob("schema-*") if path.suffix != ".part"]
    for path in sorted(ours, key=lambda path: path.stat().st_mtime_ns)[:-KEPT]:
        path.unlink()
