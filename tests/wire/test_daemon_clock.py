"""The machine's clock is set under a running daemon, far ahead and back: nothing is deleted for it, nothing is lost."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.service.retention import HEARTBEAT
from core.store import facts
from core.store.checks import check
from tests.crash.daemon import Daemon, until
from tests.crash.scene import Talk, open_work
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.daemon_world import OFFLINE, person, telegram_bot, wait_for
from tests.wire.shifted import SHIFT

HOUR, DAY = 3_600, 86_400
NEAR_S = 5
"""Less than any jump here, and more than a heartbeat is old when it is read."""
RULES = """
[access]
direct = "open"
[retention]
days = 1
[session]
sweep_s = 1
[session.reset]
mode = "idle"
idle_minutes = 60
"""


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made


@pytest.fixture
def daemon(server: ThreadedTelegramServer, tmp_path: Path) -> Iterator[Daemon]:
    (tmp_path / "telegram.token").write_text(server.token)
    environ = {SHIFT: str(tmp_path / "shift")}
    with Daemon(tmp_path, config=RULES + OFFLINE + telegram_bot(server), environ=environ) as made:
        set_clock(made, 0)
        made.start(sys.executable, "-m", "tests.wire.shifted")
        made.until_bot("up")
        yield made


def set_clock(daemon: Daemon, ahead_s: float) -> None:
    """Against the machine's."""
    written = daemon.home / "shift.new"
    written.write_text(str(ahead_s))
    os.replace(written, daemon.home / "shift")


def jump(daemon: Daemon, ahead_s: float) -> None:
    """Set the clock; returns when the daemon has seen it, and has looked after its store by the new time."""
    set_clock(daemon, ahead_s)
    until(lambda: abs((beat(daemon) - datetime.now(UTC)).total_seconds() - ahead_s) < NEAR_S, "a heartbeat since")


def beat(daemon: Daemon) -> datetime:
    with daemon.reading() as tx:
        return datetime.fromisoformat(facts.get(tx, HEARTBEAT) or "1970-01-01T00:00:00Z")


def say(server: ThreadedTelegramServer, daemon: Daemon, ada: Talk, word: str) -> None:
    """And be answered."""
    ada.type(word)
    wait_for(server, daemon, lambda: ada.count(f"\n{word}") == 1)


def titles(daemon: Daemon) -> set[str]:
    listed = daemon.json("sessions", "list")
    assert isinstance(listed, list)
    return {str(session["title"]) for session in listed}


def test_a_clock_that_is_set_far_ahead_and_back_deletes_nothing_and_loses_nothing(
    server: ThreadedTelegramServer, daemon: Daemon
) -> None:
    ada = person(server)
    say(server, daemon, ada, "first")
    ada.type("/reset")
    wait_for(server, daemon, lambda: ada.count("New conversation") == 1)
    say(server, daemon, ada, "second")
    jump(daemon, 10)

    jump(daemon, 3 * DAY)
    assert "retention_waits" in daemon.log
    say(server, daemon, ada, "third")
    assert ada.count("the last one rested for 3 d.") == 1
    assert titles(daemon) == {"first", "second", "third"}, "retention is a day, and trusts no such jump"

    jump(daemon, 2 * DAY)
    say(server, daemon, ada, "fourth")
    assert titles(daemon) == {"first", "second", "third"}

    jump(daemon, 3 * DAY + 2 * HOUR)
    say(server, daemon, ada, "fifth")
    assert titles(daemon) == {"first", "second", "third", "fifth"}, "resets go on"
    assert daemon.log.count("clock_jumped") == 4
    daemon.terminate()
    assert daemon.wait_exit() == 0
    with daemon.reading() as tx:
        assert open_work(tx) == 0
        assert check(tx) == []
    assert server.violations == ()
