"""The machine: the state directory, the store in it, the time zone. Looks only, and changes nothing."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from core.errors import ConfigError, StoreCorrupt, StoreError
from core.ports import Blamed, Finding, State
from core.store.open import DATABASE_FILE, LOCK_FILE, database_at, exists, version_of
from core.store.sqlite import SqliteDatabase
from core.store.sqlite_driver import refusal
from core.store.tables import SCHEMA

MIB = 1 << 20
NEEDED_BYTES, ROOMY_BYTES = 64 * MIB, 512 * MIB
"""SQLite's log alone may grow to 64 MiB (`journal_size_limit` in `core.store.sqlite`) before it is written back."""
COPIED_BYTES = 64 * MIB
"""Up to this size a store with an unread log is looked at as a copy: opening it would write the log back."""


def look_at_directory(state: Path, *, runs: bool) -> list[Finding]:
    """Whether the state can be kept there. `runs`: a desk of ours answers there. Blocking."""
    if not state.exists():
        return [_directory_to_be(state)]
    findings = [*_permissions(state), *_room(state)]
    detail = f"{state}: {_mebibytes(shutil.disk_usage(state).free)} free"
    return [*(findings or [_found("state directory", "ok", detail)]), _in_use(state, runs=runs)]


def _directory_to_be(state: Path) -> Finding:
    parent = next(folder for folder in state.parents if folder.exists())
    if os.access(parent, os.W_OK | os.X_OK):
        return _found("state directory", "ok", f"{state} is made at the first start")
    detail = f"{state} is not there, and {parent} may not be written by {_me()}"
    return _found("state directory", "fault", detail, "make it, or name another with --state")


def _permissions(state: Path) -> Iterator[Finding]:
    info = state.stat()
    if not os.access(state, os.R_OK | os.W_OK | os.X_OK):
        detail = f"{state} belongs to {_user(info.st_uid)} and may not be written by {_me()}"
        yield _found("state directory", "fault", detail, "use sudo, or name another with --state")
    elif os.geteuid() not in (0, info.st_uid):
        detail = f"{state} belongs to {_user(info.st_uid)}, not to {_me()}"
        yield _found("state directory", "warning", detail, "let one user run everything there")
    if stat.S_IMODE(info.st_mode) & 0o077:
        detail = f"{state} holds conversations, and others may enter it (mode {stat.S_IMODE(info.st_mode):o})"
        yield _found("state directory", "warning", detail, f"chmod 700 {state}")


def _room(state: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(state).free
    if free < ROOMY_BYTES:
        state_of_it: State = "fault" if free < NEEDED_BYTES else "warning"
        detail = f"{_mebibytes(free)} are free on the disk of {state}"
        yield _found("state directory", state_of_it, detail, "make room: a full disk takes no messages")


def _in_use(state: Path, *, runs: bool) -> Finding:
    holder = holder_of(state)
    named = f"process {holder}" if holder else "process unknown"
    if runs:
        return _found("daemon", "ok", f"runs here ({named})")
    if holder:
        do = f"wait if it is only starting, else look at it: ps -fp {holder}"
        return _found("daemon", "warning", f"{named} uses {state} and does not answer", do)
    return _found("daemon", "ok", "none runs here")


def holder_of(state: Path) -> int | None:
    """The process whose the state is, by what the kernel says of its lock (proc_locks(5)): to try the lock could keep a
    daemon from starting."""
    try:
        inode = (state / LOCK_FILE).stat().st_ino
        held = Path("/proc/locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = [line.split() for line in held.splitlines()]
    found = [words[4] for words in fields if len(words) > 5 and words[1] == "FLOCK" and words[5].endswith(f":{inode}")]
    return next((int(pid) for pid in found if pid.isdecimal()), None)


def look_at_store(url: str, state: Path, *, runs: bool) -> Finding:
    """Whether a start would open it. `runs`: a desk of ours has it open. Blocking."""
    if runs:
        return _found("store", "ok", "the desk that runs has it open")
    try:
        database = database_at(url, state)
        if isinstance(database, SqliteDatabase) and (words := refusal()):
            return _found("store", "fault", words)
        if not exists(url, state):
            return _found("store", "ok", "is made at the first start")
        if isinstance(database, SqliteDatabase):
            return _look_at_file(database)
        return _version(version_of(database), state)
    except ConfigError as fault:
        return _found("store", "fault", str(fault))
    except StoreCorrupt as fault:
        do = f"keep it, and put a backup in its place (there may be one in {state / 'backups'})"
        return _found("store", "fault", str(fault), do)
    except StoreError as fault:
        return _found("store", "fault", str(fault), "see that the database can be reached", blames="world")


def _look_at_file(database: SqliteDatabase) -> Finding:
    path = database.path
    if not os.access(path, os.R_OK):
        return _found("store", "fault", f"{path} may not be read by {_me()}", "use sudo")
    parts = [part for part in (path, Path(f"{path}-wal")) if part.exists()]
    if len(parts) == 1 or not parts[1].stat().st_size:
        return _version(version_of(database), path.parent)
    if sum(part.stat().st_size for part in parts) > COPIED_BYTES:
        do = "start it, or ask `frontdesk db verify`, which takes it up first"
        return _found("store", "ok", f"{path} was left by a process that was killed; not looked into", do)
    with tempfile.TemporaryDirectory() as folder:
        for part in parts:
            shutil.copy(part, Path(folder, part.name.replace(path.name, DATABASE_FILE)))
        return _version(version_of(SqliteDatabase(Path(folder, DATABASE_FILE))), path.parent)


def _version(version: str | None, place: Path) -> Finding:
    if version is None:
        return _found("store", "ok", "is empty; a start fills it")
    if version == SCHEMA:
        return _found("store", "ok", f"is sound, with schema {version}")
    if version.isdecimal() and version < SCHEMA:
        detail = f"has schema {version}; the next start makes a backup and brings it to {SCHEMA}"
        return _found("store", "warning", detail, "nothing, or at a time of your choice: frontdesk db upgrade")
    detail = f"has schema {version}, and this Frontdesk knows {SCHEMA} and older"
    do = f"install the newer Frontdesk that wrote it, or restore an older backup (see {place / 'backups'})"
    return _found("store", "fault", detail, do)


def look_at_zones(zones: Iterable[str], now: datetime) -> Finding:
    """Whether each zone can be computed with here, and what time it is there. Names were checked at load."""
    times = [f"{now.astimezone(ZoneInfo(zone)):%H:%M} in {zone}" for zone in dict.fromkeys(zones)]
    return _found("time zone", "ok", f"it is {', '.join(times)}")


def _found(what: str, state: State, detail: str, do: str = "", *, blames: Blamed = "config") -> Finding:
    return Finding(what=what, state=state, detail=detail, do=do, blames=blames)


def _mebibytes(count: int) -> str:
    return f"{count // MIB:,} MiB"


def _me() -> str:
    return _user(os.geteuid())


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
