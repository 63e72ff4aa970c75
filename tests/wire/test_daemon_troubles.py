"""The finished daemon while Telegram, the network or another process is in its way."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.crash.daemon import Daemon, until
from tests.crash.scene import UNKNOWN, Talk
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.daemon_world import crash_agent, desk, no_secret_shown, person, telegram_bot, wait_for

IMPATIENT = (sys.executable, "-m", "tests.wire.impatient")
OPEN = '[access]\ndirect = "open"\n'


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made
        assert made.violations == ()


@pytest.fixture
def daemon(server: ThreadedTelegramServer, tmp_path: Path) -> Iterator[Daemon]:
    made = desk(tmp_path, [("telegram", server)], OPEN + crash_agent(tmp_path) + telegram_bot(server))
    with made, no_secret_shown(made, server):
        yield made


def asked(daemon: Daemon, talk: Talk) -> None:
    """A message is answered, once."""
    answered(daemon, talk, talk.say("fast"))


def answered(daemon: Daemon, talk: Talk, mark: str) -> None:
    wait_for(talk.server, daemon, lambda: talk.answers(mark) == 1)


# -- the network


def test_c36_what_was_said_while_the_network_was_gone_is_answered_when_it_is_back(
    server: ThreadedTelegramServer, daemon: Daemon
) -> None:
    talk = person(server)
    daemon.start()
    daemon.until_bot("up")
    server.pause()
    daemon.until_bot("degraded")
    until(lambda: "can't be reached" in str(daemon.bot()["detail"]), "says what is wrong")
    mark = talk.say("fast")
    server.resume()
    answered(daemon, talk, mark)
    daemon.until_bot("up")


def test_an_answer_that_could_not_leave_leaves_when_the_network_is_back(
    server: ThreadedTelegramServer, daemon: Daemon
) -> None:
    talk = person(server)
    daemon.start()
    mark = talk.say("slow")
    wait_for(server, daemon, lambda: not server.unconfirmed)
    server.pause()
    daemon.until_bot("degraded")
    server.resume()
    answered(daemon, talk, mark)
    assert len(talk.texts) == 1 or UNKNOWN in talk.texts


def test_a_half_open_connection_is_given_up_and_the_bot_goes_on(server: ThreadedTelegramServer, daemon: Daemon) -> None:
    """With a shorter patience than the product's 35 s; the connection itself is never closed."""
    talk = person(server)
    silent = server.hang("getUpdates", after=2)
    daemon.start(*IMPATIENT)
    wait_for(server, daemon, lambda: silent.hits == 1)
    asked(daemon, talk)
    daemon.until_bot("up")


def test_errors_of_the_platform_are_sat_out(server: ThreadedTelegramServer, daemon: Daemon) -> None:
    talk = person(server)
    daemon.start()
    daemon.until_bot("up")
    server.answer("getUpdates", 502, b"<html>Bad Gateway</html>")
    server.answer("getUpdates", 200, b"<html>Welcome to the hotel's network</html>")
    asked(daemon, talk)
    daemon.until_bot("up")


def test_a_send_without_a_clear_answer_is_told_once(server: ThreadedTelegramServer, daemon: Daemon) -> None:
    """Sent again it could be there twice."""
    talk = person(server)
    daemon.start()
    server.answer("sendMessage", 502, b"<html>Bad Gateway</html>")
    lost = talk.say("fast")
    wait_for(server, daemon, lambda: UNKNOWN in talk.texts)
    asked(daemon, talk)
    assert talk.answers(lost) == 0
    assert talk.count(UNKNOWN) == 1
    talk.type("/again")
    answered(daemon, talk, lost)


# -- the account


def test_another_poller_is_named_and_outlived(server: ThreadedTelegramServer, daemon: Daemon) -> None:
    talk = person(server)
    daemon.start()
    daemon.until_bot("up")
    wait_for(server, daemon, lambda: server.polling)
    with urllib.request.urlopen(f"{server.url}/bot{server.token}/getUpdates?timeout=0") as other:
        assert other.status == 200
    assert "another process polls this bot" in str(daemon.until_bot("degraded")["detail"])
    mark = talk.say("fast")
    answered(daemon, talk, mark)
    daemon.until_bot("up")


def test_c37_a_refused_token_fails_its_bot_with_words_and_no_other(tmp_path: Path) -> None:
    """At the start, and while it runs."""
    with ExitStack() as stack:
        tokens = {name: f"712345678{number}:AA-{name}-token" for number, name in enumerate(("wrong", "later", "good"))}
        servers = {name: stack.enter_context(ThreadedTelegramServer(token=token)) for name, token in tokens.items()}
        bots = "".join(telegram_bot(server, name) for name, server in servers.items())
        daemon = desk(tmp_path, list(servers.items()), OPEN + crash_agent(tmp_path) + bots)
        servers["wrong"].revoke()
        stack.enter_context(daemon)
        stack.enter_context(no_secret_shown(daemon, *servers.values()))
        daemon.start()
        refused = daemon.until_bot("failed", "wrong")
        assert "refuses the bot's token" in str(refused["detail"])
        good, later = person(servers["good"]), person(servers["later"])
        asked(daemon, good)
        asked(daemon, later)
        servers["later"].revoke()
        assert "BotFather" in str(daemon.until_bot("failed", "later")["detail"])
        asked(daemon, good)
        assert daemon.bot("good")["state"] == "up"
        shown = daemon.call("status")
        assert shown.returncode == 0
        bots, _, errors = shown.stdout.partition("Last errors:")
        assert bots.count("Telegram refuses the bot's token: set a valid one") == 2
        assert errors.count("bot_failed: bot later") == 1
        assert servers["good"].violations == ()
