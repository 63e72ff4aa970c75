"""The finished daemon while its PostgreSQL stops, dies and comes back."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.daemon import Daemon, until
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.daemon_world import crash_agent, desk, person, telegram_bot, wait_for

OPEN = '[listen]\nport = 0\n[access]\ndirect = "open"\n'


class Cluster:
    """A PostgreSQL of our own, which may be restarted without harm to anybody."""

    def __init__(self, tools: Path, home: Path, user: str | None) -> None:
        self._tools = tools
        self._home = home
        self._user = user
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/postgres"

    def make(self) -> None:
        self._run("initdb", "--auth=trust", "--username=postgres", "--no-sync", f"--pgdata={self._home}")

    def start(self) -> None:
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        self._run(
            "pg_ctl", f"--pgdata={self._home}", "--wait", f"--log={self._home}/log", f"--options={options}", "start"
        )

    def stop(self, mode: str) -> None:
        self._run("pg_ctl", f"--pgdata={self._home}", f"--mode={mode}", "--wait", "stop")

    def _run(self, tool: str, *arguments: str) -> None:
        command = [str(self._tools / tool), *arguments]
        if self._user is not None:
            command = ["runuser", "-u", self._user, "--", *command]
        subprocess.run(command, check=True, capture_output=True, timeout=60, cwd="/")


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """PostgreSQL refuses to run as root, so that it gets the user whom its package brings."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        words = "no initdb: install PostgreSQL's server programs (Debian: apt-get install postgresql)"
        if os.environ.get("CI") == "true":
            pytest.fail(words)
        pytest.skip(words)
    home = Path(subprocess.run(["mktemp", "-d"], check=True, capture_output=True, text=True).stdout.strip())
    user = None
    if os.geteuid() == 0:
        user = "postgres"
        owner = pwd.getpwnam(user)
        os.chown(home, owner.pw_uid, owner.pw_gid)
    made = Cluster(found[-1].parent if found else Path(str(on_path)).parent, home, user)
    try:
        made.make()
        made.start()
        yield made
    finally:
        made.stop("immediate")
        shutil.rmtree(home)


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer(limits=None) as made:
        yield made


@pytest.fixture
def daemon(server: ThreadedTelegramServer, cluster: Cluster, tmp_path: Path) -> Iterator[Daemon]:
    store = f'[store]\nurl = "{cluster.url}"\n'
    made = desk(tmp_path, [("telegram", server)], OPEN + store + crash_agent(tmp_path) + telegram_bot(server))
    made.url = cluster.url
    with made:
        yield made


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_database_that_is_restarted_costs_no_message_and_no_restart_of_ours(
    server: ThreadedTelegramServer, daemon: Daemon, cluster: Cluster, mode: str
) -> None:
    process = daemon.start()
    daemon.until_bot("up")
    talks = [person(server, name) for name in ("Ada", "Grace", "Edsger")]
    marks = [(talk, talk.say("fast")) for talk in talks]
    for _ in range(3):
        marks += [(talk, talk.say("slow")) for talk in talks]
        cluster.stop(mode)
        marks += [(talk, talk.say("fast")) for talk in talks]
        cluster.start()
    wait_for(server, daemon, lambda: all(talk.answers(mark) == 1 for talk, mark in marks))
    assert daemon.lives
    assert daemon.process is process
    for talk, mark in marks:
        assert talk.answers(mark) == 1
    until(lambda: daemon.status().get("inbox") == {"pending": 0}, "nothing waits")
    assert daemon.bot()["state"] == "up"


def test_a_database_that_is_gone_for_long_is_told_of_and_what_was_said_meanwhile_is_answered(
    server: ThreadedTelegramServer, daemon: Daemon, cluster: Cluster
) -> None:
    daemon.start()
    talk = person(server)
    mark = talk.say("fast")
    wait_for(server, daemon, lambda: talk.answers(mark) == 1)
    cluster.stop("fast")
    late = talk.say("fast")
    daemon.until_logged("the store takes no messages")
    refused = daemon.call("status")
    assert refused.returncode == 1
    assert "PostgreSQL can't be reached" in refused.stderr
    assert "Traceback" not in refused.stderr
    cluster.start()
    wait_for(server, daemon, lambda: talk.answers(late) == 1)
    assert len(talk.texts) == 2
    daemon.until_bot("up")
