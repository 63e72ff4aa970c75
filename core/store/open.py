"""Opening the store: lock, look at what is there, upgrade it if it is behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from core.errors import ConfigError, StoreError, StoreTooNew
from core.store import damage, present
from core.store.engine import Connection, Database, Store
from core.store.files import FILES, Files
from core.store.lock import FileLocks, NoLock, ProcessLock
from core.store.sqlite import SqliteDatabase
from core.store.tables import MIGRATIONS, SCHEMA

if TYPE_CHECKING:
    from core.store.postgres import PostgresDatabase

DATABASE_FILE = "frontdesk.db"
LOCK_FILE = "frontdesk.lock"
RESTORING = "restoring-"
"""How the folders begin in which a backup is unpacked, in the state directory."""
COPYING = "copying-"
"""How those begin in which the database is copied for one."""

_OURS_ON_SQLITE = "SELECT name FROM sqlite_master WHERE type = 'table'"
_OURS_ON_POSTGRES = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = current_schema()"


def open_store(url: str | None, state: Path, *, shared: bool = False) -> Store:
    """The store at `[store] url` (None: `STATE/frontdesk.db`), ready for work.

    Blocks: it takes the process lock, looks for damage, and upgrades a schema that is behind. `Store.close` gives the
    lock back. `shared`: several daemons use one PostgreSQL (`[cluster]`), so there is no lock.

    Raises `ConfigError`, `StoreLocked`, `StoreCorrupt`, `StoreTooNew`, `StoreFull` or `StoreError`, each with words
    that say what to do.
    """
    make_private(state)
    database = database_at(url, state)
    with contextlib.ExitStack() as on_failure:
        lock = take_lock(database, state, shared=shared)
        on_failure.callback(lock.release)
        if not shared:
            clear_unfinished(state)
        prepare(database, state)
        store = Store(database, Files(state / FILES), lock=lock)
        on_failure.pop_all()
    return store


def clear_unfinished(state: Path) -> None:
    """Take away what a restore or a backup left that was killed; whoever calls holds the lock. Raises nothing: it may
    be somebody else's, and is only in the way of the disk."""
    for folder in (*state.glob(f"{RESTORING}*"), *filter(_is_left, state.glob(f"{COPYING}*"))):
        shutil.rmtree(folder, ignore_errors=True)


