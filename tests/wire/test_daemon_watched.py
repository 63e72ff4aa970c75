"""The finished daemon as a probe and a scraper see it: over real sockets, in good and in bad times."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from core.store.open import DATABASE_FILE
from tests.crash.daemon import FRONTDESK, ROOT, Daemon, until
from tests.fakes.telegram import ThreadedTelegramServer
from tests.fakes.telegram.model import JsonObject
from tests.wire import test_daemon_full_disk as full_disk
from tests.wire.daemon_world import OFFLINE, crash_agent, desk, no_secret_shown, person, telegram_bot, wait_for

OPEN = '[access]\ndirect = "open"\n'
small_disk = full_disk.small_disk


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made


@pytest.fixture
def daemon(server: ThreadedTelegramServer, tmp_path: Path) -> Iterator[Daemon]:
    made = desk(tmp_path, [("telegram", server)], OPEN + crash_agent(tmp_path) + telegram_bot(server))
    with made, no_secret_shown(made, server):
        yield made


def listener(daemon: Daemon) -> Mapping[str, object]:
    told = daemon.status().get("listen")
    return told if isinstance(told, Mapping) else {}


def address(daemon: Daemon) -> str:
    until(lambda: listener(daemon).get("state") == "up", "the listener is up")
    return f"http://{listener(daemon)['address']}"


def get(at: str, page: str) -> httpx.Response:
    return httpx.get(at + page, timeout=10, trust_env=False)


def samples(at: str) -> dict[str, float]:
    """Each as its name and the values of its labels, in order of their names."""
    return {
        sample.name + "".join(f" {value}" for _, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(get(at, "/metrics").text)
        for sample in family.samples
    }


def is_ready(at: str) -> Callable[[], bool]:
    return lambda: get(at, "/readyz").status_code == 200


def is_not_ready(at: str, part: str, words: str) -> Callable[[], bool]:
    def told() -> bool:
        answer = get(at, "/readyz")
        return answer.status_code == 503 and words in answer.json()[part]["detail"]

    return told


def test_what_was_done_is_what_is_scraped(server: ThreadedTelegramServer, daemon: Daemon) -> None:
    daemon.start()
    at = address(daemon)
    ada, ben = person(server), person(server, "Ben")
    for talk, count in ((ada, 3), (ben, 2)):
        for _ in range(count):
            mark = talk.say("fast")
            wait_for(server, daemon, lambda talk=talk, mark=mark: talk.answers(mark) == 1)  # type: ignore[misc]
    until(lambda: samples(at)["frontdesk_deliveries_total telegram sent"] == 5, "all five are marked as sent")
    seen = samples(at)
    assert seen["frontdesk_inbound_total telegram accepted"] == 5
    assert seen["frontdesk_turns_total telegram done"] == 5
    assert seen["frontdesk_cache_hits_total"] == 3
    assert seen["frontdesk_cache_misses_total absent"] == 2
    assert seen["frontdesk_turn_wait_seconds_count"] == 5
    assert seen["frontdesk_bot_state telegram up"] == 1
    assert seen["frontdesk_turns_open running"] == 0
    assert seen["frontdesk_ready"] == 1
    assert sum(len(talk.texts) for talk in (ada, ben)) == 5
    until(lambda: samples(at)["frontdesk_chore_seconds_count index"] > 0, "chores are counted")
    until(lambda: samples(at)["frontdesk_loop_lag_seconds_count"] > 2, "the loop is looked at")
    told = "".join(get(at, page).text for page in ("/livez", "/readyz", "/metrics"))
    for word in (mark, "Ada", str(ada.chat.id), server.token.partition(":")[2], str(daemon.state)):
        assert word not in told


def test_health_is_told_at_once_and_bots_do_not_count(server: ThreadedTelegramServer, daemon: Daemon) -> None:
    server.revoke()
    daemon.start()
    at = address(daemon)
    assert get(at, "/livez").json() == {"alive": True}
    daemon.until_bot("failed")
    answer = get(at, "/readyz")
    assert answer.status_code == 200
    (_, telegram) = answer.json()["bots"]
    assert (telegram["name"], telegram["state"]) == ("telegram", "failed")
    assert "BotFather" in telegram["detail"]


def test_a_port_that_is_taken_stops_nothing_and_is_had_when_it_is_free(
    server: ThreadedTelegramServer, tmp_path: Path
) -> None:
    with closing(socket.socket()) as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        config = OPEN + crash_agent(tmp_path) + telegram_bot(server) + f"[listen]\nport = {port}\n"
        with desk(tmp_path, [("telegram", server)], config) as daemon:
            daemon.start()
            until(lambda: listener(daemon).get("state") == "waiting", "the listener waits")
            assert listener(daemon)["address"] == f"127.0.0.1:{port}"
            assert "another program listens" in str(listener(daemon)["detail"])
            talk = person(server)
            mark = talk.say("fast")
            wait_for(server, daemon, lambda: talk.answers(mark) == 1)
            holder.close()
            assert get(address(daemon), "/readyz").status_code == 200
            assert daemon.log.count('"not_listening"') == 1
            daemon.terminate()
            assert daemon.wait_exit() == 0


def test_an_idle_stop_waits_for_no_client(daemon: Daemon) -> None:
    daemon.start()
    at = address(daemon)
    host, _, port = at.removeprefix("http://").rpartition(":")
    with httpx.Client(base_url=at, trust_env=False) as kept, socket.create_connection((host, int(port))) as silent:
        assert kept.get("/livez").status_code == 200
        daemon.until_ready()
        daemon.terminate()
        assert daemon.wait_exit() == 0
        silent.settimeout(5)
        with suppress(ConnectionError):
            assert silent.recv(1) == b""
    assert "Traceback" not in daemon.log


def test_it_is_not_ready_while_it_drains(server: ThreadedTelegramServer, daemon: Daemon) -> None:
    daemon.start()
    at = address(daemon)
    talk = person(server)
    talk.say("hold")
    until(lambda: samples(at)["frontdesk_turns_open running"] == 1, "a turn runs")
    daemon.terminate()
    until(is_not_ready(at, "stopping", "the daemon is stopping"), "not ready while it drains")
    assert get(at, "/livez").status_code == 200
    assert samples(at)["frontdesk_ready_part stopping"] == 0
    daemon.terminate()
    assert daemon.wait_exit() == 0


def test_it_is_not_ready_while_its_disk_is_full(small_disk: Path, server: ThreadedTelegramServer) -> None:
    ada = person(server)
    with desk(small_disk.parent, [("telegram", server)], OPEN + OFFLINE + telegram_bot(server)) as daemon:
        daemon.start()
        at = address(daemon)
        ada.type("before")
        wait_for(server, daemon, lambda: ada.count("\nbefore") == 1)
        assert get(at, "/readyz").status_code == 200
        ballast = full_disk.fill(small_disk)
        where: JsonObject = {"message_id": 900, "date": 1, "chat": ada.chat.json(), "from": ada.user.json()}
        server.raw({"message": {**where, "text": "while full " + "x" * 5_000_000}})
        until(is_not_ready(at, "store", "its disk is full"), "not ready on a full disk")
        assert get(at, "/livez").status_code == 200
        assert samples(at)["frontdesk_store_write_failures_total full"] >= 1
        ballast.unlink()
        wait_for(server, daemon, lambda: ada.count("while full xxx") == 1)
        until(is_ready(at), "ready when there is room again")


def test_it_is_not_ready_while_its_database_is_not_where_it_was(daemon: Daemon) -> None:
    daemon.start()
    at = address(daemon)
    until(is_ready(at), "ready")
    file, away = daemon.state / DATABASE_FILE, daemon.state / "away"
    os.rename(file, away)
    until(is_not_ready(at, "store", "not where it was"), "the store is gone")
    os.rename(away, file)
    until(is_ready(at), "the store is back")


def test_a_reload_moves_the_listener_and_is_counted(daemon: Daemon) -> None:
    daemon.start()
    before = address(daemon)
    assert daemon.process is not None
    written = daemon.config_file.read_text()
    daemon.config_file.write_text(written.replace("port = 0", 'port = 0\nhost = "localhost"'))
    os.kill(daemon.process.pid, signal.SIGHUP)
    until(lambda: "localhost" in str(listener(daemon).get("address")), "another address")
    at = address(daemon)
    assert samples(at)["frontdesk_reloads_total good"] == 1
    with pytest.raises(httpx.ConnectError):
        get(before, "/livez")
    daemon.config_file.write_text("[lissen]\n")
    os.kill(daemon.process.pid, signal.SIGHUP)
    until(lambda: samples(at)["frontdesk_reloads_total refused"] == 1, "the refusal is counted")
    assert samples(at)["frontdesk_last_reload_good"] == 0
    assert get(at, "/readyz").status_code == 200


@pytest.mark.parametrize(("config", "listens"), [(OFFLINE, False), (OFFLINE + "[listen]\nport = 0\n", True)])
def test_on_a_pipe_it_listens_only_if_the_config_says_where(tmp_path: Path, config: str, listens: bool) -> None:
    daemon = Daemon(tmp_path)
    daemon.config_file.write_text(config)
    plain = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    command = [*FRONTDESK, "run", "--config", str(daemon.config_file), "--state", str(daemon.state)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=plain, cwd=tmp_path) as running:
        until(lambda: daemon.status().get("ready") is True, "ready")
        assert ("listen" in daemon.status()) and (daemon.status()["listen"] is not None) is listens
        if listens:
            assert get(address(daemon), "/readyz").status_code == 200
        assert running.stdin is not None
        running.stdin.close()
        assert running.wait(30) == 0
