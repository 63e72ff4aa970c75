"""The finished daemon on Discord: direct chats, a server's channel, commands, a gap, and a token that shows nowhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crash.daemon import PATIENCE_S, Daemon
from tests.fakes.discord import Channel, GatewayRules, Guild, ThreadedDiscordServer, User


@dataclass
class World:
    server: ThreadedDiscordServer
    daemon: Daemon
    ada: User
    guild: Guild
    general: Channel

    def until(self, holds: Callable[[], bool]) -> None:
        try:
            self.server.until(holds, timeout_s=PATIENCE_S)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; the daemon says: {self.daemon.log[-3000:]}") from None


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    rules = GatewayRules(identify_every_s=0.0)
    with ThreadedDiscordServer(gateway=rules) as server:
        ada = server.person("ada")
        guild = server.guild("Team", [ada])
        general = server.channel(guild, "general")
        bot: dict[str, object] = {"platform": "discord", "token": "file:discord.token", "api_base": server.api_base}
        bot["groups"] = [str(guild.id)]
        bot_part = "".join(f"{key} = {json.dumps(value)}\n" for key, value in bot.items())
        config = (
            f'[access]\ndirect = "open"\n[session.reset]\nmode = "none"\n'
            f'[agents.default]\nbackend = "offline"\n[bots.discord]\n{bot_part}'
        )
        with Daemon(tmp_path, config=config) as daemon:
            (tmp_path / "discord.token").write_text(server.token)
            daemon.start()
            yield World(server, daemon, ada, guild, general)
            daemon.terminate()
            assert daemon.wait_exit() == 0
            assert server.token not in daemon.everything_written
            kept = [path.read_bytes() for path in daemon.state.rglob("*") if path.is_file()]
            assert not any(server.token.encode() in content for content in kept)
        assert server.problems == ()


def test_people_are_answered_in_private_and_in_a_listed_server(world: World) -> None:
    server, direct = world.server, world.server.dm(world.ada)
    world.until(server.connected)
    server.say(direct, world.ada, "hello in private")
    world.until(lambda: any("hello in private" in text for text in server.texts(direct)))
    question = server.say(world.general, world.ada, f"<@{server.bot.id}> hello all")
    world.until(lambda: any("hello all" in text for text in server.texts(world.general)))
    assert server.sent(world.general)[0].reply_to == question.id
    world.until(lambda: bool(server.commands()))
    used = server.command(world.ada, world.general, "status")
    world.until(lambda: any(one.content for one in server.whispers(world.ada)))
    assert used.acknowledged
    before = len(server.sent(direct))
    asked = server.command(world.ada, direct, "status")
    world.until(lambda: bool(server.sent(direct)[before:]) and bool(server.sent(direct)[-1].content))
    assert [one.interaction_id for one in server.sent(direct)[before:]] == [asked.id]  # in the waiting sign's place


def test_what_was_said_while_the_daemon_was_dead_is_answered_once(world: World) -> None:
    server, direct = world.server, world.server.dm(world.ada)
    world.until(server.connected)
    server.say(direct, world.ada, "one")
    world.until(lambda: len(server.texts(direct)) == 1)
    world.daemon.kill()
    for text in ("two", "three"):
        server.say(direct, world.ada, text)
    world.daemon.start()
    world.until(lambda: any("three" in text for text in server.texts(direct)))
    shown = server.texts(direct)
    assert sum("one" in text for text in shown) == 1
    assert any("two" in text for text in shown)


@pytest.mark.parametrize("name", ["status", "reset"])
def test_a_command_whose_answer_a_kill_prevents_is_answered_where_its_sign_stands(world: World, name: str) -> None:
    """For its asker alone, and for all."""
    server = world.server
    world.until(lambda: server.connected() and bool(server.commands()))
    lost = server.hang("edit_response")
    used = server.command(world.ada, world.general, name)
    world.until(lambda: lost.hits == 1)
    world.daemon.kill()
    server.clear_faults()
    world.daemon.start()
    world.until(lambda: bool(used.original_id) and bool(server.message(used.original_id or 0).content))
    assert [one.id for one in server.sent()] == [used.original_id]
