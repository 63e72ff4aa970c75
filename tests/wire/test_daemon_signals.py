"""Signals at the wrong moment: before the start is over, while it drains, and many at once."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.crash.daemon import Daemon, until
from tests.fakes.models import Say, ThreadedModelServer
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire import test_daemon_reload as reloading
from tests.wire.daemon_world import OFFLINE, person, telegram_bot, wait_for
from tests.wire.test_daemon_reload import Place, config

server, second, place = reloading.server, reloading.second, reloading.place
APART_S = 0.002
PLENTY = 5000


def sent_until_the_end(daemon: Daemon, number: signal.Signals) -> int:
    """The signal again and again until the process has ended; its exit code."""
    process = daemon.process
    assert process is not None
    for _ in range(PLENTY):
        if process.poll() is not None:
            break
        process.send_signal(number)
        time.sleep(APART_S)
    return process.wait(10)


def test_a_hang_up_while_it_starts_does_not_end_it(place: Place, server: ThreadedTelegramServer) -> None:
    """As soon as it holds the lock of its store."""
    place.write(config(place, telegram_bot(server)))
    process = place.daemon.start()
    until(lambda: (place.daemon.state / "frontdesk.lock").exists(), "the lock")
    os.kill(process.pid, signal.SIGHUP)
    until(lambda: place.daemon.bot().get("state") == "up" or not place.daemon.lives, "up, or dead")
    assert place.daemon.lives, process.poll()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
def test_signals_until_the_very_end_do_not_change_how_it_ends(
    place: Place, server: ThreadedTelegramServer, number: signal.Signals
) -> None:
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    place.daemon.until_bot("up")
    place.daemon.terminate()
    assert sent_until_the_end(place.daemon, number) == 0
    assert "Traceback" not in place.daemon.log


def test_stop_and_reload_at_once_stop(place: Place, server: ThreadedTelegramServer) -> None:
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    place.daemon.until_bot("up")
    place.write(config(place, telegram_bot(server, stream=False)))
    assert place.daemon.process is not None
    os.kill(place.daemon.process.pid, signal.SIGHUP)
    place.daemon.terminate()
    assert place.daemon.wait_exit() == 0
    assert "Traceback" not in place.daemon.log


def test_a_reload_while_it_drains_neither_loses_the_turn_nor_takes_anything_in(
    place: Place, server: ThreadedTelegramServer
) -> None:
    server.set_limits(None)  # a process that starts knows nothing of what was sent a moment ago
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    place.daemon.until_bot("up")
    talk = person(server)
    mark = talk.say("crawl")
    wait_for(server, place.daemon, lambda: talk.begun(mark) == 1)
    place.daemon.terminate()
    place.daemon.until_logged('"stopping"')
    place.write(config(place, telegram_bot(server, stream=False), agent=OFFLINE))
    assert place.daemon.process is not None
    os.kill(place.daemon.process.pid, signal.SIGHUP)
    late = talk.say("fast")
    assert place.daemon.wait_exit() == 0
    assert talk.answers(late) == 0
    assert "Traceback" not in place.daemon.log
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    wait_for(server, place.daemon, lambda: talk.answers(late) == 1)
    assert talk.answers(mark) == 1
    assert len(talk.texts) == 2


def test_a_stop_while_a_reload_loads_the_first_model_waits_for_nobody(
    place: Place, server: ThreadedTelegramServer
) -> None:
    """Nothing runs, and an import that has begun is nobody's work."""
    with ThreadedModelServer() as models:
        models.always(Say("Good."))
        (place.daemon.home / "key").write_text(models.key)
        place.write(config(place, telegram_bot(server), agent=OFFLINE))
        place.daemon.start()
        place.daemon.until_bot("up")
        told = f'model = "openai:gpt-test"\nbase_url = "{models.openai_url}"\napi_key = "file:key"\n'
        place.write(config(place, telegram_bot(server), agent=f"[agents.default]\n{told}"))
        assert place.daemon.process is not None
        os.kill(place.daemon.process.pid, signal.SIGHUP)
        time.sleep(0.2)
        place.daemon.terminate()
        assert place.daemon.wait_exit() == 0


def test_a_hang_up_while_an_old_store_is_brought_up_to_date_does_not_end_it(tmp_path: Path) -> None:
    """The first start on an empty state, which runs every migration."""
    daemon = Daemon(tmp_path, config=OFFLINE)
    with daemon:
        process = daemon.start()
        until(lambda: any(daemon.state.glob("*.db*")) or not daemon.lives, "a database file")
        os.kill(process.pid, signal.SIGHUP)
        until(lambda: daemon.status().get("ready") is True or not daemon.lives, "ready, or dead")
        assert daemon.lives, process.poll()
