"""The installed service while all is well: how it starts, what it may touch, what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.crash.scene import Talk
from tests.fakes.telegram import ThreadedTelegramServer
from tests.service.desk import OFFLINE, OPEN, STATE, Desk, telegram_bot
from tests.wire.daemon_world import person

"""https://systemd.io/UIDS-GIDS/"""


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made
        assert made.violations == ()


@pytest.fixture
def running(desk: Desk, server: ThreadedTelegramServer) -> Desk:
    """With one bot, whose token is a credential; everybody may write to it, and is echoed."""
    desk.configure(OPEN + OFFLINE + telegram_bot(server), {"telegram": server.token})
    desk.start()
    return desk


def answered(talk: Talk, desk: Desk, words: str) -> None:
    talk.type(words)
    desk.until(lambda: talk.count(words) == 1, f"{words} is answered")


def test_start_returns_when_it_is_ready_and_says_what_runs(desk: Desk) -> None:
    desk.configure(OFFLINE)
    desk.start()
    assert json.loads(desk.call("status", "--json").stdout)["ready"] is True
    assert desk.systemctl("is-active", "frontdesk").stdout.strip() == "active"
    assert 'Status: "' in desk.systemctl("status", "frontdesk", "--no-pager").stdout
    assert "terminal" in desk.show("StatusText")
    assert (desk.show("Type"), desk.show("WatchdogUSec")) == ("notify", "30s")


def test_a_token_that_systemd_hands_over_serves_and_the_first_message_is_answered(
    running: Desk, server: ThreadedTelegramServer
) -> None:
    answered(person(server), running, "good morning")
    running.until_bot("up")


def test_the_state_is_its_own_user_s_and_nobody_else_s(running: Desk) -> None:
    state = running.machine.path(STATE).stat()
    assert str(state.st_uid) == running.machine.run("id", "-u", "frontdesk").stdout.strip() != "0"
    assert state.st_mode & 0o777 == 0o700
    for path in running.machine.path(STATE).rglob("*"):
        assert path.lstat().st_uid == state.st_uid, path
        assert path.lstat().st_mode & 0o077 == 0, path
    users = running.machine.run("sed", "-n", "s/^Uid://p", f"{running.proc}/status").stdout.split()
    assert set(users) == {str(state.st_uid)}


def test_s08_another_process_of_its_user_reads_neither_its_environment_nor_its_memory(running: Desk) -> None:
    """As a tool server would that the desk has started. The same process as that user, not guarded, can be read."""
    look = "for one in environ maps mem; do head -c 1 /proc/$1/$one >/dev/null 2>&1 && echo $one; done; true"
    as_service = ["setpriv", "--reuid=frontdesk", "--regid=frontdesk", "--clear-groups", "sh", "-c"]
    assert running.machine.run(*as_service, look, "sh", str(running.pid)).stdout.split() == []
    other = "sleep 60 & " + look.replace("$1", "$!") + "; kill $!"
    assert "environ" in running.machine.run(*as_service, other).stdout.split()


def test_the_journal_holds_json_lines_and_no_secret(running: Desk, server: ThreadedTelegramServer) -> None:
    answered(person(server), running, "good morning")
    running.stop()
    events = [json.loads(line) for line in running.lines]
    assert {"ready", "stopping"} <= {event["event"] for event in events}
    assert all(event["timestamp"] and event["level"] for event in events)
    secret = server.token.partition(":")[2]
    assert secret not in json.dumps(running.entries)
    assert secret not in running.systemctl("show", "frontdesk").stdout
    assert "good morning" not in json.dumps(running.entries)


def test_what_root_does_while_it_is_stopped_belongs_to_the_service(
    running: Desk, server: ThreadedTelegramServer
) -> None:
    """Verbs open the store by themselves then."""
    talk = person(server)
    answered(talk, running, "before")
    running.stop()
    owner = running.machine.path(STATE).stat().st_uid
    assert "telegram/dm/" in running.call("sessions", "list").stdout
    running.call("people", "list")
    running.call("db", "backup", "/root/desk.tar")
    assert running.machine.path("/root/desk.tar").stat().st_uid == 0
    running.call("db", "restore", "/root/desk.tar")
    assert {path.lstat().st_uid for path in running.machine.path(STATE).rglob("*")} == {owner}
    running.start()
    answered(talk, running, "after")


def test_a_store_that_root_put_back_by_hand_is_said_with_what_to_type(running: Desk) -> None:
    running.stop()
    running.machine.run("sh", "-c", f"cp {STATE}/frontdesk.db {STATE}/copy && mv {STATE}/copy {STATE}/frontdesk.db")
    said = running.call("sessions", "list", check=False).stderr
    [command] = re.findall(r"sudo (chown \d+ \S+)", said)
    running.machine.run("sh", "-c", command)
    running.start()


def test_it_can_write_nothing_but_its_state(running: Desk) -> None:
    """As the process sees the file systems, from inside its own namespaces."""
    mounts = running.machine.path(f"{running.proc}/mountinfo").read_text(encoding="utf-8").splitlines()
    writable = {line.split()[4] for line in mounts if line.split()[5].startswith("rw")}
    assert any(place.endswith("/frontdesk") for place in writable)
    assert not writable & {"/", "/etc", "/usr", "/opt", "/home", "/root", "/var"}
    assert running.show("NoNewPrivileges") == "yes"
