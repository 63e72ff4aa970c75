"""Reloads without a pause while answers grow, and what the service manager hears of reloads."""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.daemon import until
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire import test_daemon_reload as reloading
from tests.wire.daemon_world import crash_agent, person, telegram_bot, wait_for
from tests.wire.test_daemon_reload import Place, config
from tests.wire.test_daemon_reload_config import hang_up

server, second, place = reloading.server, reloading.second, reloading.place


@pytest.mark.endurance
@pytest.mark.parametrize("seed", range(4))
def test_every_answer_comes_whole_and_once_while_bot_and_agent_change_all_the_time(
    place: Place, server: ThreadedTelegramServer, seed: int
) -> None:
    chance = random.Random(seed)
    server.set_limits(None)

    def written(number: int) -> str:
        told = crash_agent(place.daemon.home).rstrip().removesuffix("}") + f", number = {number} }}\n"
        # Two spellings of one address: a bot that is made anew, and may show what it writes.
        return config(place, telegram_bot(server, file_base=f"{server.url}/file{number % 2}"), agent=told)

    place.write(written(0))
    place.daemon.start()
    place.daemon.until_bot("up")
    talks = [person(server, name) for name in ("Ada", "Bo", "Cy", "Di")]
    for number in range(1, 60):
        if number % 4 == 1:
            for talk in talks:
                talk.say(chance.choice(["crawl", "slow", "fast", "long", "work"]))
        place.write(written(number))
        hang_up(place)
        time.sleep(chance.uniform(0.0, 0.05))
    for talk in talks:
        wait_for(server, place.daemon, lambda talk=talk: all(talk.answers(mark) == 1 for mark in talk.marks))  # type: ignore[misc]
    for talk in talks:
        odd = [text[:200] for text in talk.texts if "may not have arrived" in text or "Something went wrong" in text]
        assert odd == []
        assert [mark for text in talk.texts for mark in talk.marks if f"end({mark})" in text] == talk.marks
        assert [mark for mark in talk.marks if talk.begun(mark) != 1] == []
    place.daemon.terminate()
    assert place.daemon.wait_exit() == 0


class Ear:
    """What a service manager hears."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.setblocking(False)
        self._words: list[str] = []

    @property
    def words(self) -> list[str]:
        """The first line of each word so far, plain status left out."""
        while True:
            try:
                self._words.append(self._socket.recv(65536).decode().partition("\n")[0])
            except BlockingIOError:
                return [word for word in self._words if not word.startswith(("STATUS", "WATCHDOG"))]

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[Ear]:
    made = Ear(tmp_path / "notify")
    yield made
    made.close()


@pytest.mark.parametrize("broken", ["[desk]\nmax_turns = " + "9" * 5000 + "\n", "[lissen]\n"], ids=["digits", "table"])
def test_the_manager_hears_the_end_of_every_reload(
    place: Place, server: ThreadedTelegramServer, ear: Ear, broken: str
) -> None:
    place.daemon.environ = {"NOTIFY_SOCKET": str(ear.path)}
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    until(lambda: ear.words == ["READY=1"], "ready")
    place.write(broken)
    hang_up(place)
    until(lambda: ear.words[1:] == ["RELOADING=1", "READY=1"], f"the end of the reload: {ear.words}", timeout_s=6)


def test_the_manager_hears_nothing_of_a_reload_after_the_stop(
    place: Place, server: ThreadedTelegramServer, ear: Ear
) -> None:
    place.daemon.environ = {"NOTIFY_SOCKET": str(ear.path)}
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    place.daemon.until_bot("up")
    talk = person(server)
    mark = talk.say("crawl")
    wait_for(server, place.daemon, lambda: talk.begun(mark) == 1)
    place.daemon.terminate()
    until(lambda: "STOPPING=1" in ear.words, "stopping")
    hang_up(place)
    assert place.daemon.wait_exit() == 0
    assert ear.words[-1] == "STOPPING=1", ear.words


def test_a_second_stop_hurries_a_reload_that_waits_for_a_send(place: Place, server: ThreadedTelegramServer) -> None:
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    place.daemon.until_bot("up")
    talk = person(server)
    hanging = server.hang("sendMessage")
    talk.say("fast")
    server.until(lambda: hanging.hits == 1)
    place.write(config(place, telegram_bot(server, stream=False)))
    hang_up(place)
    place.daemon.terminate()
    place.daemon.until_logged('"stopping"')
    assert place.daemon.process is not None
    os.kill(place.daemon.process.pid, signal.SIGTERM)
    assert place.daemon.wait_exit() == 0
    server.clear_faults()
