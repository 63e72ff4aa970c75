"""Opening the store: one owner, no damaged or foreign file, nobody else's eyes."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from core.errors import ConfigError, StoreCorrupt, StoreError, StoreLocked, StoreTooNew
from core.store import facts
from core.store.damage import COPIES
from core.store.engine import Store
from core.store.lock import FileLocks
from core.store.open import DATABASE_FILE, LOCK_FILE, database_at, open_store
from tests.contract.scenes import begin, converse, say


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_store_is_its_users_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        store = open_store(None, tmp_path / "deep" / "state")
        state = tmp_path / "deep" / "state"
        assert _mode(state) == 0o700
        assert {_mode(path) for path in state.iterdir()} == {0o600}
        store.close()
    finally:
        os.umask(old)


def test_a_state_directory_of_ours_is_closed_to_others_and_a_foreign_one_left_alone(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for path in (ours, theirs):
        path.mkdir(mode=0o755)
    (theirs / "letter.txt").write_text("dear")
    for path in (ours, theirs):
        open_store(None, path).close()
    assert (_mode(ours), _mode(theirs)) == (0o700, 0o755)
    assert _mode(theirs / DATABASE_FILE) == 0o600


def test_a_state_directory_that_can_not_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="--state"):
        open_store(None, tmp_path / "file" / "state")


@pytest.mark.parametrize(
    "url", ["mysql://localhost/x", "sqlite://", "sqlite:///:memory:", "no url", "postgresql+asyncpg://localhost/x"]
)
def test_a_url_that_names_no_store_of_ours_is_said(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="sqlite:///PATH"):
        database_at(url, tmp_path)


def test_a_password_is_in_no_message(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as raised:
        open_store("postgresql://frontdesk:s3cret@127.0.0.1:1/frontdesk", tmp_path)
    assert "s3cret" not in str(raised.value)
    assert "can't be reached" in str(raised.value)


_HOLD = """
import sys
from pathlib import Path
from core.store.open import open_store
url = sys.argv[2] or None
store = open_store(url, Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""


def _place(request: pytest.FixtureRequest, kind: str) -> tuple[str | None, Path]:
    if kind == "sqlite":
        state: Path = request.getfixturevalue("sqlite_state")
        return None, state
    return request.getfixturevalue("postgres_url"), request.getfixturevalue("tmp_path")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_second_process_is_told_who_owns_the_store(request: pytest.FixtureRequest, kind: str) -> None:
    url, state = _place(request, kind)
    other = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(state), url or ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreLocked, match=rf"\b{other.pid}\b.*stop it"):
            open_store(url, state)
        other.kill()
    for _ in range(100):
        try:
            open_store(url, state).close()
        except StoreLocked:
            assert kind == "postgresql", "the kernel frees a file lock with its process"
            continue
        return
    pytest.fail("the lock outlived its process")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_closing_gives_the_lock_back(request: pytest.FixtureRequest, kind: str) -> None:
    url, state = _place(request, kind)
    store = open_store(url, state)
    with pytest.raises(StoreLocked):
        open_store(url, state)
    store.close()
    open_store(url, state).close()


def test_two_state_directories_do_not_share_one_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    store = open_store(url, tmp_path / "one")
    with pytest.raises(StoreLocked):
        open_store(url, tmp_path / "two")
    store.close()


def test_nodes_of_a_cluster_share_a_store(postgres_url: str, tmp_path: Path) -> None:
    stores = [open_store(postgres_url, tmp_path / name, shared=True) for name in ("one", "two")]
    for store in stores:
        store.close()


def test_a_lock_that_was_lost_is_taken_again_or_said(postgres_store: Store, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as other:
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'frontdesk % on %'"
        other.execute(cut)
        postgres_store.lock.renew()
        other.execute(cut)
        key = other.execute("SELECT pg_advisory_lock(%s::int4, hashtext(current_schema()))", (0x46524F4E,)).fetchone()
        assert key is not None
        with pytest.raises(StoreLocked):
            postgres_store.lock.renew()


def _set_version(kind: str, url: str | None, state: Path, version: str) -> None:
    if kind == "sqlite":
        connection = sqlite3.connect(state / DATABASE_FILE)
        connection.execute("UPDATE schema_version SET version_num = ?", (version,))
        connection.commit()
        connection.close()
        return
    assert url is not None
    with psycopg.connect(url) as connection_:
        connection_.execute("UPDATE schema_version SET version_num = %s", (version,))


@pytest.mark.parametrize("version", ["0999", "from the future"])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_newer_or_unknown_schema_is_not_touched(request: pytest.FixtureRequest, kind: str, version: str) -> None:
    url, state = _place(request, kind)
    _set_version(kind, url, state, version)
    for _ in range(2):
        with pytest.raises(StoreTooNew, match=version):
            open_store(url, state)
    assert not (state / "backups").exists()


def test_a_database_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_FILE
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="somebody else"):
        open_store(None, tmp_path)
    assert path.read_bytes() == before


