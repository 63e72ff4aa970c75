"""C59, C60: how the installed service ends, is ended, and comes back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crash.daemon import until
from tests.crash.scene import INTERRUPTED, Talk
from tests.fakes.telegram import ThreadedTelegramServer
from tests.service.desk import OFFLINE, OPEN, SLEEPER, STATE, Desk, telegram_bot
from tests.wire.daemon_world import person

WATCHDOG_S = 30
"""A second, and as much again for systemd and a busy machine."""


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made
        assert made.violations == ()


@pytest.fixture
def running(desk: Desk, server: ThreadedTelegramServer) -> Desk:
    desk.configure(OPEN + SLEEPER + telegram_bot(server), {"telegram": server.token})
    desk.start()
    return desk


@pytest.fixture
def talk(server: ThreadedTelegramServer) -> Talk:
    return person(server)


def until_said(talk: Talk, desk: Desk, words: str) -> None:
    desk.until(lambda: talk.count(words) >= 1, f"the chat says {words}")


def until_typed(talk: Talk) -> None:
    """The turn runs: the bot shows that it is typing."""
    until(lambda: bool(talk.server.chat(talk.chat).actions), "the bot types")


def ended_well(desk: Desk) -> bool:
    return (desk.show("Result"), desk.show("ExecMainStatus")) == ("success", "0")


def test_c59_what_is_being_answered_when_it_is_stopped_is_answered_first(running: Desk, talk: Talk) -> None:
    talk.type("wait 3")
    until_typed(talk)
    running.stop()
    assert talk.count("done: wait 3") == 1
    assert ended_well(running)


def test_c59_a_turn_that_takes_longer_than_draining_may_is_taken_up_by_the_next_start(desk: Desk, talk: Talk) -> None:
    """And the stop takes no longer than draining may."""
    desk.configure(f"[desk]\ndrain_s = 2\n{OPEN}{SLEEPER}{telegram_bot(talk.server)}", {"telegram": talk.server.token})
    desk.start()
    talk.type("wait 6")
    until_typed(talk)
    desk.stop()
    assert ended_well(desk)
    assert talk.count("done: wait 6") == 0
    desk.start()
    until_said(talk, desk, "done: wait 6")
    assert talk.count("done: wait 6") == 1


def test_an_idle_one_stops_at_once(desk: Desk) -> None:
    desk.configure(OFFLINE)
    desk.start()
    desk.stop()
    assert ended_well(desk)


def test_c59_killed_in_a_turn_it_is_started_again_and_the_turn_has_one_end(running: Desk, talk: Talk) -> None:
    """The lock and the socket that the dead process left are in nobody's way."""
    talk.type("wait 3")
    until_typed(talk)
    first = running.pid
    running.systemctl("kill", "--signal=KILL", "frontdesk")
    running.until(lambda: running.restarts == 1 and running.show("ActiveState") == "active", "it is started again")
    assert running.pid != first
    running.until(lambda: talk.count("done: wait 3") + talk.count(INTERRUPTED) >= 1, "the turn ends")
    talk.type("and now")
    until_said(talk, running, "done: and now")
    assert talk.count("done: wait 3") + talk.count(INTERRUPTED) == 1
    assert running.machine.path(f"{STATE}/frontdesk.lock").read_text().strip() == str(running.pid)


def test_c60_a_stall_of_seconds_is_sat_out(running: Desk, talk: Talk) -> None:
    first = running.pid
    talk.type("block 5")
    until_said(talk, running, "done: block 5")
    talk.type("hello")
    until_said(talk, running, "done: hello")
    assert (running.pid, running.restarts) == (first, 0)


def test_c60_a_blocked_loop_is_ended_by_the_watchdog_and_its_turn_answered_by_the_next_start(
    running: Desk, talk: Talk
) -> None:
    first = running.pid
    talk.type("block 120")
    running.until_logged(r"Watchdog timeout", timeout_s=WATCHDOG_S + 15)
    running.until(lambda: running.restarts >= 1 and running.show("ActiveState") == "active", "it is started again")
    assert running.pid != first
    until_said(talk, running, "done: block 120")
    assert running.restarts == 1
