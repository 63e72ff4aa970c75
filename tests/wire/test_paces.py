"""The desk before a real bot and a platform that keeps to its limits, all by one clock: no limit is reached.

Discord's library waits by itself before a limit that Discord has announced, by the machine's clock: here that makes it
call too early.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from bots.discord import outbound as discord
from bots.discord.bot import DiscordBot
from bots.slack import outbound as slack
from bots.slack.bot import SlackBot
from core.agents.agent import AgentEvent, TurnContext
from core.ports import Bot, CanEdit
from core.vocabulary import Capabilities, ChatId, ChatKind, Delivery, MessageId, Pace, TextDelta
from tests.clock import NEW_YEAR, PATIENCE_S
from tests.contract.doubles import NoChance, RecordingDesk, running
from tests.drivers import discord as discord_driver
from tests.drivers import slack as slack_driver
from tests.fakes.discord import DiscordServer, GatewayRules
from tests.fakes.discord.limits import RateLimits
from tests.fakes.slack.server import SlackServer
from tests.flow.bot import GrowingBot
from tests.flow.house import House, opened
from tests.wire.discord_world import World

WORDS, WORD_S = 300, 0.15
QUESTIONS = 12


class Through(GrowingBot):
    """The desk's bot: what it sends, the real one sends, to one place for all."""

    def __init__(self, capabilities: Capabilities) -> None:
        super().__init__(capabilities=capabilities)
        self.real: Bot
        self.place: ChatId
        self._busy = 0
        self._rested = asyncio.Event()

    def parts(self, text: str) -> tuple[str, ...]:
        return self.real.parts(text)

    async def _call(self, verb: str, delivery: Delivery, message: MessageId | None) -> MessageId:
        self.calls.append((verb, delivery.address.chat, delivery.text))
        self._busy += 1
        try:
            there = replace(delivery.address, chat=self.place)
            return await self._hand_on(replace(delivery, address=there), message)
        finally:
            self._busy -= 1
            self._rested.set()

    async def _hand_on(self, delivery: Delivery, message: MessageId | None) -> MessageId:
        if message is None:
            return await self.real.send(delivery)
        assert isinstance(self.real, CanEdit)
        await self.real.edit(delivery, message)
        return message

    async def at_rest(self, idle: Callable[[], Awaitable[None]]) -> None:
        """Nothing moves, here or on the way to the platform."""
        async with asyncio.timeout(PATIENCE_S):
            await idle()
            while self._busy:
                self._rested.clear()
                await self._rested.wait()
                await idle()


@asynccontextmanager
async def housed(state: Path, capabilities: Capabilities) -> AsyncIterator[tuple[House, Through]]:
    through = Through(capabilities)
    async with opened(state, {}, through) as house:
        house.clock.settle = lambda: through.at_rest(house.idle)
        yield house, through


@asynccontextmanager
async def on_discord(state: Path) -> AsyncIterator[tuple[House, Through]]:
    async with (
        housed(state, discord.CAPABILITIES) as (house, through),
        DiscordServer(clock=house.clock.monotonic, gateway=GatewayRules(identify_every_s=0.0)) as server,
    ):
        world = World(server)
        through.real = bot = DiscordBot(
            discord_driver.NAME, settings=discord_driver.settings_for(server), clock=house.clock, random=NoChance()
        )
        through.place = ChatId(str(world.channel.id))
        async with at_work(bot):
            yield house, through
        assert server.problems == ()


@asynccontextmanager
async def on_slack(state: Path) -> AsyncIterator[tuple[House, Through]]:
    async with (
        housed(state, slack.CAPABILITIES) as (house, through),
        SlackServer(clock=lambda: NEW_YEAR.timestamp() + house.clock.monotonic()) as server,
    ):
        channel = server.channel("general", members=[server.person("Ada")])
        through.real = bot = SlackBot(
            slack_driver.NAME, settings=slack_driver.settings_for(server), clock=house.clock, random=NoChance()
        )
        through.place = ChatId(channel.id)
        async with at_work(bot):
            yield house, through
        assert server.problems == ()


@asynccontextmanager
async def at_work(bot: Bot) -> AsyncIterator[None]:
    desk = RecordingDesk()
    async with running(bot, desk):
        await desk.until(lambda: desk.health.last == "up")
        yield


Opened = Callable[[Path], AbstractAsyncContextManager[tuple[House, Through]]]


@pytest.mark.parametrize("kind", [ChatKind.DIRECT, ChatKind.GROUP])
@pytest.mark.parametrize("platform", [on_discord, on_slack])
async def test_a_long_answer_grows_within_the_limits(platform: Opened, kind: ChatKind, sqlite_state: Path) -> None:
    async with platform(sqlite_state) as (house, through):

        async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
            for word in range(WORDS):
                yield TextDelta(text=f"{word} ")
                await house.clock.sleep(WORD_S)

        house.stage.on("grow", script)
        await (house.say if kind is ChatKind.DIRECT else house.say_in_group)("grow")
        await house.advance(WORDS * WORD_S + 5.0)
    verbs = [verb for verb, _, _ in through.calls]
    assert verbs[0] == "send"
    assert verbs.count("edit") > 30
    assert through.calls[-1][2].rstrip().endswith(f"{WORDS - 1}")


@pytest.mark.parametrize("kind", [ChatKind.DIRECT, ChatKind.GROUP])
async def test_many_answers_in_one_place_go_out_within_slack_s_limit(kind: ChatKind, sqlite_state: Path) -> None:
    async with on_slack(sqlite_state) as (house, through):
        say = house.say if kind is ChatKind.DIRECT else house.say_in_group
        for number in range(QUESTIONS):
            await say(f"question {number}", user=f"{100 + number}", chat="-100")
        await house.advance(2.0 * QUESTIONS)
    assert [verb for verb, _, _ in through.calls] == ["send"] * QUESTIONS


@pytest.mark.parametrize("pace", ["direct_pace", "group_pace"])
def test_what_goes_on_is_sent_no_faster_than_discord_lets_it(pace: str) -> None:
    """Its library waits out what a burst takes too much."""
    made = getattr(discord.CAPABILITIES, pace)
    assert isinstance(made, Pace)
    most, within_s = RateLimits().routes["create_message"]
    assert made.burst < most
    assert made.interval_s * most >= within_s
