"""Threads that are gone: what was for one is said in the channel, where nobody reads it who could not before."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bots.discord.bot import DiscordBot
from core.errors import Rejected, SendError, ThreadGone
from core.vocabulary import Message
from tests.fakes.discord import Channel
from tests.wire.discord_world import DiscordDesk, World, serving

FORUM, PRIVATE_THREAD = 15, 12


async def heard(discord: World, desk: DiscordDesk, thread: Channel) -> Message:
    """Ada asks in a thread."""
    before = len(desk.messages)
    discord.server.say(thread, discord.ada, f"{discord.us} question")
    await desk.until(lambda: len(desk.messages) > before)
    return desk.messages[-1]


async def refusal(discord: World, bot: DiscordBot, question: Message) -> SendError:
    with pytest.raises(SendError) as caught:
        await bot.send(discord.delivery(question, "hello"))
    return caught.value


async def test_what_was_for_a_deleted_thread_can_be_said_in_the_channel(discord: World) -> None:
    server = discord.server
    thread = server.thread(discord.channel, discord.ada, "aside")
    async with serving(discord) as (bot, desk):
        question = await heard(discord, desk, thread)
        server.delete_channel(thread)
        assert type(await refusal(discord, bot, question)) is ThreadGone
        delivery = discord.delivery(question, "here then")
        await bot.send(replace(delivery, address=replace(question.address, thread=None, reply_to=None)))
    assert server.texts(discord.channel) == ("here then",)


async def test_and_what_was_for_a_locked_one(discord: World) -> None:
    server = discord.server
    thread = server.thread(discord.channel, discord.ada, "aside")
    async with serving(discord) as (bot, desk):
        question = await heard(discord, desk, thread)
        server.archive(thread, locked=True)
        assert type(await refusal(discord, bot, question)) is ThreadGone
        server.archive(thread)
        await bot.send(discord.delivery(question, "it opens again"))
    assert server.texts(thread) == ("it opens again",)


async def test_what_was_said_among_few_is_not_said_to_all(discord: World) -> None:
    server = discord.server
    thread = server.thread(discord.channel, discord.ada, "among us", type=PRIVATE_THREAD)
    server.say(thread, discord.ada, f"{discord.us} come in")
    async with serving(discord) as (bot, desk):
        question = await heard(discord, desk, thread)
        server.archive(thread, locked=True)
        assert type(await refusal(discord, bot, question)) is Rejected
        server.delete_channel(thread)
        assert type(await refusal(discord, bot, question)) is Rejected


async def test_nor_what_was_for_a_thread_of_which_nothing_is_known(discord: World) -> None:
    """It was deleted while nobody listened: it may have been a private one."""
    server = discord.server
    thread = server.thread(discord.channel, discord.ada, "aside")
    async with serving(discord) as (bot, desk):
        question = await heard(discord, desk, thread)
    server.delete_channel(thread)
    async with serving(discord) as (bot, _):
        assert type(await refusal(discord, bot, question)) is Rejected


async def test_a_forum_has_no_place_for_what_was_for_a_post(discord: World) -> None:
    server = discord.server
    forum = server.channel(discord.guild, "help", type=FORUM)
    post, _ = server.post(forum, discord.ada, "help", f"{discord.us} how?")
    async with serving(discord) as (bot, desk):
        question = await heard(discord, desk, post)
        server.delete_channel(post)
        assert type(await refusal(discord, bot, question)) is Rejected
