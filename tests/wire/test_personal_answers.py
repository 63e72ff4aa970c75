"""What one person alone is to see, although it was asked for among others, comes in the direct chat."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.errors import Rejected
from core.vocabulary import UserId
from tests.contract.doubles import running
from tests.fakes.telegram.server import TelegramServer
from tests.wire.discord_world import serving, world
from tests.wire.telegram_world import World


async def test_on_telegram_it_comes_in_the_direct_chat_or_is_refused() -> None:
    async with TelegramServer(limits=None) as server:
        made = World(server)
        group = server.group("Team")
        async with running(made.bot, made.desk):
            await made.up()
            made.say("hello")
            alone = replace(made.delivery("for you", chat=group, reply_to=77), alone=UserId(str(made.ada.id)))
            await made.bot.send(alone)
            assert [one.text for one in server.chat(made.chat).from_bot] == ["for you"]
            server.block(made.ada)
            with pytest.raises(Rejected):
                await made.bot.send(alone)
        assert server.chat(group).from_bot == ()


async def test_on_discord_it_comes_in_the_direct_chat_or_is_refused() -> None:
    async with world() as discord:
        server = discord.server
        async with serving(discord) as (bot, desk):
            server.say(discord.channel, discord.ada, f"{discord.us} /whoami")
            await desk.until(lambda: bool(desk.messages))
            asked = discord.delivery(desk.messages[-1], "for you")
            await bot.send(replace(asked, alone=UserId(str(discord.ada.id))))
            assert server.texts(discord.dm) == ("for you",)
            [said] = server.sent(discord.dm)
            assert said.reply_to is None
            server.close_door(discord.ada)
            with pytest.raises(Rejected):
                await bot.send(replace(discord.delivery(desk.messages[-1], "more"), alone=UserId(str(discord.ada.id))))
        assert server.texts(discord.channel) == ()
