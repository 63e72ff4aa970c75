"""How the finished daemon starts, refuses to start, and stops."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.store.open import DATABASE_FILE
from core.store.sqlite_driver import sqlite
from core.store.tables import MIGRATIONS
from tests.crash.daemon import Daemon
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.daemon_world import crash_agent, desk, no_secret_shown, person, telegram_bot, wait_for


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made
        assert made.violations == ()


@pytest.fixture
def daemon(server: ThreadedTelegramServer, sqlite_template: Path, tmp_path: Path) -> Iterator[Daemon]:
    """Not started; its store is there and empty."""
    config = '[access]\ndirect = "open"\n' + crash_agent(tmp_path) + telegram_bot(server)
    made = desk(tmp_path, [("telegram", server)], config)
    made.state.mkdir(mode=0o700)
    shutil.copy(sqlite_template, made.state / DATABASE_FILE)
    with made, no_secret_shown(made, server):
        yield made


# -- the end


def test_sigterm_ends_an_idle_daemon_at_once(server: ThreadedTelegramServer, daemon: Daemon) -> None:
    talk = person(server)
    daemon.start()
    mark = talk.say("fast")
    wait_for(server, daemon, lambda: talk.answers(mark) == 1 and server.polling)
    daemon.terminate()
    assert daemon.wait_exit() == 0
    assert "Traceback" not in daemon.log
    assert not (daemon.state / "frontdesk.sock").exists()


def test_sigterm_lets_a_turn_end_and_its_answer_go_out(server: ThreadedTelegramServer, daemon: Daemon) -> None:
    """What comes meanwhile is left to the platform, and answered by the next start."""
    talk = person(server)
    daemon.start()
    mark = talk.say("crawl")
    wait_for(server, daemon, lambda: talk.begun(mark) == 1)
    daemon.terminate()
    daemon.until_logged("stopping")
    late = talk.say("fast")
    assert daemon.wait_exit() == 0
    assert talk.answers(mark) == 1
    assert talk.begun(late) == 0
    daemon.start()
    wait_for(server, daemon, lambda: talk.answers(late) == 1)
    assert len(talk.texts) == 2


def test_a_second_sigterm_does_not_wait_for_the_turn(server: ThreadedTelegramServer, daemon: Daemon) -> None:
    talk = person(server)
    daemon.start()
    mark = talk.say("hold")
    wait_for(server, daemon, lambda: talk.begun(mark) == 1)
    daemon.terminate()
    daemon.until_logged("stopping")
    daemon.terminate()
    assert daemon.wait_exit(5.0) == 0


# -- the store


def test_a_second_daemon_on_the_same_state_says_who_has_it(daemon: Daemon) -> None:
    first = daemon.start()
    daemon.until_ready()
    second = daemon.call("run")
    assert second.returncode == 1
    assert f"another Frontdesk (process {first.pid}) uses {daemon.state}" in second.stderr
    assert "Traceback" not in second.stderr
    assert daemon.lives
    assert daemon.status()["ready"] is True


def test_a_newer_schema_is_refused_and_left_as_it_is(daemon: Daemon) -> None:
    connection = sqlite.connect(str(daemon.state / DATABASE_FILE))
    connection.execute(f"UPDATE {MIGRATIONS} SET version_num = '9999'")
    connection.commit()
    connection.close()
    before = digest(daemon)
    refused = daemon.call("run")
    assert refused.returncode == 1
    assert "the store has schema 9999" in refused.stderr
    assert "start the newer Frontdesk" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert digest(daemon) == before


def test_c58_a_damaged_store_is_copied_aside_once_and_never_replaced(daemon: Daemon) -> None:
    with open(daemon.state / DATABASE_FILE, "r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * 4096)
    before = digest(daemon)
    for _ in range(3):
        refused = daemon.call("run")
        assert refused.returncode == 1
        assert "is damaged" in refused.stderr
        assert "put a backup in its place" in refused.stderr
        assert "Traceback" not in refused.stderr
    assert digest(daemon) == before
    assert len(list((daemon.state / "quarantine").glob("*.db"))) == 1


def digest(daemon: Daemon) -> str:
    return hashlib.sha256((daemon.state / DATABASE_FILE).read_bytes()).hexdigest()


# -- the config


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("[bots.telegram]\ntoken = ", "frontdesk.toml:2"),
        ('[bots.telegram]\ntoken = "env:NOT_SET_ANYWHERE"\n', "NOT_SET_ANYWHERE"),
        ('[bots.telegram]\ntoken = "file:nowhere.token"\n', "nowhere.token"),
        ('[desk]\nmax_turn = 3\n[bots.telegram]\ntoken = "1:a"\n', "max_turns"),
        ('[agents.default]\nbackend = "no.such.module:make"\n', "no.such.module"),
    ],
    ids=["half-written", "secret not set", "secret's file missing", "misspelt", "agent missing"],
)
def test_a_config_that_can_not_be_used_is_named_with_its_fault(tmp_path: Path, written: str, words: str) -> None:
    daemon = Daemon(tmp_path, config=written)
    refused = daemon.call("run")
    assert refused.returncode == 78, refused.stderr
    assert words in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_chat_reaches_the_daemon_that_runs_whatever_became_of_its_config(daemon: Daemon) -> None:
    daemon.start()
    daemon.until_ready()
    daemon.config_file.write_text("[bots.telegram]\ntoken = ")
    attached = daemon.call("chat")
    assert (attached.returncode, attached.stderr) == (0, "")
    daemon.terminate()
    assert daemon.wait_exit() == 0
    alone = daemon.call("chat")
    assert alone.returncode == 78
    assert "frontdesk.toml:2" in alone.stderr


def test_without_a_home_for_its_state_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    refused = Daemon(tmp_path).call("run")
    assert refused.returncode == 78
    assert "is no directory" in refused.stderr
