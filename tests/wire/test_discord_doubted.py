"""A send whose outcome nobody heard: what stands in the channel tells, once the nonce is forgotten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.errors import NotSent, Unknown
from core.vocabulary import Delivery, Earlier, FileKind, Message, MessageId, OutFile
from tests.wire.discord_world import DiscordDesk, World, serving

READ_MESSAGE_HISTORY = 1 << 16


async def asked(discord: World, desk: DiscordDesk) -> Message:
    discord.server.say(discord.channel, discord.ada, f"{discord.us} question")
    await desk.until(lambda: bool(desk.messages))
    return desk.messages[-1]


def again(delivery: Delivery, *others: str, since: datetime | None = None) -> Delivery:
    earlier = Earlier(since=since or datetime.now(UTC), others=frozenset(MessageId(one) for one in others))
    return replace(delivery, earlier=earlier)


def forget_nonces(discord: World) -> None:
    """As after some minutes: Discord takes the next send for another."""
    discord.memory.notes["nonce"] += " and drawn anew"


async def lost(discord: World, *, applied: bool, text: str = "  the **answer**\n", **more: object) -> Delivery:
    """What was sent without an answer, by a process that is gone with its nonces."""
    async with serving(discord) as (bot, desk):
        delivery = replace(discord.delivery(await asked(discord, desk), text), **more)
        discord.server.drop("create_message", applied=applied)
        with pytest.raises(Unknown):
            await bot.send(delivery)
    forget_nonces(discord)
    return delivery


@pytest.mark.parametrize("applied", [True, False])
async def test_it_is_there_once(discord: World, applied: bool) -> None:
    delivery = await lost(discord, applied=applied)
    discord.server.say(discord.channel, discord.bob, "the **answer**")
    async with serving(discord) as (bot, _):
        sent = await bot.send(again(delivery))
    assert [str(one.id) for one in discord.server.sent(discord.channel)] == [sent]


async def test_a_file_is_known_by_its_size(discord: World, tmp_path: Path) -> None:
    path = tmp_path / "plan.txt"
    path.write_text("the plan")
    file = OutFile(kind=FileKind.FILE, path=path, name="plan.txt", media_type="text/plain", size=8)
    delivery = await lost(discord, applied=True, text="", files=(file,))
    async with serving(discord) as (bot, _):
        sent = await bot.send(again(delivery))
        longer = tmp_path / "long.txt"
        longer.write_text("another plan")
        other = replace(file, path=longer, size=12)
        assert await bot.send(again(replace(delivery, files=(other,)))) != sent
    assert len(discord.server.sent(discord.channel)) == 2


async def test_what_is_another_delivery_or_older_is_not_taken_for_it(discord: World) -> None:
    delivery = await lost(discord, applied=True)
    [stands] = discord.server.sent(discord.channel)
    async with serving(discord) as (bot, _):
        second = await bot.send(again(delivery, str(stands.id)))
        forget_nonces(discord)
    async with serving(discord) as (bot, _):
        later = datetime.now(UTC) + timedelta(minutes=6)
        third = await bot.send(again(delivery, since=later))
    assert len({str(stands.id), second, third}) == 3


async def test_the_search_reads_past_what_was_said_since(discord: World) -> None:
    delivery = await lost(discord, applied=True)
    for number in range(150):
        discord.server.say(discord.channel, discord.ada, f"aside {number}")
    async with serving(discord) as (bot, _):
        sent = await bot.send(again(delivery))
    assert [str(one.id) for one in discord.server.sent(discord.channel)] == [sent]


async def test_where_too_much_was_said_since_nobody_can_tell(discord: World) -> None:
    delivery = await lost(discord, applied=True)
    for number in range(1_001):
        discord.server.say(discord.channel, discord.ada, f"aside {number}")
    async with serving(discord) as (bot, _):
        with pytest.raises(Unknown) as caught:
            await bot.send(again(delivery, since=discord.clock.now() - timedelta(minutes=2)))
        assert caught.value.for_good
    assert len(discord.server.sent(discord.channel)) == 1


async def test_where_the_bot_may_not_read_only_the_nonce_tells(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        delivery = discord.delivery(await asked(discord, desk), "the answer")
        server.overwrite(discord.channel, discord.guild, deny=READ_MESSAGE_HISTORY)
        server.drop("create_message", applied=True)
        with pytest.raises(Unknown):
            await bot.send(delivery)
        await bot.send(again(delivery, since=discord.clock.now()))
        with pytest.raises(Unknown) as caught:
            await bot.send(again(delivery, since=discord.clock.now() - timedelta(minutes=2)))
        assert caught.value.for_good
    assert server.texts(discord.channel) == ("the answer",)


async def test_in_a_direct_chat_where_nothing_stands_it_is_sent(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        said = server.say(discord.dm, discord.ada, "question")
        await desk.until(lambda: bool(desk.messages))
        delivery = discord.delivery(desk.messages[-1], "the answer")
        server.delete(said)
        await bot.send(again(delivery, since=discord.clock.now() - timedelta(minutes=2)))
    assert server.texts(discord.dm) == ("the answer",)


async def test_as_long_as_discord_does_not_say_nothing_is_sent(discord: World) -> None:
    delivery = await lost(discord, applied=True)
    async with serving(discord) as (bot, _):
        discord.server.drop("get_messages", applied=False, count=None)
        with pytest.raises(NotSent):
            await bot.send(again(delivery))
        discord.server.clear_faults()
    assert len(discord.server.sent(discord.channel)) == 1


async def test_an_answer_beside_the_thread_that_could_not_be_made_is_found(discord: World) -> None:
    server = discord.server
    async with serving(discord, auto_thread=True) as (bot, desk):
        delivery = discord.delivery(await asked(discord, desk), "the answer")
        assert delivery.address.thread is not None
        server.answer_error("start_thread_from_message", 403, 50013, "Missing Permissions", count=None)
        server.drop("create_message", applied=True)
        with pytest.raises(Unknown):
            await bot.send(delivery)
    forget_nonces(discord)
    async with serving(discord, auto_thread=True) as (bot, _):
        sent = await bot.send(again(delivery))
    assert [str(one.id) for one in server.sent(discord.channel)] == [sent]
