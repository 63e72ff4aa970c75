"""Whatever way an answer takes, it calls for nobody but the person who asked."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.vocabulary import Button, Message, Press
from tests.wire.discord_world import DiscordDesk, World, serving, world


@pytest.fixture
async def discord() -> AsyncIterator[World]:
    """Bob has a role that anybody may mention, and the bot may mention everybody."""
    async with world() as made:
        server = made.server
        server.give(made.guild, made.bob, server.role(made.guild, "all", mentionable=True))
        server.make_administrator(made.guild, server.bot)
        yield made


def calling(discord: World) -> str:
    """Words that would call for everybody, whatever is left of them."""
    roles = " ".join(f"<@&{role}>" for role in discord.server.platform.guilds[discord.guild.id].roles)
    return f"@everyone @here {roles} <@{discord.bob.id}> come"


async def command(discord: World, desk: DiscordDesk, name: str) -> Message:
    await discord.wait(lambda: bool(discord.server.commands()))
    before = len(desk.messages)
    discord.server.command(discord.ada, discord.channel, name)
    await desk.until(lambda: len(desk.messages) > before)
    return desk.messages[-1]


def called(discord: World) -> list[tuple[str, bool]]:
    """Each answer by its first word, and whether it calls for anybody."""
    there = [one for one in discord.server.sent() if not one.deleted]
    every = [(one, (one.mentions.users, one.mentions.roles, one.mentions.everyone)) for one in there]
    return [(one.content.partition(":")[0], mentions != ((), (), False)) for one, mentions in every]


@pytest.mark.parametrize("name", ["reset", "status"])
async def test_answers_to_a_command_call_for_nobody(discord: World, name: str) -> None:
    """The first, in the place of the waiting sign, a later one, and what they become; seen by all or by one."""
    async with serving(discord) as (bot, desk):
        message = await command(discord, desk, name)
        answers = [discord.delivery(message, f"{text}: {calling(discord)}") for text in ("first", "second")]
        sent = [await bot.send(one) for one in answers]
        assert called(discord) == [("first", False), ("second", False)]
        for delivery, message_id in zip(answers, sent, strict=True):
            await bot.edit(delivery, message_id)
    assert called(discord) == [("first", False), ("second", False)]
    assert not discord.server.pings(discord.bob)


async def test_words_to_who_pressed_call_for_nobody(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        server.say(discord.channel, discord.ada, f"{discord.us} may I?")
        await desk.until(lambda: bool(desk.messages))
        await bot.send(discord.delivery(desk.messages[0], "sure?", buttons=(Button(label="Yes", data="Y1"),)))
        [question] = server.sent(discord.channel)
        server.press(discord.ada, question, "fd:Y1")
        await desk.until(lambda: isinstance(desk.heard[-1], Press))
        press = desk.heard[-1]
        assert isinstance(press, Press)
        await bot.answer(press, calling(discord), over=False)
    [word] = server.whispers(discord.ada)
    assert "@everyone" in word.content
    assert (word.mentions.users, word.mentions.roles, word.mentions.everyone) == ((), (), False)
