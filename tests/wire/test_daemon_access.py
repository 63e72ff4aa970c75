"""Who may talk to the finished daemon, from a token in the environment to the first owner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.crash.daemon import Daemon, until
from tests.crash.scene import Talk, open_work
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.daemon_world import OFFLINE, desk, no_secret_shown, person, telegram_bot, wait_for

TOKENS = {
    name: f"712345678{number}:AA-{name}-loopback_test_token" for number, name in enumerate(("allow", "off", "open"))
}


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made
        assert made.violations == ()


def heard(daemon: Daemon, talk: Talk, words: str) -> str:
    """The bot's last message, once it holds these words."""
    wait_for(talk.server, daemon, lambda: bool(talk.texts) and words in talk.texts[-1])
    return talk.texts[-1]


def test_a_token_in_the_environment_is_enough_and_strangers_come_in_by_code(
    server: ThreadedTelegramServer, tmp_path: Path
) -> None:
    """Started by TELEGRAM_BOT_TOKEN; the config only says where Telegram is."""
    config = f'[bots.telegram]\napi_base = "{server.url}"\n'
    daemon = Daemon(tmp_path, config=config, environ={"TELEGRAM_BOT_TOKEN": server.token})
    with daemon, no_secret_shown(daemon, server):
        daemon.start()
        ada, bo = person(server, "Ada"), person(server, "Bo")
        assert let_in(daemon, ada, "--yes") == "owner"
        assert let_in(daemon, bo) == "user"
        again = daemon.call("people", "approve", "NOSUCH99")
        assert (again.returncode, again.stdout) == (1, "")
        assert "no code 'NOSUCH99' waits" in again.stderr
        found = daemon.json("people", "list")
        assert isinstance(found, dict)
        assert {one["name"]: one["role"] for one in found["people"]} == {"Ada": "owner", "Bo": "user"}
        assert [one["identities"] for one in found["people"]] == [[f"telegram:{t.user.id}"] for t in (ada, bo)]
        assert found["pending"] == []


def let_in(daemon: Daemon, talk: Talk, *options: str) -> str:
    """A stranger asks, is approved with the words from the chat, and is answered; the role."""
    talk.type("a secret of a stranger")
    told = heard(daemon, talk, "I don't know you yet.")
    talk.type("hello?")
    [code] = re.findall(r"frontdesk people approve (\S+)$", told)
    if options:
        refused = daemon.call("people", "approve", code.lower())
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "becomes the OWNER" in refused.stderr
    approved = daemon.call("people", "approve", code.lower(), *options)
    assert approved.returncode == 0, approved.stderr
    assert f"telegram:{talk.user.id}" in approved.stderr
    heard(daemon, talk, "Welcome.")
    talk.type("good morning")
    assert "Message 1 of session" in heard(daemon, talk, "good morning")
    assert len(talk.texts) == 3, "a stranger is told a code once"
    assert "secret of a stranger" not in str(daemon.json("sessions", "show", f"telegram/dm/{talk.chat.id}"))
    return approved.stdout.strip().rpartition(": ")[2]


def test_each_bot_has_its_own_door(tmp_path: Path) -> None:
    with ExitStack() as stack:
        servers = {name: stack.enter_context(ThreadedTelegramServer(token=token)) for name, token in TOKENS.items()}
        known = person(servers["allow"], "Known")
        config = f'[access]\nallow = ["telegram:{known.user.id}"]\n' + OFFLINE
        for name, server in servers.items():
            config += telegram_bot(server, name, direct=name)
        daemon = desk(tmp_path, list(servers.items()), config)
        stack.enter_context(daemon)
        stack.enter_context(no_secret_shown(daemon, *servers.values()))
        daemon.start()
        strangers = {name: person(server, "Stranger") for name, server in servers.items()}
        for talk in (known, *strangers.values()):
            talk.type("let me in")
        heard(daemon, known, "let me in")
        heard(daemon, strangers["open"], "let me in")
        for server in servers.values():
            wait_for(server, daemon, lambda server=server: not server.unconfirmed)  # type: ignore[misc]
        until(lambda: nothing_open(daemon), "nothing is open")
        assert strangers["allow"].texts == strangers["off"].texts == ()
        assert all(server.violations == () for server in servers.values())


def nothing_open(daemon: Daemon) -> bool:
    with daemon.reading() as tx:
        return open_work(tx) == 0
