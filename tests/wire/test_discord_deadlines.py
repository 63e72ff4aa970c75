"""Discord's deadlines for what people do with commands: three seconds to acknowledge, fifteen minutes to answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import pytest
from msgspec.structs import replace

from core.vocabulary import DeliveryId
from tests.clock import PATIENCE_S, LeapingLoop, ManualClock
from tests.contract.doubles import running
from tests.fakes.discord import DiscordServer, GatewayRules, Interaction
from tests.wire.discord_world import DiscordDesk, World, serving

ANSWER_S: Final = 3.0
"""https://docs.discord.com/developers/interactions/receiving-and-responding#responding-to-an-interaction"""
LATEST_S: Final = 14 * 60.0
"""What takes so long may still be answered as what it is."""


class Timed(World):
    """Discord's clock stands still until a test moves it, and the bot's moves along."""

    def __init__(self, server: DiscordServer, platform: ManualClock) -> None:
        super().__init__(server)
        self._platform = platform

    def later(self, seconds: float) -> None:
        self._platform.advance(seconds)
        self.clock.advance(seconds)

    async def used(self, name: str) -> Interaction:
        await self.wait(lambda: bool(self.server.commands()))
        return self.server.command(self.ada, self.channel, name)


@pytest.fixture
async def discord() -> AsyncIterator[Timed]:
    platform = ManualClock()
    rules = GatewayRules(identify_every_s=0.0)
    async with DiscordServer(limits=None, clock=platform, gateway=rules) as server:
        made = Timed(server, platform)
        yield made
        assert server.problems == ()


async def slowly_stored(discord: Timed, desk: DiscordDesk, name: str, seconds: float) -> Interaction:
    """The desk's store takes so long; then it has it."""
    desk.open.clear()
    used = await discord.used(name)
    await desk.until(lambda: desk.waiting == 1)
    discord.later(seconds)
    desk.open.set()
    await desk.until(lambda: bool(desk.messages))
    return used


@pytest.mark.parametrize("name", ["reset", "status"])
async def test_what_is_stored_slowly_is_acknowledged_in_time(discord: Timed, name: str) -> None:
    """Though Discord answers nothing else meanwhile."""
    server = discord.server
    async with serving(discord) as (bot, desk):
        for route in ("typing", "get_messages", "get_message", "get_channel", "create_message"):
            server.hang(route, count=None)
        used = await slowly_stored(discord, desk, name, ANSWER_S - 0.1)
        await bot.send(discord.delivery(desk.messages[0], "done"))
        server.clear_faults()
    assert used.acknowledged_after_s == pytest.approx(ANSWER_S - 0.1)
    assert [one.interaction_id for one in server.sent() if one.content == "done"] == [used.id]


async def test_what_is_stored_too_slowly_is_answered_another_way(discord: Timed) -> None:
    """Discord refuses an acknowledgement after its seconds, so none is tried."""
    server = discord.server
    async with serving(discord) as (bot, desk):
        used = await slowly_stored(discord, desk, "reset", ANSWER_S + 0.1)
        await bot.send(discord.delivery(desk.messages[0], "late"))
    assert not used.acknowledged
    assert not server.calls_of("callback")
    assert server.texts(discord.channel) == ("late",)


async def test_what_waits_to_be_read_waits_within_the_three_seconds(discord: Timed) -> None:
    """A command, suggestions and a form, behind a store that has no time."""
    server = discord.server
    async with serving(discord) as (bot, desk):
        await discord.wait(lambda: bool(server.commands()))
        desk.open.clear()
        said = server.say(discord.dm, discord.ada, "hello")
        await desk.until(lambda: desk.waiting == 1)
        server.command(discord.ada, discord.channel, "reset")
        server.autocomplete(discord.ada, discord.channel, "resume", "n-title-id", "pl")
        server.use_message_menu(discord.ada, said, "Ask about this")
        beats = len(server.notes_of("heartbeat"))
        server.ask_heartbeat()  # answered once all that was said before has come
        await discord.wait(lambda: len(server.notes_of("heartbeat")) > beats)
        discord.later(ANSWER_S + 0.1)
        desk.open.set()
        await desk.until(lambda: len(desk.messages) == 2 and bool(desk.asked))
        await bot.send(discord.delivery(desk.messages[1], "late"))
    assert server.texts(discord.channel) == ("late",)
    assert not server.calls_of("callback")


async def test_an_acknowledgement_is_tried_again_within_its_time_only(discord: Timed) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        lost = server.hang("callback", count=None)
        await slowly_stored(discord, desk, "reset", ANSWER_S - 0.1)
        await discord.wait(lambda: lost.hits == 1)
        discord.later(0.2)
        lost.release()
        await bot.send(discord.delivery(desk.messages[0], "late"))
    assert server.texts(discord.channel) == ("late",)
    assert len(server.calls_of("callback")) == 1


@pytest.mark.parametrize("name", ["reset", "status"])
async def test_within_its_minutes_a_command_is_answered_as_such(discord: Timed, name: str) -> None:
    """The first word, a later one, and what that becomes; for all or for the asker."""
    server = discord.server
    async with serving(discord) as (bot, desk):
        used = await slowly_stored(discord, desk, name, 0.0)
        await bot.send(first := discord.delivery(desk.messages[0], "first"))
        discord.later(LATEST_S)
        later = replace(first, id=DeliveryId(first.id + 1), text="later")
        sent = await bot.send(later)
        await bot.edit(replace(later, text="later, and more"), sent)
    answers = [(one.content, one.interaction_id) for one in server.sent()]
    assert answers == [("first", used.id), ("later, and more", used.id)]
    assert not server.calls_of("create_message")


async def test_an_answer_waits_no_longer_for_its_acknowledgement_than_discord_would_take_it(
    discord: Timed, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = discord.server
    bot, desk = discord.patient(), DiscordDesk(discord.memory)
    loop = LeapingLoop(monkeypatch)
    async with running(bot, desk):
        await desk.until(lambda: desk.health.last == "up")
        server.hang("callback", count=None)
        await slowly_stored(discord, desk, "reset", 0.0)
        await discord.wait(lambda: len(server.calls_of("callback")) == 1)
        sending = asyncio.create_task(bot.send(discord.delivery(desk.messages[0], "here all the same")))
        await asyncio.sleep(0)
        loop.leap(2 * ANSWER_S)
        async with asyncio.timeout(PATIENCE_S):
            await sending
        server.clear_faults()
    assert server.texts(discord.channel) == ("here all the same",)
