"""Bots that change under way: their sends hang, their accounts and names are others, and all of it again and again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from core.service.socket import Json
from tests.crash.daemon import Daemon, until
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire import test_daemon_reload as reloading
from tests.wire.daemon_world import crash_agent, person, telegram_bot, wait_for
from tests.wire.test_daemon_reload import Place, config

server, second, place = reloading.server, reloading.second, reloading.place
ROUNDS = 200


def test_a_send_that_hangs_keeps_no_other_bot_silent(
    place: Place, server: ThreadedTelegramServer, second: ThreadedTelegramServer
) -> None:
    """Both bots change; only one of their platforms hangs."""
    place.write(config(place, telegram_bot(second, "second"), telegram_bot(server)))
    place.daemon.start()
    place.daemon.until_bot("up")
    place.daemon.until_bot("up", "second")
    ada, grace = person(server), person(second, "Grace")
    hanging = server.hang("sendMessage")
    ada.say("fast")
    server.until(lambda: hanging.hits == 1)
    place.write(config(place, telegram_bot(second, "second", stream=False), telegram_bot(server, stream=False)))
    assert place.daemon.process is not None
    os.kill(place.daemon.process.pid, signal.SIGHUP)
    until(lambda: not second.polling, "the other bot leaves")
    mark = grace.say("fast")
    wait_for(second, place.daemon, lambda: grace.answers(mark) == 1)
    server.clear_faults()


def test_what_hung_while_its_bot_left_is_told_of_once(place: Place, server: ThreadedTelegramServer) -> None:
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    place.daemon.until_bot("up")
    ada = person(server)
    hanging = server.hang("sendMessage")
    mark = ada.say("fast")
    server.until(lambda: hanging.hits == 1)
    place.write(config(place, telegram_bot(server, stream=False)))
    place.reload()
    later = ada.say("fast")
    wait_for(server, place.daemon, lambda: ada.answers(later) == 1)
    wait_for(server, place.daemon, lambda: ada.count("may not have arrived") == 1)
    assert ada.answers(mark) == 0
    assert len(ada.texts) == 2
    server.clear_faults()


def test_a_bot_that_gets_another_name_meets_no_conflict_and_starts_new_conversations(
    place: Place, server: ThreadedTelegramServer
) -> None:
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    place.daemon.until_bot("up")
    ada = person(server)
    marks = [ada.say("fast")]
    wait_for(server, place.daemon, lambda: ada.answers(marks[0]) == 1)
    (place.daemon.home / "other.token").write_text(server.token)
    for name in ("other", "telegram", "other"):
        place.write(config(place, telegram_bot(server, name)))
        place.reload()
        marks.append(ada.say("fast"))
        wait_for(server, place.daemon, lambda: ada.answers(marks[-1]) == 1)
    assert len(ada.texts) == len(marks)
    assert '"bot_degraded"' not in place.daemon.log
    listed = place.daemon.json("sessions", "list")
    assert isinstance(listed, list)
    assert sorted(one["key"].partition("/")[0] for one in listed) == ["other", "telegram"]


class Usage:
    """What a process holds."""

    def __init__(self, daemon: Daemon) -> None:
        assert daemon.process is not None
        self._place = Path(f"/proc/{daemon.process.pid}")
        if not os.access(self._place / "fd", os.R_OK):
            pytest.skip("only root sees the files of a daemon: run the tests as root")

    @property
    def files(self) -> int:
        return len(list((self._place / "fd").iterdir()))

    @property
    def threads(self) -> int:
        return len(list((self._place / "task").iterdir()))

    @property
    def resident_kib(self) -> int:
        lines = (self._place / "status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1])


@pytest.mark.endurance
def test_200_reloads_that_change_every_bot_and_agent_leave_nothing(
    place: Place, server: ThreadedTelegramServer, second: ThreadedTelegramServer
) -> None:
    def written(number: int) -> str:
        told = crash_agent(place.daemon.home).rstrip().removesuffix("}") + f", number = {number} }}\n"
        bots = [
            telegram_bot(one, name, stream=number % 2 == 0) for one, name in ((server, "telegram"), (second, "second"))
        ]
        return config(place, *bots, agent=told)

    place.write(written(0))
    place.daemon.start()
    place.daemon.until_bot("up")
    talk, usage = person(server), Usage(place.daemon)

    def rounds(count: int, first: int) -> None:
        for number in range(first, first + count):
            place.write(written(number))
            place.reload()

    rounds(40, 1)
    place.daemon.until_bot("up")
    mark = talk.say("fast")
    wait_for(server, place.daemon, lambda: talk.answers(mark) == 1)
    files, threads, resident = usage.files, usage.threads, usage.resident_kib
    rounds(ROUNDS, 41)
    place.daemon.until_bot("up")
    mark = talk.say("fast")
    wait_for(server, place.daemon, lambda: talk.answers(mark) == 1)
    grown: dict[str, Json] = {
        "files": usage.files - files, "threads": usage.threads - threads, "KiB": usage.resident_kib - resident,
    }  # fmt: skip
    print(grown)
    assert usage.files - files <= 4, grown
    assert usage.threads - threads <= 2, grown
    assert usage.resident_kib - resident < 4096, grown
