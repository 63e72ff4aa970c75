"""How the bot keeps its connection: resumed, begun anew, given up, and never in a hurry."""

from __future__ import annotations

import asyncio

import pytest

from bots.discord.bot import DiscordBot
from bots.discord.sdk import Route
from core.errors import BotRejected
from tests.clock import PATIENCE_S, LeapingLoop
from tests.contract.doubles import NoChance, running
from tests.drivers.discord import NAME, settings_for
from tests.fakes.discord import DiscordServer, GatewayRules
from tests.wire.discord_world import DiscordDesk, World, serving, world


async def test_only_the_intents_that_are_needed_are_asked_for(discord: World) -> None:
    async with serving(discord):
        [account] = discord.server.platform.accounts
        assert [session.intents for session in account.sessions] == [37377]


async def test_a_lost_connection_is_resumed_after_a_wait_and_nothing_is_lost(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (_, desk):
        server.kick(None)
        wait_s = await discord.clock.asleep(1)
        assert 0.5 <= wait_s <= 1.0
        assert "gateway" in desk.health.last
        server.say(discord.dm, discord.ada, "meanwhile")
        discord.clock.advance(wait_s)
        await desk.until(lambda: len(desk.messages) == 1 and desk.health.last == "up")
    assert len(server.notes_of("identified")) == 1
    assert len(server.notes_of("resumed")) == 1
    assert desk.messages[0].text == "meanwhile"
    assert not server.calls_of("get_messages")


@pytest.mark.parametrize("resumable", [True, False])
async def test_discord_may_ask_for_a_new_connection_or_session(discord: World, resumable: bool) -> None:
    server = discord.server
    async with serving(discord) as (_, desk):
        if resumable:
            server.reconnect()
        else:
            server.invalidate()
        discord.clock.advance(await discord.clock.asleep(1))
        if not resumable:  # five seconds between two sessions
            discord.clock.advance(await discord.clock.asleep(2))
        await desk.until(lambda: desk.health.last == "up")
        server.say(discord.dm, discord.ada, "hello again")
        await desk.until(lambda: len(desk.messages) == 1)
    assert len(server.notes_of("identified")) == (1 if resumable else 2)


async def test_a_gateway_that_closes_after_its_greeting_is_not_hurried(discord: World) -> None:
    """Resumable closings make the library alone connect hundreds of times a second."""
    server, clock = discord.server, discord.clock
    async with serving(discord) as (_, desk):
        before = len(server.notes_of("connected"))
        server.close_after_hello(4000, times=8)
        server.kick(4000)
        waits = []
        for attempt in range(1, 10):
            waits.append(await clock.asleep(attempt))
            assert len(server.notes_of("connected")) - before == attempt - 1
            clock.advance(waits[-1])
        await desk.until(lambda: desk.health.last == "up")
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


async def test_a_gateway_that_answers_no_heartbeat_is_left(discord: World) -> None:
    server = discord.server
    server.rules.heartbeat_ms = 200
    async with serving(discord) as (_, desk):
        server.rules.acknowledges = False
        wait_s = await discord.clock.asleep(1)
        assert "heartbeat" in desk.health.last
        server.rules.acknowledges = True
        discord.clock.advance(wait_s)
        await desk.until(lambda: desk.health.last == "up")
    assert len(server.notes_of("resumed")) == 1


async def test_that_is_noticed_some_seconds_after_two_heartbeats(
    discord: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = discord.server
    server.rules.heartbeat_ms = 200
    bot = DiscordBot(NAME, settings=settings_for(server), clock=discord.clock, random=NoChance())
    desk, loop = DiscordDesk(discord.memory), LeapingLoop(monkeypatch)
    async with running(bot, desk):
        await desk.until(lambda: desk.health.last == "up")
        server.rules.acknowledges = False
        loop.leap(10.0)
        await discord.clock.asleep(1)
        assert "heartbeat" in desk.health.last


async def test_a_gateway_that_never_greets_is_tried_again(discord: World) -> None:
    server = discord.server
    server.rules.answers_hello = False
    bot, desk = discord.bot(), DiscordDesk()
    async with running(bot, desk):
        wait_s = await discord.clock.asleep(1)
        server.rules.answers_hello = True
        discord.clock.advance(wait_s)
        discord.clock.advance(await discord.clock.asleep(2))
        await desk.until(lambda: desk.health.last == "up")


@pytest.mark.parametrize(
    ("code", "words"),
    [(4004, "token"), (4012, "update"), (4013, "intents"), (4014, "Message Content Intent")],
)
async def test_what_no_waiting_mends_ends_the_bot_with_words(discord: World, code: int, words: str) -> None:
    desk = DiscordDesk()
    running_bot = asyncio.create_task(discord.bot().run(desk))
    await desk.until(lambda: desk.health.last == "up")
    discord.server.kick(code)
    with pytest.raises(BotRejected, match=words) as caught:
        await asyncio.wait_for(running_bot, PATIENCE_S)
    assert discord.server.token not in str(caught.value)


async def test_a_missing_intent_names_the_switch() -> None:
    async with DiscordServer(limits=None) as server:
        server.enable(server.bot, 0)
        with pytest.raises(BotRejected, match="switch on Message Content Intent"):
            await asyncio.wait_for(World(server).bot().run(DiscordDesk()), PATIENCE_S)


async def test_a_wrong_token_ends_the_bot_before_it_listens(discord: World) -> None:
    bot = discord.bot()
    discord.server.revoke(discord.server.bot)
    with pytest.raises(BotRejected, match="token"):
        await asyncio.wait_for(bot.run(DiscordDesk()), PATIENCE_S)
    assert not discord.server.notes_of("connected")


async def test_each_recommended_shard_has_a_session_five_seconds_after_the_one_before() -> None:
    async with DiscordServer(limits=None, gateway=GatewayRules(shards=2, identify_every_s=0.0)) as server:
        discord = World(server)
        bot, desk = discord.bot(), DiscordDesk()
        async with running(bot, desk):
            wait_s = await discord.clock.asleep(1)
            await server.until(lambda: len(server.notes_of("identified")) == 1)
            assert desk.health.last != "up"
            assert wait_s >= 5.0
            discord.clock.advance(wait_s)
            await desk.until(lambda: desk.health.last == "up")
            server.say(discord.dm, discord.ada, "first shard")
            server.say(discord.channel, discord.ada, "some shard")
            await desk.until(lambda: len(desk.messages) == 2)
            [account] = server.platform.accounts
            assert sorted(session.shard for session in account.sessions) == [(0, 2), (1, 2)]
        assert server.problems == ()


async def test_a_day_without_sessions_is_sat_out(discord: World) -> None:
    server = discord.server
    server.rules.starts_left = 0
    bot, desk = discord.bot(), DiscordDesk()
    async with running(bot, desk):
        wait_s = await discord.clock.asleep(1)
        assert wait_s == 14_400
        assert "no more sessions" in desk.health.last
        assert not server.notes_of("connected")
        server.rules.starts_left = 10
        discord.clock.advance(wait_s)
        await desk.until(lambda: desk.health.last == "up")


async def test_an_api_that_is_away_at_the_start_is_waited_for(discord: World) -> None:
    bot, desk = discord.bot(), DiscordDesk()
    await discord.server.pause()
    async with running(bot, desk):
        discord.clock.advance(await discord.clock.asleep(1))
        wait_s = await discord.clock.asleep(2)
        assert "can't be reached" in desk.health.last
        await discord.server.resume()
        discord.clock.advance(wait_s)
        await desk.until(lambda: desk.health.last == "up")


async def test_the_gateway_of_the_configuration_is_used_in_place_of_every_other(discord: World) -> None:
    server = discord.server
    ours = server.gateway_url
    server.platform.root = "http://127.0.0.1:1"  # what the API and the gateway itself say leads nowhere
    async with serving(discord, gateway_url=ours) as (_, desk):
        server.kick(4000)
        discord.clock.advance(await discord.clock.asleep(1))
        await desk.until(lambda: len(server.notes_of("resumed")) == 1)


async def test_when_discord_wants_more_shards_they_are_begun(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (_, desk):
        server.rules.shards = 2
        server.kick(4011)
        for attempt in (1, 2, 3):  # the connection anew, then five seconds before each session
            discord.clock.advance(await discord.clock.asleep(attempt))
        await desk.until(lambda: desk.health.last == "up")
        await discord.wait(lambda: len(server.notes_of("identified")) == 3)


async def test_two_bots_in_one_process_each_talk_with_their_own_discord_and_no_other_client_is_touched() -> None:
    base = Route.BASE
    async with world() as one, world() as other, serving(one) as (first, heard), serving(other) as (second, overheard):
        one.server.say(one.dm, one.ada, "to the first")
        other.server.say(other.dm, other.ada, "to the second")
        await heard.until(lambda: bool(heard.messages))
        await overheard.until(lambda: bool(overheard.messages))
        await first.send(one.delivery(heard.messages[0], "from the first"))
        await second.send(other.delivery(overheard.messages[0], "from the second"))
        used = one.server.command(one.ada, one.dm, "status")
        await one.wait(lambda: used.acknowledged)
        assert Route.BASE == base == "https://discord.com/api/v10"
        assert Route("GET", "/users/@me").url == f"{base}/users/@me"
    assert [desk.messages[0].text for desk in (heard, overheard)] == ["to the first", "to the second"]
    assert one.server.texts(one.dm) == ("from the first",)
    assert other.server.texts(other.dm) == ("from the second",)


async def test_a_number_of_shards_that_is_refused_for_ever_is_told_and_not_hurried(discord: World) -> None:
    server, clock = discord.server, discord.clock
    server.close_after_hello(4011, times=4)
    bot, desk = discord.bot(), DiscordDesk()
    async with running(bot, desk):
        for attempt in range(1, 5):
            assert await clock.asleep(attempt) == 2.0**attempt
            assert "4011" in desk.health.last
            assert ("just as many" in desk.health.last) == (attempt > 1)
            clock.advance(60.0)
        await desk.until(lambda: desk.health.last == "up")


async def test_sessions_begin_five_seconds_apart_over_a_new_connection_to_the_api(discord: World) -> None:
    server, clock = discord.server, discord.clock
    async with serving(discord) as (_, desk):
        server.kick(4011)
        clock.advance(await clock.asleep(1))
        clock.advance(await clock.asleep(2))
        await desk.until(lambda: desk.health.last == "up")
    assert clock.naps == [2.0, 3.25]


async def test_a_connection_that_answered_heartbeats_ends_a_row_of_failures(discord: World) -> None:
    server, clock = discord.server, discord.clock
    server.rules.heartbeat_ms = 50
    async with serving(discord) as (_, desk):
        for attempt in range(1, 4):
            enough = len(server.notes_of("heartbeat")) + 4
            await server.until(lambda enough=enough: len(server.notes_of("heartbeat")) >= enough)  # type: ignore[misc]
            server.kick(4000)
            assert await clock.asleep(attempt) == 1.0
            clock.advance(1.0)
            await desk.until(lambda: desk.health.last == "up")
