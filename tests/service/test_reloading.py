"""`systemctl reload frontdesk`: another config without another process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crash.scene import Talk
from tests.fakes.telegram import ThreadedTelegramServer
from tests.service.desk import CONFIG, OFFLINE, OPEN, SLEEPER, Desk, telegram_bot
from tests.wire.daemon_world import person


@pytest.fixture
def talk() -> Iterator[Talk]:
    with ThreadedTelegramServer() as server:
        yield person(server)
        assert server.violations == ()


@pytest.fixture
def running(desk: Desk, talk: Talk) -> Iterator[Desk]:
    """With the agent that echoes."""
    desk.configure(OPEN + OFFLINE + telegram_bot(talk.server), {"telegram": talk.server.token})
    desk.start()
    yield desk
    desk.stop()


def rewrite(desk: Desk, config: str) -> None:
    """Another config, and `systemctl reload`."""
    desk.machine.write(CONFIG, config)
    desk.systemctl("reload", "frontdesk")


def answered(talk: Talk, desk: Desk, words: str, answer: str) -> None:
    talk.type(words)
    desk.until(lambda: talk.count(answer) == 1, f"{words} is answered by {answer}")


def goes_on(desk: Desk, process: int) -> bool:
    """The same process, and systemd knows that it is not reloading any more."""
    return (desk.pid, desk.restarts, desk.show("ActiveState")) == (process, 0, "active")


def test_a_good_config_holds_from_the_next_message_on_in_the_same_process(running: Desk, talk: Talk) -> None:
    answered(talk, running, "hello", "hello")
    process = running.pid
    rewrite(running, OPEN + SLEEPER + telegram_bot(talk.server))
    running.until_logged("config_loaded")
    answered(talk, running, "and now", "done: and now")
    running.until(lambda: goes_on(running, process), "it goes on")


def test_a_faulty_config_is_named_and_the_one_before_it_goes_on(running: Desk, talk: Talk) -> None:
    process = running.pid
    rewrite(running, OPEN + SLEEPER + telegram_bot(talk.server) + "[desk]\nmax_turns = 0\n")
    running.until_logged("config_refused")
    answered(talk, running, "hello", "hello")
    assert talk.count("done:") == 0
    running.until(lambda: goes_on(running, process), "it goes on")
    assert "max_turns" in running.call("status").stdout
    rewrite(running, OPEN + SLEEPER + telegram_bot(talk.server))
    running.until_logged("config_loaded")
    answered(talk, running, "and now", "done: and now")
