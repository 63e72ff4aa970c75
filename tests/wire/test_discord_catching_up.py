"""What was said while the bot was away, or while its session was lost, is heard all the same: once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from bots.discord import intake
from core.vocabulary import ChatKind, Inbound, Receipt
from tests.contract.doubles import running
from tests.fakes.discord import Channel
from tests.wire.discord_world import DiscordDesk, World, serving


def say(discord: World, channel: Channel, *texts: str) -> None:
    for text in texts:
        discord.server.say(channel, discord.ada, text)


def texts(desk: DiscordDesk) -> list[str]:
    return [one.text for one in desk.messages]


async def until_caught_up(desk: DiscordDesk) -> None:
    await desk.until(lambda: desk.notes.get("behind since") == "")


async def test_at_the_start_direct_chats_channels_and_threads_are_asked(discord: World) -> None:
    server = discord.server
    thread = server.thread(discord.channel, discord.ada, "aside")
    other = server.channel(discord.guild, "elsewhere")
    discord.haunt(discord.dm)
    discord.haunt(discord.channel)
    discord.haunt(discord.channel, thread=thread)
    say(discord, discord.dm, "direct")
    say(discord, discord.channel, f"{discord.us} in the channel")
    say(discord, thread, "in the thread")
    say(discord, other, "nobody asked the bot here")
    async with serving(discord) as (_, desk):
        await until_caught_up(desk)
        await desk.until(lambda: len(desk.messages) == 3)
    assert {(one.text, one.kind, one.addressed) for one in desk.messages} == {
        ("direct", ChatKind.DIRECT, True),
        ("in the channel", ChatKind.GROUP, True),
        ("in the thread", ChatKind.THREAD, False),
    }
    assert {one.within for one in desk.messages if one.kind is not ChatKind.DIRECT} == {str(discord.guild.id)}


async def test_many_are_fetched_page_by_page_and_the_latest_if_there_are_too_many(discord: World) -> None:
    discord.haunt(discord.dm)
    say(discord, discord.dm, *(f"{number}" for number in range(350)))
    async with serving(discord, catch_up=230) as (_, desk):
        await until_caught_up(desk)
    assert texts(desk) == [f"{number}" for number in range(120, 350)]
    async with serving(discord, catch_up=1000) as (_, desk):
        await until_caught_up(desk)
    assert texts(desk) == [f"{number}" for number in range(350)]
    assert all(len(batch) <= 100 for batch in desk.batches)


async def test_nothing_is_fetched_where_that_is_switched_off(discord: World) -> None:
    discord.haunt(discord.dm)
    say(discord, discord.dm, "before")
    async with serving(discord, catch_up=0) as (_, desk):
        say(discord, discord.dm, "after")
        await desk.until(lambda: bool(desk.messages))
    assert texts(desk) == ["after"]


async def test_what_is_too_old_is_left(discord: World) -> None:
    discord.haunt(discord.dm)
    say(discord, discord.dm, "old")
    desk = DiscordDesk(discord.memory)
    desk.stale_before = datetime.now(UTC) + timedelta(hours=1)
    async with running(discord.bot(), desk):
        await until_caught_up(desk)
    assert not desk.heard


async def test_what_comes_live_meanwhile_waits_for_what_was_missed_there_and_for_nothing_else(discord: World) -> None:
    server = discord.server
    discord.haunt(discord.dm)
    say(discord, discord.dm, "missed")
    held = server.hang("get_messages", channel_id=discord.dm.id)
    bot, desk = discord.bot(), DiscordDesk(discord.memory)
    async with running(bot, desk):
        await discord.wait(lambda: held.hits == 1)
        say(discord, discord.dm, "live")
        say(discord, discord.channel, f"{discord.us} elsewhere")
        await desk.until(lambda: texts(desk) == ["elsewhere"])
        held.release()
        await desk.until(lambda: len(desk.messages) == 3)
    assert texts(desk) == ["elsewhere", "missed", "live"]


async def test_after_a_lost_session_it_goes_on_behind_the_last_message(discord: World) -> None:
    server = discord.server
    discord.haunt(discord.dm)
    async with serving(discord) as (_, desk):
        say(discord, discord.dm, "one")
        await desk.until(lambda: texts(desk) == ["one"])
        server.kick(4000)
        server.forget_sessions()
        wait_s = await discord.clock.asleep(1)
        say(discord, discord.dm, "two", "three")
        discord.clock.advance(wait_s)
        for attempt in (2, 3):  # the session can't be resumed; five seconds between two sessions
            discord.clock.advance(await discord.clock.asleep(attempt))
        await desk.until(lambda: texts(desk) == ["one", "two", "three"])
        await until_caught_up(desk)
        say(discord, discord.dm, "four")
        await desk.until(lambda: texts(desk) == ["one", "two", "three", "four"])
    last = server.calls_of("get_messages")[-1]
    assert last.query["after"] == desk.messages[0].message
    assert len(desk.heard) == 4


async def test_what_grew_too_old_while_a_session_was_lost_is_left(discord: World) -> None:
    server = discord.server
    discord.haunt(discord.dm)
    async with serving(discord) as (_, desk):
        say(discord, discord.dm, "one")
        await desk.until(lambda: texts(desk) == ["one"])
        server.kick(4000)
        server.forget_sessions()
        wait_s = await discord.clock.asleep(1)
        say(discord, discord.dm, "two", "three")
        desk.stale_before = _late()
        discord.clock.advance(wait_s)
        for attempt in (2, 3):
            discord.clock.advance(await discord.clock.asleep(attempt))
        await discord.wait(lambda: len(server.calls_of("get_messages")) == 2)
        await until_caught_up(desk)
        say(discord, discord.dm, "four")
        await desk.until(lambda: texts(desk)[-1] == "four")
    assert texts(desk) == ["one", "four"]


async def test_a_kill_while_catching_up_leaves_nothing_behind(discord: World) -> None:
    """The first batch moves the time of the last stored message: only the note tells that more was to come."""
    discord.haunt(discord.dm)
    say(discord, discord.dm, *(f"{number}" for number in range(150)))
    desk = _OneBatch(discord.memory)
    async with running(discord.bot(), desk):
        await desk.until(lambda: len(desk.batches) == 1 and desk.waiting == 1)
    [haunt] = discord.memory.haunted
    discord.memory.haunted[:] = [type(haunt)(address=haunt.address, kind=haunt.kind, heard_at=_late())]
    async with serving(discord) as (_, again):
        await until_caught_up(again)
    assert texts(again) == [f"{number}" for number in range(150)]


class _OneBatch(DiscordDesk):
    """Stores one batch and then takes its time."""

    async def receive(self, batch: Sequence[Inbound]) -> tuple[Receipt, ...]:
        receipts = await super().receive(batch)
        self.open.clear()
        return receipts


def _late() -> datetime:
    return datetime.now(UTC) + timedelta(minutes=10)


async def test_a_channel_that_is_gone_keeps_no_other_waiting(discord: World) -> None:
    server = discord.server
    gone = server.channel(discord.guild, "gone")
    discord.haunt(gone)
    discord.haunt(discord.dm)
    say(discord, discord.dm, "missed")
    server.delete_channel(gone)
    async with serving(discord) as (_, desk):
        await until_caught_up(desk)
    assert texts(desk) == ["missed"]


async def test_channels_that_are_not_to_be_had_for_long_hold_up_no_other(discord: World) -> None:
    """However many: they come again behind the others, until they are."""
    server = discord.server
    channels = [server.channel(discord.guild, f"broken-{number}") for number in range(6)]
    for channel in channels:
        discord.haunt(channel)
        say(discord, channel, f"{discord.us} in {channel.name}")
    broken = [
        server.answer("get_messages", 503, b"upstream connect error", channel_id=channel.id, count=None)
        for channel in channels
    ]
    discord.haunt(discord.dm)
    say(discord, discord.dm, "missed")
    async with serving(discord) as (_, desk):
        await hurrying(discord, desk, lambda: texts(desk) == ["missed"])
        for fault in broken:
            fault.cancel()
        await hurrying(discord, desk, lambda: desk.notes.get("behind since") == "")
    assert texts(desk)[0] == "missed"
    assert sorted(texts(desk)[1:]) == [f"in {channel.name}" for channel in channels]


async def hurrying(discord: World, desk: DiscordDesk, holds: Callable[[], bool]) -> None:
    """Until it is so, however long Discord is given between two tries."""
    async with asyncio.timeout(5.0):
        while not holds():
            discord.clock.advance(60.0)
            await asyncio.sleep(0)
            await discord.server.until(lambda: True)


async def test_a_store_that_refuses_is_waited_for_and_nothing_is_lost(discord: World) -> None:
    discord.haunt(discord.dm)
    say(discord, discord.dm, "missed")
    desk = DiscordDesk(discord.memory)
    desk.refusing = True
    async with running(discord.bot(), desk):
        wait_s = await discord.clock.asleep(1)
        say(discord, discord.dm, "live")
        desk.refusing = False
        discord.clock.advance(wait_s)
        await desk.until(lambda: len(desk.messages) == 2)
    assert texts(desk) == ["missed", "live"]


async def test_where_each_question_has_a_thread_the_channel_is_asked_too(discord: World) -> None:
    server = discord.server
    thread = server.thread(discord.channel, discord.ada, "aside")
    discord.haunt(discord.channel, thread=thread)
    say(discord, discord.channel, f"{discord.us} one more question")
    async with serving(discord, auto_thread=True) as (_, desk):
        await until_caught_up(desk)
    [message] = desk.messages
    assert str(message.address.thread) == str(message.message)


async def test_an_edit_of_a_missed_message_wins(discord: World) -> None:
    server = discord.server
    discord.haunt(discord.dm)
    said = server.say(discord.dm, discord.ada, "halo")
    server.edit(said, "hello")
    async with serving(discord) as (_, desk):
        await until_caught_up(desk)
    assert texts(desk) == ["hello"]


async def test_a_burst_keeps_its_order_over_lost_connections_and_sessions(discord: World) -> None:
    server = discord.server
    discord.haunt(discord.dm)
    said: list[str] = []
    async with serving(discord) as (_, desk):
        for turn in range(6):
            lot = [f"{turn}/{number}" for number in range(40)]
            say(discord, discord.dm, *lot)
            server.kick(None if turn % 3 else 4000)
            if turn % 2:
                server.forget_sessions()
            say(discord, discord.dm, f"{turn} in the gap")
            said += [*lot, f"{turn} in the gap"]
            await _brought_up(discord, desk)
        await desk.until(lambda: len(desk.messages) == len(said))
    assert texts(desk) == said


async def _brought_up(discord: World, desk: DiscordDesk) -> None:
    """Time passes whenever the bot waits for it."""
    clock = discord.clock
    await desk.until(lambda: desk.health.last != "up")
    up = asyncio.create_task(desk.until(lambda: desk.health.last == "up"))
    slept = len(clock.naps)
    while not up.done():
        waits = asyncio.create_task(clock.asleep(slept))
        await asyncio.wait({up, waits}, return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()
        clock.advance(60.0)
        slept = len(clock.naps) + 1
    await up


async def test_a_command_follows_what_was_missed_if_that_comes_in_time(discord: World) -> None:
    server = discord.server
    async with serving(discord):
        await discord.wait(lambda: bool(server.commands()))
    discord.haunt(discord.dm)
    say(discord, discord.dm, "missed")
    held = server.delay("get_messages", channel_id=discord.dm.id)
    bot, desk = discord.bot(), DiscordDesk(discord.memory)
    async with running(bot, desk):
        await discord.wait(lambda: held.hits == 1)
        used = server.command(discord.ada, discord.dm, "reset")
        held.release()
        await desk.until(lambda: len(desk.messages) == 2)
        await discord.wait(lambda: used.acknowledged)
    assert texts(desk) == ["missed", "/reset"]


async def test_a_command_does_not_wait_for_long(discord: World) -> None:
    server = discord.server
    async with serving(discord):
        await discord.wait(lambda: bool(server.commands()))
    discord.haunt(discord.dm)
    say(discord, discord.dm, "missed")
    held = server.delay("get_messages", channel_id=discord.dm.id)
    bot, desk = discord.bot(), DiscordDesk(discord.memory)
    async with running(bot, desk):
        await discord.wait(lambda: held.hits == 1)
        used = server.command(discord.ada, discord.dm, "reset")
        await discord.wait(lambda: used.acknowledged)
        held.release()
        await desk.until(lambda: len(desk.messages) == 2)
    assert texts(desk) == ["/reset", "missed"]


async def test_more_than_can_wait_is_fetched_later(discord: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "_MOST_WAITING", 40)
    monkeypatch.setattr(intake, "_BATCH", 7)
    said = [f"{number}" for number in range(200)]
    async with serving(discord) as (_, desk):
        desk.open.clear()
        say(discord, discord.dm, "first")
        await desk.until(lambda: desk.waiting == 1)
        say(discord, discord.dm, *said)
        await discord.wait(discord.server.connected)
        desk.open.set()
        await desk.until(lambda: len(desk.messages) == 201)
        say(discord, discord.dm, "last")
        await desk.until(lambda: len(desk.messages) == 202)
    assert texts(desk) == ["first", *said, "last"]
