"""What the bot hears: over the real SDK's socket, from the strict double."""

from __future__ import annotations

import asyncio

import pytest

from core.errors import BotRejected, Rejected, Unknown
from core.vocabulary import ChatKind, Edit, FileKind, Quote
from tests.clock import PATIENCE_S
from tests.fakes.discord import JsonObject
from tests.wire.discord_world import DiscordDesk, World, serving


async def heard(desk: DiscordDesk, count: int = 1) -> None:
    await desk.until(lambda: len(desk.heard) >= count)


async def test_a_direct_message_is_for_us_and_needs_no_pointing_at(discord: World) -> None:
    async with serving(discord) as (_, desk):
        said = discord.server.say(discord.dm, discord.ada, "psst")
        await heard(desk)
    [message] = desk.messages
    assert (message.text, message.kind, message.addressed) == ("psst", ChatKind.DIRECT, True)
    assert (message.address.chat, message.address.thread, message.address.reply_to) == (
        str(said.channel_id),
        None,
        None,
    )
    assert (message.sender.user, message.sender.name, message.within) == (str(discord.ada.id), "Ada", "")


async def test_in_a_channel_a_mention_or_a_reply_is_for_us(discord: World) -> None:
    server, channel = discord.server, discord.channel
    async with serving(discord) as (bot, desk):
        server.say(channel, discord.ada, "just talking")
        server.say(channel, discord.ada, f"{discord.us} look")
        await heard(desk, 2)
        await bot.send(discord.delivery(desk.messages[1], "at what?"))
        [answer] = server.sent(channel)
        server.say(channel, discord.bob, "at this", reply_to=answer, ping=False)
        await heard(desk, 3)
    assert [(one.text, one.addressed) for one in desk.messages] == [
        ("just talking", False),
        ("look", True),
        ("at this", True),
    ]
    assert desk.messages[2].quote == Quote(name="frontdesk", text="at what?", own=True)
    assert {one.kind for one in desk.messages} == {ChatKind.GROUP}
    assert {one.within for one in desk.messages} == {str(discord.guild.id)}
    assert {one.address.reply_to == one.message for one in desk.messages} == {True}


