"""The finished daemon with two Slack apps of one workspace."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crash.daemon import FRONTDESK, PATIENCE_S, Daemon
from tests.drivers.slack import shown
from tests.fakes.slack import Channel, Person, ThreadedSlackServer
from tests.fakes.slack.model import Bot

HOMELESS = """
import os, sys
del os.environ["HOME"]
sys.modules["pwd"] = None  # as if the machine's list had no such user
from core.cli.app import main
main()
"""


@dataclass
class World:
    server: ThreadedSlackServer
    daemon: Daemon
    ada: Person
    first: Bot
    second: Bot

    def until(self, holds: Callable[[], bool]) -> None:
        try:
            self.server.until(holds, timeout_s=PATIENCE_S)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; the daemon says: {self.daemon.log[-3000:]}") from None

    def said(self, channel: Channel, bot: Bot) -> list[str]:
        return [shown(one) for one in self.server.from_bot(channel, bot=bot)]


def table(name: str, bot: Bot, server: ThreadedSlackServer) -> str:
    told = {"platform": "slack", "bot_token": bot.token, "app_token": bot.app_token}
    told["api_base"] = server.api_base.rstrip("/")
    return f"[bots.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in told.items())


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ThreadedSlackServer(limits=None) as server:
        first, second = server.bot, server.add_bot("second")
        ada = server.person("Ada")
        config = (
            '[access]\ndirect = "open"\n[session.reset]\nmode = "none"\n[agents.default]\nbackend = "offline"\n'
            f"{table('first', first, server)}{table('second', second, server)}"
        )
        with Daemon(tmp_path, config=config) as daemon:
            daemon.start()
            for name in ("first", "second"):
                daemon.until_bot("up", name)
            yield World(server, daemon, ada, first, second)
            daemon.terminate()
            assert daemon.wait_exit() == 0
        assert server.problems == ()


def asked(world: World, bot: Bot, text: str) -> str:
    """What this bot answers in its own direct chat."""
    place = world.server.im(world.ada, bot)
    world.server.say(place, world.ada, text)
    world.until(lambda: bool(world.said(place, bot)))
    return world.said(place, bot)[0]


def test_each_answers_what_was_said_to_it(world: World) -> None:
    """In its own name, in a session of its own."""
    for bot, text in ((world.first, "to the first"), (world.second, "to the second")):
        answer = asked(world, bot, text)
        assert text in answer
        assert "Message 1 of session" in answer
    accounts = {str(world.daemon.bot(name)["account"]) for name in ("first", "second")}
    assert accounts == {f"{world.server.team.id}/{bot.user_id}" for bot in (world.first, world.second)}


@pytest.mark.parametrize("command", [FRONTDESK, (sys.executable, "-c", HOMELESS)], ids=["home", "homeless"])
def test_it_needs_no_home_directory_and_slacks_variables_bring_nothing_there(
    command: Sequence[str], tmp_path: Path
) -> None:
    """With these, Bolt has an OAuth flow that keeps its files in the home directory."""
    (home := tmp_path / "home").mkdir()
    variables = ("BOT_TOKEN", "SIGNING_SECRET", "VERIFICATION_TOKEN", "CLIENT_ID", "CLIENT_SECRET", "SCOPES")
    with ThreadedSlackServer(limits=None) as server:
        config = (
            f'[access]\ndirect = "open"\n[agents.default]\nbackend = "offline"\n{table("slack", server.bot, server)}'
        )
        daemon = Daemon(tmp_path / "desk", config=config, environ={f"SLACK_{one}": "another" for one in variables})
        daemon.environ = {**daemon.environ, "HOME": str(home)}
        with daemon:
            daemon.start(*command)
            daemon.until_bot("up", "slack")
            ada = server.person("Ada")
            world = World(server, daemon, ada, server.bot, server.bot)
            assert "hello" in asked(world, server.bot, "hello")
            daemon.terminate()
            assert daemon.wait_exit() == 0
        assert server.problems == ()
    assert [*home.iterdir(), *daemon.home.rglob(".*")] == []
