"""A store as schema 0001 shipped it is brought up and goes on, with all that was in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from core.store.checks import check, survey
from core.store.open import DATABASE_FILE, database_at, open_store, version_of
from core.store.sqlite_driver import sqlite
from core.store.tables import SCHEMA
from core.store.upkeep import bring_up
from tests.contract.backups import Place
from tests.crash.daemon import Daemon
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.daemon_world import CALM, OFFLINE, person, telegram_bot

STORE = Path(__file__).parents[1] / "fixtures" / "schema_0001.sql"
PEOPLE = ("Ada", "Bea", "Cy")
"""In this order they have the ids of those in the store. Ada and Cy were being answered, and had asked once more."""
_ENTRIES = "SELECT id, session_id, seq, kind, text, data, turn_id, sender, at FROM entries ORDER BY id"
_SESSIONS = "SELECT id, conversation_id, generation, title, reset_reason, end_reason, head, messages FROM sessions"
_ROWS = "SELECT id, dedupe, state, fate, text FROM inbox ORDER BY id"

Rows = list[tuple[object, ...]]


def put(state: Path) -> None:
    """The store as it was, in a state directory."""
    state.mkdir(mode=0o700, parents=True)
    connection = sqlite.connect(str(state / DATABASE_FILE))
    connection.executescript(STORE.read_text(encoding="utf-8"))
    connection.close()


def ask(state: Path, words: str) -> Rows:
    connection = sqlite.connect(str(state / DATABASE_FILE))
    try:
        return list(connection.execute(words).fetchall())
    finally:
        connection.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    put(tmp_path / "home" / "state")
    return tmp_path / "home" / "state"


def test_bringing_it_up_keeps_everything_and_leaves_a_copy(state: Path) -> None:
    before = [ask(state, words) for words in (_ENTRIES, _SESSIONS, _ROWS)]
    assert len(before[0]) > 20
    database = database_at(None, state)
    assert bring_up(database, state) == ("0001", SCHEMA)
    assert bring_up(database, state) == (SCHEMA, SCHEMA)
    assert [ask(state, words) for words in (_ENTRIES, _SESSIONS, _ROWS)] == before
    (copy,) = (state / "backups").iterdir()
    assert copy.name == "schema-0001-1.db"
    store = open_store(None, state)
    try:
        assert asyncio.run(survey(store)).findings == ()
    finally:
        store.close()


def test_a_backup_of_it_is_made_and_restored_at_the_present_schema(state: Path, tmp_path: Path) -> None:
    assert Place(None, state).back_up(tmp_path / "old.tar").schema == "0001"
    assert version_of(database_at(None, state)) == "0001"
    other = Place(None, tmp_path / "other")
    other.restore_with(tmp_path / "old.tar", check)
    assert version_of(database_at(None, other.state)) == SCHEMA
    assert ask(other.state, _ENTRIES) == ask(state, _ENTRIES)


@pytest.mark.parametrize("how", ["upgraded first", "by the start itself"])
def test_the_present_program_goes_on_with_it(state: Path, how: str) -> None:
    before = ask(state, _ENTRIES)
    with ThreadedTelegramServer() as server:
        ada, *others = [person(server, name) for name in PEOPLE]
        for talk in (ada, *others):  # the platform has counted what was said before
            server.platform.rooms[talk.chat.id].last_message_id = 100
        daemon = Daemon(state.parent, config=CALM + OFFLINE + f"[desk]\nstale_hours = {10 * 365 * 24}\n")
        daemon.config_file.write_text(daemon.config + telegram_bot(server) + '[access]\ndirect = "open"\n')
        (daemon.home / "telegram.token").write_text(server.token)
        if how == "upgraded first":
            done = daemon.call("db", "upgrade")
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout.startswith(f"schema 0001 -> {SCHEMA}")
        with daemon:
            daemon.start()
            daemon.until_ready()
            settled(server, lambda: len(ada.texts) >= 2 and len(others[1].texts) >= 2)
            ada.type("and now?")
            settled(server, lambda: any("and now?" in text for text in ada.texts))
            verified = daemon.json("db", "verify")
        assert isinstance(verified, dict)
        assert (verified["sound"], verified["findings"]) == (True, [])
    assert ask(state, _ENTRIES)[: len(before)] == before
    fates = ask(state, "SELECT fate, count(*) FROM inbox GROUP BY fate")
    assert fates == [("answered", len(ask(state, _ROWS)))]
    assert not [text for text in ada.texts if "too old" in text]


def settled(server: ThreadedTelegramServer, holds: Callable[[], bool]) -> None:
    server.until(holds, timeout_s=30)