async def test_a_thread_is_a_side_talk_of_its_channel(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (_, desk):
        thread = server.thread(discord.channel, discord.ada, "aside")
        server.say(thread, discord.ada, "no mention is needed here")
        await heard(desk)
    [message] = desk.messages
    assert (message.kind, message.addressed) == (ChatKind.THREAD, False)
    assert (message.address.chat, message.address.thread) == (str(discord.channel.id), str(thread.id))


async def test_a_post_in_a_forum_is_a_thread_and_its_title_is_said_too(discord: World) -> None:
    server = discord.server
    forum = server.forum(discord.guild)
    async with serving(discord) as (_, desk):
        post, first = server.post(forum, discord.ada, "Idea", f"{discord.us} what about it?")
        server.say(post, discord.bob, "I like it")
        await heard(desk, 2)
    opening, comment = desk.messages
    assert (opening.text, opening.addressed) == ("Idea\nwhat about it?", True)
    assert (opening.address.chat, opening.address.thread) == (str(forum.id), str(post.id))
    assert opening.message == str(first.id) == str(post.id)
    assert (comment.text, comment.kind) == ("I like it", ChatKind.THREAD)


async def test_a_thread_that_the_gateway_never_told_of_is_asked_for(discord: World) -> None:
    server = discord.server
    thread = server.thread(discord.channel, discord.ada, "old")
    server.archive(thread)
    async with serving(discord) as (_, desk):
        author: JsonObject = {"id": str(discord.ada.id), "username": "ada"}
        ids: JsonObject = {"id": "77", "channel_id": str(thread.id), "guild_id": str(discord.guild.id)}
        server.raw_event("MESSAGE_CREATE", {**ids, "type": 0, "author": author, "content": "back again"})
        await heard(desk)
        assert [call.path for call in server.calls_of("get_channel")] == [f"/channels/{thread.id}"]
    assert desk.messages[0].address.chat == str(discord.channel.id)


async def test_an_edit_replaces_the_text_and_a_preview_is_no_edit(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (_, desk):
        first = server.say(discord.channel, discord.ada, f"{discord.us} halo")
        server.unfurl(first, {"type": "link", "title": "a page"})
        server.edit(first, f"{discord.us} hello")
        server.say(discord.channel, discord.ada, "behind it")
        await heard(desk, 3)
    said, edit, _ = desk.heard
    assert isinstance(edit, Edit)
    assert edit.text == "hello"
    assert (edit.message, edit.address) == (desk.messages[0].message, desk.messages[0].address)
    assert edit.event != said.event


async def test_what_nobody_said_is_not_heard(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        server.say(discord.channel, discord.ada, "", type=7)
        server.say(discord.channel, discord.ada, "pinned a message", type=6)
        server.say(discord.channel, discord.ada, "first")
        await heard(desk)
        await bot.send(discord.delivery(desk.messages[0], "our own"))
        server.say(discord.channel, discord.ada, "second")
        await heard(desk, 2)
    assert [one.text for one in desk.messages] == ["first", "second"]


async def test_c28_c48_only_the_id_tells_who_somebody_is(discord: World) -> None:
    server = discord.server
    stranger = server.person("mallory")
    server.join(discord.guild, stranger)
    server.rename(stranger, "ada", "Ada")
    async with serving(discord) as (_, desk):
        server.say(discord.channel, discord.ada, "I am Ada")
        server.say(discord.channel, stranger, "I am Ada")
        server.say_by_webhook(discord.channel, "Ada", "I am Ada")
        await heard(desk, 3)
    ada, mallory, hook = [one.sender for one in desk.messages]
    assert ada.user == str(discord.ada.id)
    assert (mallory.user, mallory.name, mallory.is_bot) == (str(stranger.id), "Ada", False)
    assert hook.is_bot
    assert hook.user not in (ada.user, mallory.user)


async def test_files_stickers_voices_and_what_is_handed_on_come_along(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        photo = server.say(discord.channel, discord.ada, "see", files=[("cat.png", b"png"), ("notes.pdf", b"pdf")])
        server.say(discord.dm, discord.ada, "", forward=photo)
        server.say_aloud(discord.dm, discord.ada, b"ogg")
        server.say(discord.dm, discord.ada, "", stickers=["Wave"])
        await heard(desk, 4)
        fetched = [
            b"".join([piece async for piece in bot.fetch(one)]) for said in desk.messages for one in said.attachments
        ]
    direct, forwarded, voice, sticker = desk.messages
    assert [one.kind for one in direct.attachments] == [FileKind.IMAGE, FileKind.FILE]
    assert [(one.name, one.media_type, one.size) for one in direct.attachments] == [
        ("cat.png", "image/png", 3),
        ("notes.pdf", "application/pdf", 3),
    ]
    assert (forwarded.text, forwarded.quote) == ("see", Quote(name="#general", forwarded=True))
    assert [one.kind for one in voice.attachments] == [FileKind.VOICE]
    assert sticker.text == "[Sticker: Wave]"
    assert fetched == [b"png", b"pdf", b"png", b"pdf", b"ogg"]


async def test_a_file_that_is_gone_is_not_asked_for_again(discord: World) -> None:
    """Where files are kept says so in its own words."""
    server = discord.server
    async with serving(discord) as (bot, desk):
        server.say(discord.dm, discord.ada, files=[("a.txt", b"a")])
        await desk.until(lambda: bool(desk.messages))
        (file,) = desk.messages[0].attachments
        server.answer("download", 404, b"This content is no longer available.", content_type="text/plain")
        with pytest.raises(Rejected, match="not there any more"):
            [piece async for piece in bot.fetch(file)]
        server.answer("download", 502, b"Bad gateway", content_type="text/plain")
        with pytest.raises(Unknown):
            [piece async for piece in bot.fetch(file)]


async def test_a_malformed_event_is_stored_as_refused_and_stops_nothing(discord: World) -> None:
    server = discord.server
    channel = str(discord.channel.id)
    async with serving(discord) as (_, desk):
        server.raw_event("MESSAGE_CREATE", {"id": "77", "channel_id": channel, "guild_id": 1, "author": "nobody"})
        server.raw_event("MESSAGE_CREATE", {"id": [], "channel_id": channel})
        server.raw_event("GUILD_CREATE", {"id": None, "channels": 3})
        server.raw_event("INTERACTION_CREATE", {"id": "78", "channel_id": channel, "type": 3, "data": {}})
        server.raw_event("NEVER_HEARD_OF", {})
        server.say(discord.channel, discord.ada, "still here?")
        await desk.until(lambda: bool(desk.messages))
    assert [type(one).__name__ for one in desk.heard] == ["Malformed", "Message"]
    assert desk.heard[0].event == "77"


async def test_a_channel_that_can_not_be_asked_for_is_asked_again_or_given_up(discord: World) -> None:
    server = discord.server
    thread = server.thread(discord.channel, discord.ada, "old")
    server.archive(thread)
    async with serving(discord) as (_, desk):
        server.answer_error("get_channel", 503, 0, "busy")
        for number, channel in ((77, thread.id), (78, 123456), (79, thread.id)):
            told(discord, number, channel)
        server.say(discord.dm, discord.ada, "waits for nobody")
        await heard(desk, 1)
        used = server.command(discord.ada, discord.channel, "status")
        await discord.wait(lambda: used.acknowledged)
        discord.clock.advance(await discord.clock.asleep(1))
        await heard(desk, 4)
        told(discord, 80, thread.id)
        await heard(desk, 5)
    assert [one.text for one in desk.messages] == ["waits for nobody", "/status", "77", "79", "80"]
    assert {one.address.thread for one in desk.messages[2:]} == {str(thread.id)}


async def test_a_token_that_is_refused_when_a_channel_is_asked_for_ends_the_bot(discord: World) -> None:
    desk = DiscordDesk()
    running_bot = asyncio.create_task(discord.bot().run(desk))
    await desk.until(lambda: desk.health.last == "up")
    discord.server.answer_error("get_channel", 401, 0, "401: Unauthorized")
    told(discord, 77, 123456)
    with pytest.raises(BotRejected, match="token"):
        await asyncio.wait_for(running_bot, PATIENCE_S)


def told(discord: World, number: int, channel: int) -> None:
    """The gateway tells of a message in a channel that it did not tell of."""
    author: JsonObject = {"id": str(discord.ada.id), "username": "ada"}
    ids: JsonObject = {"id": str(number), "channel_id": str(channel), "guild_id": str(discord.guild.id)}
    discord.server.raw_event("MESSAGE_CREATE", {**ids, "type": 0, "author": author, "content": f"{number}"})