def _is_left(copying: Path) -> bool:
    """A backup holds the lock of its folder while it is made."""
    try:
        descriptor = os.open(copying, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def database_at(url: str | None, state: Path) -> SqliteDatabase | PostgresDatabase:
    """What `[store] url` names. Raises `ConfigError`."""
    if url is None:
        return SqliteDatabase(state / DATABASE_FILE)
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise ConfigError("[store] url is no URL; write sqlite:///PATH or postgresql://USER@HOST/DATABASE") from None
    return _database(parsed)


def _database(url: URL) -> SqliteDatabase | PostgresDatabase:
    match url.drivername:
        case "sqlite":
            if not url.database or url.database == ":memory:":
                raise ConfigError("[store] url names no file: write sqlite:///PATH")
            return SqliteDatabase(Path(url.database).absolute())
        case "postgresql" | "postgresql+psycopg" | "postgres":
            from core.store.postgres import PostgresDatabase  # psycopg stays off the way of a start on SQLite

            libpq = url.set(drivername="postgresql")
            return PostgresDatabase(libpq.render_as_string(hide_password=False))
        case other:
            raise ConfigError(f"[store] url: {other} is not supported; write sqlite:///PATH or postgresql://...")


def exists(url: str | None, state: Path) -> bool:
    """Whether there is a store at that place; one on a server always counts as being there. Raises `ConfigError`."""
    database = database_at(url, state)
    return not isinstance(database, SqliteDatabase) or damage.has_content(database.path)


def make_private(state: Path) -> None:
    """Create the state directory for its user only. Raises `ConfigError`.

    One that is there already is closed to others if nothing but ours is in it: it may be somebody's home.
    """
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = state.stat()
        if info.st_uid == os.geteuid() and stat.S_IMODE(info.st_mode) & 0o077 and _is_ours(state):
            state.chmod(0o700)
    except OSError as error:
        raise ConfigError(
            f"the state directory {state} can't be used ({error.strerror}); choose another with --state"
        ) from error


def _is_ours(state: Path) -> bool:
    names = {entry.name for entry in os.scandir(state)}
    return not names or bool(names & {DATABASE_FILE, LOCK_FILE})


def take_lock(database: SqliteDatabase | PostgresDatabase, state: Path, *, shared: bool = False) -> ProcessLock:
    """Raises `StoreLocked` with words that say who holds it."""
    if isinstance(database, SqliteDatabase):
        return FileLocks(sorted({state / LOCK_FILE, database.path.with_suffix(".lock")}))
    if shared:
        return NoLock()
    from core.store.postgres import AdvisoryLock

    with database.translated():
        return AdvisoryLock(database.conninfo)


def version_of(database: SqliteDatabase | PostgresDatabase) -> str | None:
    """The schema of what is there; None if nothing is. Only looks. Raises `StoreCorrupt` where it is damaged, and
    `StoreError` where it is not ours or can't be read."""
    if not isinstance(database, SqliteDatabase):
        return _version_on_postgres(database)
    if not damage.has_content(database.path):
        return None
    with damage.translated(database), contextlib.closing(database.connect(readonly=True)) as connection:
        damage.look(connection)
        return _version(database, connection, _OURS_ON_SQLITE)


def prepare(database: SqliteDatabase | PostgresDatabase, state: Path, *, schema: str = SCHEMA) -> None:
    """Make sure that the schema is ours: one look if it is. The caller holds the lock.

    Raises like `open_store`.
    """
    if isinstance(database, SqliteDatabase):
        version = _version_on_sqlite(database, state)
    else:
        version = _version_on_postgres(database)
    if version == schema:
        return
    if version is not None and not (version.isdecimal() and version < schema):
        raise StoreTooNew(
            f"the store has schema {version}, this Frontdesk knows {schema} and older: start the newer Frontdesk that "
            f"wrote it, or restore a backup from before (there may be one in {state / 'backups'})"
        )
    if version is None and isinstance(database, SqliteDatabase) and schema == SCHEMA:
        present.create(database)
        return
    from core.store.upgrade import upgrade  # Alembic stays off the way of an ordinary start

    upgrade(database, state, version)


def _version_on_sqlite(database: SqliteDatabase, state: Path) -> str | None:
    if not damage.has_content(database.path):
        _create(database.path)
        return None
    _refuse_foreign(database.path)
    with damage.set_aside_if_damaged(database, state):
        with contextlib.suppress(PermissionError):  # somebody else's file, which we may still use
            database.path.chmod(0o600)
        with contextlib.closing(database.connect(readonly=True)) as connection:
            damage.look(connection)
            return _version(database, connection, _OURS_ON_SQLITE)


def _refuse_foreign(path: Path) -> None:
    if path.exists() and not os.access(path, os.R_OK | os.W_OK, effective_ids=True):
        user, name = os.stat(path.parent).st_uid, shlex.quote(str(path))
        raise StoreError(f"{path} belongs to another user than its folder; type: sudo chown {user} {name}*")


def _create(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        path.chmod(0o600)
    except OSError as error:
        raise ConfigError(f"the database {path} can't be created ({error.strerror})") from error


def _version_on_postgres(database: PostgresDatabase) -> str | None:
    with database.translated(), contextlib.closing(database.connect(readonly=True)) as connection:
        return _version(database, connection, _OURS_ON_POSTGRES)


def _version(database: Database, connection: Connection, names: str) -> str | None:
    cursor = connection.cursor()
    cursor.execute(names, {})
    tables = {str(row[0]) for row in cursor.fetchall()}
    if not tables:
        return None
    if MIGRATIONS not in tables:
        raise StoreError(f"the {database.dialect} database holds somebody else's tables; give Frontdesk one of its own")
    cursor.execute(f"SELECT version_num FROM {MIGRATIONS}", {})  # noqa: S608  # a constant of ours
    row = cursor.fetchone()
    return "unknown" if row is None else str(row[0])
