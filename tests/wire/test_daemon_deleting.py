"""`sessions delete` while the desk is stopped: answers that people were promised are not dropped with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.daemon import Daemon, until
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.daemon_world import crash_agent, desk, person, telegram_bot, wait_for


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made


@pytest.fixture
def daemon(server: ThreadedTelegramServer, tmp_path: Path) -> Iterator[Daemon]:
    config = '[desk]\ndrain_s = 0\n[access]\ndirect = "open"\n' + crash_agent(tmp_path) + telegram_bot(server)
    with desk(tmp_path, [("telegram", server)], config) as made:
        yield made


def test_an_answer_that_waits_to_be_sent_keeps_its_session_until_it_is_out(
    server: ThreadedTelegramServer, daemon: Daemon
) -> None:
    talk = person(server)
    daemon.start()
    daemon.until_bot("up")
    server.flood(talk.chat, 3)
    mark = talk.say("fast")
    until(lambda: daemon.status()["outbox"] == {"queued": 1, "unknown": 0, "failed": 0}, "the answer waits")
    daemon.terminate()
    assert daemon.wait_exit() == 0
    key = f"telegram/dm/{talk.chat.id}"
    refused = daemon.call("sessions", "delete", key, "--yes")
    assert refused.returncode == 1
    assert "nothing was deleted: 1 of the answers there were not sent yet" in refused.stderr
    daemon.start()
    wait_for(server, daemon, lambda: talk.answers(mark) == 1)
    until(lambda: daemon.status()["outbox"] == {"queued": 0, "unknown": 0, "failed": 0}, "it is out")
    daemon.terminate()
    assert daemon.wait_exit() == 0
    assert daemon.call("sessions", "delete", key, "--yes").returncode == 0
    assert daemon.json("sessions", "list") == []