def test_an_ordinary_start_does_without_alembic_and_postgresql(sqlite_state: Path) -> None:
    words = (
        "import core.main, sys; from pathlib import Path; from core.store.open import open_store;"
        f"open_store(None, Path({str(sqlite_state)!r})).close();"
        "without = ('alembic', 'mako', 'psycopg', 'sqlalchemy.dialects.postgresql');"
        "print([name for name in without if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def _fill(state: Path) -> None:
    """A database with some pages in each of its tables, and a log that is not yet in it."""

    async def units() -> None:
        for i in range(20):
            conversation = await store.write(lambda tx, i=i: converse(tx, str(i)))  # type: ignore[misc]
            await store.write(
                lambda tx, i=i, c=conversation: say(tx, begin(tx, c, f"s{i}").id, *["word " * 200] * 5)  # type: ignore[misc]
            )

    store = open_store(None, state)
    asyncio.run(units())
    store.close()


def _overwrite_page(path: Path, number: int) -> None:
    with path.open("r+b") as file:
        file.seek((number - 1) * 4096)
        file.write(bytes((i * 131 + 17) % 256 for i in range(4096)))


def _damage(path: Path, how: str) -> None:
    match how:
        case "page 2":
            _overwrite_page(path, 2)
        case "header":
            path.write_bytes(b"not a database, but long enough to look like one" * 100 + path.read_bytes()[4800:])
        case "truncated":
            os.truncate(path, 5 * 4096)
        case "emptied, with a log":
            shutil.copy(path, f"{path}-wal")
            os.truncate(path, 0)
        case "missing, with a log":
            path.rename(f"{path}-wal")


@pytest.mark.parametrize("how", ["page 2", "header", "truncated", "emptied, with a log", "missing, with a log"])
def test_a_damaged_store_is_copied_aside_once_and_never_replaced(sqlite_state: Path, how: str) -> None:
    """C58."""
    _fill(sqlite_state)
    path = sqlite_state / DATABASE_FILE
    _damage(path, how)
    before = path.read_bytes() if path.exists() else None
    copies: set[tuple[int, int]] = set()
    for _ in range(10):
        with pytest.raises(StoreCorrupt, match=r"damaged.*put a backup in its place") as raised:
            open_store(None, sqlite_state)
        assert "quarantine" in str(raised.value)
        copies |= {(kept.stat().st_ino, kept.stat().st_mtime_ns) for kept in (sqlite_state / "quarantine").glob("*.db")}
    assert len(copies) == 1, "it was written once"
    kept = [kept for kept in (sqlite_state / "quarantine").iterdir() if kept.suffix == ".db"]
    assert len(kept) == 1
    assert (path.read_bytes() if path.exists() else None) == before
    assert kept[0].read_bytes() == (before or b"")
    assert {_mode(each) for each in (sqlite_state / "quarantine").iterdir()} == {0o600}


def test_damage_in_any_page_of_a_small_store_is_noticed(sqlite_state: Path, tmp_path: Path) -> None:
    _fill(sqlite_state)
    pages = (sqlite_state / DATABASE_FILE).stat().st_size // 4096
    for number in range(1, pages + 1, 7):
        state = tmp_path / f"page{number}"
        state.mkdir()
        shutil.copy(sqlite_state / DATABASE_FILE, state / DATABASE_FILE)
        _overwrite_page(state / DATABASE_FILE, number)
        with pytest.raises(StoreCorrupt):
            open_store(None, state)


def test_damaged_roots_of_a_large_store_are_noticed(
    sqlite_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the limit the pages at the root of each table and index are read, not all."""
    _fill(sqlite_state)
    monkeypatch.setattr("core.store.damage.CHECKED_WHOLE_BYTES", 0)
    connection = sqlite3.connect(sqlite_state / DATABASE_FILE)
    roots = [row[0] for row in connection.execute("SELECT rootpage FROM sqlite_master WHERE rootpage > 0")]
    connection.close()
    open_store(None, sqlite_state).close()
    for number in roots:
        state = tmp_path / f"root{number}"
        state.mkdir()
        shutil.copy(sqlite_state / DATABASE_FILE, state / DATABASE_FILE)
        _overwrite_page(state / DATABASE_FILE, number)
        with pytest.raises(StoreCorrupt):
            open_store(None, state)


def test_the_number_of_copies_is_bounded(sqlite_state: Path) -> None:
    _fill(sqlite_state)
    path = sqlite_state / DATABASE_FILE
    for number in range(2, COPIES + 4):
        _overwrite_page(path, number)
        with pytest.raises(StoreCorrupt):
            open_store(None, sqlite_state)
    assert len(list((sqlite_state / "quarantine").glob("*.db"))) == COPIES


def test_what_a_killed_process_left_in_the_log_is_there_after_the_start(sqlite_state: Path) -> None:
    words = (
        "import asyncio, os, signal; from pathlib import Path; from core.store.open import open_store;"
        "from core.store import facts;"
        f"store = open_store(None, Path({str(sqlite_state)!r}));"
        "asyncio.run(store.write(lambda tx: facts.put(tx, 'kept', 'x')));"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", words], check=False)
    assert (sqlite_state / f"{DATABASE_FILE}-wal").stat().st_size > 0
    store = open_store(None, sqlite_state)
    assert asyncio.run(store.read(lambda tx: facts.get(tx, "kept"))) == "x"
    store.close()


def test_an_empty_file_is_a_new_store(tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).touch()
    open_store(None, tmp_path).close()
    assert (tmp_path / LOCK_FILE).read_text() == ""


def test_a_lock_that_is_held_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    """By a verb of the command line, which must not keep the daemon from starting."""
    held = FileLocks([tmp_path / "lock"])
    timer = threading.Timer(0.2, held.release)
    timer.start()
    FileLocks([tmp_path / "lock"]).release()
    timer.join()
