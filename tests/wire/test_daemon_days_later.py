"""A desk that comes back after days acts on what is said then, and not on what a platform's history still has."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.clock import ShiftedClock
from tests.crash.daemon import Daemon, until
from tests.crash.dialogue import Dialogue
from tests.drivers.discord import DiscordDriver, discord_server
from tests.drivers.driver import Driver
from tests.drivers.slack import ANSWER_S, SlackDriver
from tests.fakes.slack import ThreadedSlackServer
from tests.wire.daemon_world import CALM, crash_agent
from tests.wire.shifted import SHIFT

DAYS_S: Final = 3 * 86_400.0
Opened = Callable[[ShiftedClock], AbstractContextManager[Driver]]


@contextmanager
def discord(shifted: ShiftedClock) -> Iterator[Driver]:
    with discord_server(shifted) as server:
        yield DiscordDriver(server, shifted=shifted)


@contextmanager
def slack(shifted: ShiftedClock) -> Iterator[Driver]:
    """What nobody takes, Slack gives up at once."""
    with ThreadedSlackServer(clock=shifted, answer_s=ANSWER_S, retries_s=(0.0, 0.0, 0.0)) as server:
        yield SlackDriver(server, shifted=shifted)


@pytest.mark.parametrize("opened", [discord, slack])
def test_c01_what_waited_for_days_is_left_and_what_is_said_now_is_answered(opened: Opened, tmp_path: Path) -> None:
    shifted, shift, journal = ShiftedClock(), tmp_path / "shift", tmp_path / "journal"
    environ = {SHIFT: str(shift)}
    with opened(shifted) as platform:
        platform.without_limits()
        talk = Dialogue.private(platform)
        config = f'[access]\ndirect = "open"\n{CALM}{crash_agent(tmp_path)}{platform.table}'
        with Daemon(tmp_path, config=config, environ=environ) as daemon:
            begin(daemon, platform, shift, 0.0)
            asked(talk, "old")
            daemon.kill()
            for mark in ("missed", "more"):
                talk.put(f"fast {mark}", mark)
            shifted.ahead += timedelta(seconds=DAYS_S)
            begin(daemon, platform, shift, DAYS_S)
            asked(talk, "new")
            asked(talk, "newer")
            assert journal.read_text().split() == ["run", "old", "run", "new", "run", "newer"]
            assert talk.answers("missed") == talk.answers("more") == 0
        assert not platform.violations


def begin(daemon: Daemon, platform: Driver, shift: Path, seconds: float) -> None:
    """At so many seconds after the machine's time."""
    shift.write_text(str(seconds))
    daemon.start(sys.executable, "-m", "tests.wire.shifted")
    daemon.until_bot("up", platform.name)


def asked(talk: Dialogue, mark: str) -> None:
    talk.put(f"fast {mark}", mark)
    until(lambda: talk.answers(mark) == 1, f"{mark} is answered")
