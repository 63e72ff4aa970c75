"""The real discord.py against the double: what people and bots do with each other."""

import discord
import pytest

from tests.fakes.discord import Channel, DiscordServer, Guild, User
from tests.fakes.discord.redirected import Bot


async def test_messages_go_both_ways(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    server.say(channel, ada, "hello")
    (heard,) = await bot.hears(1)
    assert (heard.content, heard.author.id, heard.guild and heard.guild.name) == ("hello", ada.id, "Team")
    async with heard.channel.typing():
        sent = await heard.reply("hi")
    await sent.edit(content="hi there")
    (kept,) = server.sent(channel)
    assert (kept.texts, kept.reply_to) == (("hi", "hi there"), heard.id)
    assert kept.pinged == {ada.id}
    assert [typing.channel_id for typing in server.typings] == [channel.id]
    await sent.delete()
    assert server.texts(channel) == ()
    assert server.problems == ()


async def test_a_direct_conversation(server: DiscordServer, bot: Bot, ada: User, guild: Guild) -> None:
    dm = server.dm(ada)
    server.say(dm, ada, "psst")
    (heard,) = await bot.hears(1)
    assert isinstance(heard.channel, discord.DMChannel)
    await heard.channel.send("yes?")
    assert server.texts(dm) == ("yes?",)
    server.close_door(ada)
    with pytest.raises(discord.Forbidden) as refused:
        await heard.channel.send("still there?")
    assert refused.value.code == 50007


async def test_a_button_is_pressed_and_answered(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="Stop", custom_id="stop"))
    place = bot.get_partial_messageable(channel.id)
    sent = await place.send("working", view=view)
    interaction = server.press(ada, sent.id, "stop")
    await bot.until(lambda: bot.pressed)
    await bot.pressed[0].response.send_message("stopped", ephemeral=True)
    assert interaction.acknowledged
    assert [(one.content, one.visible_to) for one in server.whispers()] == [("stopped", ada.id)]
    assert server.texts(channel) == ("working",)
    assert server.problems == ()
