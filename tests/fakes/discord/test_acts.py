"""What people can do, as discord.py sees it; threads and forums."""

import discord
import pytest

from tests.fakes.discord import Channel, DiscordServer, Guild, JsonObject, User
from tests.fakes.discord import permissions as may
from tests.fakes.discord.model import PRIVATE_THREAD
from tests.fakes.discord.raw import Raw
from tests.fakes.discord.redirected import Bot


async def test_files_stickers_and_voice(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    server.say(channel, ada, "see", files=[("a b.txt", b"hello"), ("p.png", b"png")], stickers=["wave"])
    server.say_aloud(channel, ada, b"OggS", seconds=3.5)
    written, spoken = await bot.hears(2)
    assert [(one.filename, one.content_type) for one in written.attachments] == [
        ("a b.txt", "text/plain; charset=utf-8"),
        ("p.png", "image/png"),
    ]
    assert await written.attachments[0].read() == b"hello"
    assert [sticker.name for sticker in written.stickers] == ["wave"]
    assert spoken.flags.voice
    assert (spoken.attachments[0].duration, await spoken.attachments[0].read()) == (3.5, b"OggS")


async def test_replies_forwards_and_embeds(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    first = server.say(channel, ada, "first", embeds=[{"type": "rich", "title": "T"}])
    server.say(channel, ada, "reply", reply_to=first)
    server.say(server.dm(ada), ada, forward=first)
    heard, reply, forward = await bot.hears(3)
    assert heard.embeds[0].title == "T"
    assert reply.type is discord.MessageType.reply
    assert reply.reference is not None
    assert isinstance(reply.reference.resolved, discord.Message)
    assert reply.reference.resolved.content == "first"
    assert (forward.content, forward.message_snapshots[0].content) == ("", "first")
    assert forward.reference is not None
    assert forward.reference.type is discord.MessageReferenceType.forward


async def test_edits_previews_and_deletions(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    said = server.say(channel, ada, "one")
    server.edit(said, "two")
    server.unfurl(said, {"type": "link", "title": "T"})
    server.delete(said)
    await bot.until(lambda: bot.deletions)
    edit, preview = bot.edits
    assert (edit.message.content, edit.message.edited_at is not None) == ("two", True)
    assert preview.message.edited_at == edit.message.edited_at
    assert [one.title for one in preview.message.embeds] == ["T"]
    assert server.message(said).texts == ("one", "two")
    assert bot.deletions[0].message_id == said.id


async def test_other_bots_and_webhooks_speak(server: DiscordServer, bot: Bot, guild: Guild, channel: Channel) -> None:
    other = server.person("robo", is_bot=True)
    server.join(guild, other)
    server.say(channel, other, "beep")
    server.say_by_webhook(channel, "News", "today")
    beep, news = await bot.hears(2)
    assert (beep.author.bot, beep.webhook_id) == (True, None)
    assert (news.author.name, news.webhook_id is not None) == ("News", True)


async def test_names_change_and_ids_do_not(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    server.say(channel, ada, "before")
    server.rename(ada, "owner", "The Owner")
    server.say(channel, ada, "after")
    before, after = await bot.hears(2)
    assert (before.author.name, after.author.name, after.author.global_name) == ("ada", "owner", "The Owner")
    assert before.author.id == after.author.id


async def test_history_is_read_page_by_page(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    first = server.say(channel, ada, "first")
    for number in range(129):
        server.say(channel, ada, str(number))
    place = bot.get_partial_messageable(channel.id)
    read = [one async for one in place.history(limit=None, after=discord.Object(first.id), oldest_first=True)]
    assert [one.content for one in read] == [str(number) for number in range(129)]
    assert len(server.calls_of("get_messages")) == 2


async def test_roles_and_administrators_are_seen(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    guild = server.platform.guilds[channel.guild_id or 0]
    server.say(channel, ada, "one")
    handle = Guild(id=guild.id, name=guild.name, owner_id=guild.owner_id)
    server.make_administrator(handle, ada)
    server.say(channel, ada, "two")
    one, two = await bot.hears(2)
    rights = [message.author.guild_permissions for message in (one, two) if isinstance(message.author, discord.Member)]
    assert [right.administrator for right in rights] == [False, True]


async def test_reactions_and_typing(server: DiscordServer, channel: Channel, ada: User, raw: Raw) -> None:
    gateway = await raw.connect()
    await gateway.take()
    await gateway.identify(intents=1 << 9 | 1 << 10 | 1 << 11)
    await gateway.take_event("READY")
    said = server.say(channel, ada, "hi")
    server.type_in(channel, ada)
    assert (await gateway.take_event("TYPING_START"))["d"]["user_id"] == str(ada.id)
    server.react(said, ada, "👍")
    assert (await gateway.take_event("MESSAGE_REACTION_ADD"))["d"]["emoji"] == {"id": None, "name": "👍"}
    server.unreact(said, ada, "👍")
    assert (await gateway.take_event("MESSAGE_REACTION_REMOVE"))["d"]["message_id"] == str(said.id)


# --- threads


async def test_threads_of_people(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    said = server.say(channel, ada, "topic")
    on_it, free = server.thread(channel, ada, "on it", message=said), server.thread(channel, ada, "free")
    server.say(on_it, ada, "inside")
    server.say(free, ada, "also")
    await bot.until(lambda: [one.content for one in bot.heard if one.type is discord.MessageType.default][1:])
    inside, also = [one for one in bot.heard if one.content in {"inside", "also"}]
    assert isinstance(inside.channel, discord.Thread)
    assert (inside.channel.id, inside.channel.parent_id, inside.channel.name) == (said.id, channel.id, "on it")
    await also.reply("there")
    assert server.texts(free) == ("there",)
    kinds = [one.type for one in bot.heard]
    assert discord.MessageType.thread_starter_message in kinds
    assert discord.MessageType.thread_created in kinds


async def test_threads_of_the_bot(server: DiscordServer, bot: Bot, ada: User, channel: Channel) -> None:
    server.say(channel, ada, "topic")
    (heard,) = await bot.hears(1)
    thread = await heard.create_thread(name="answer", auto_archive_duration=60)
    await thread.send("here")
    assert server.texts(thread.id) == ("here",)
    with pytest.raises(discord.HTTPException) as twice:
        await heard.create_thread(name="again")
    assert twice.value.code == 160004
    assert isinstance(heard.channel, discord.TextChannel)
    other = await heard.channel.create_thread(name="other", type=discord.ChannelType.public_thread)
    await other.edit(name="renamed")
    assert server.platform.rooms[other.id].name == "renamed"
    assert [member.id for member in await other.fetch_members()] == [server.bot.id]


async def test_writing_opens_an_archived_thread_but_not_a_locked_one(
    server: DiscordServer, bot: Bot, ada: User, channel: Channel
) -> None:
    thread = server.thread(channel, ada, "old")
    place = bot.get_partial_messageable(thread.id)
    sent = await place.send("one")
    server.archive(thread)
    for forbidden in (sent.edit(content="two"), sent.add_reaction("👀")):
        with pytest.raises(discord.HTTPException) as archived:
            await forbidden
        assert archived.value.code == 50083
    await place.send("three")
    state = server.platform.rooms[thread.id].thread
    assert state is not None
    assert not state.archived
    server.archive(thread, locked=True)
    with pytest.raises(discord.Forbidden) as locked:
        await place.send("four")
    assert locked.value.code == 160005
    server.unarchive(thread)
    server.delete_channel(thread)
    with pytest.raises(discord.NotFound) as gone:
        await place.send("five")
    assert gone.value.code == 10003


async def test_private_threads_are_for_their_members(
    server: DiscordServer, bot: Bot, ada: User, channel: Channel
) -> None:
    thread = server.thread(channel, ada, "secret", type=PRIVATE_THREAD)
    server.say(thread, ada, "not for the bot")
    server.say(thread, ada, f"<@{server.bot.id}> come in")
    server.say(thread, ada, "welcome")
    heard = await bot.hears(2)
    assert [one.content for one in heard] == [f"<@{server.bot.id}> come in", "welcome"]


async def test_forums_hold_posts_only(server: DiscordServer, bot: Bot, raw: Raw, ada: User, guild: Guild) -> None:
    forum = server.forum(guild)
    refused = await raw.call("POST", f"/channels/{forum.id}/messages", {"content": "x"})
    assert refused.code == 50008
    post, first = server.post(forum, ada, "Idea", "what if")
    (heard,) = await bot.hears(1)
    assert (heard.id, heard.channel.id, post.id) == (first.id, first.id, first.id)
    place = bot.get_channel(forum.id)
    assert isinstance(place, discord.ForumChannel)
    made = await place.create_thread(name="Mine", content="because")
    assert server.texts(made.thread.id) == ("because",)
    missing = await raw.call("POST", f"/channels/{forum.id}/threads", {"name": "x"})
    assert missing.body["errors"]["message"]["_errors"][0]["code"] == "BASE_TYPE_REQUIRED"


async def test_threads_need_permissions_and_names(raw: Raw, ada: User, guild: Guild, channel: Channel) -> None:
    server = raw.server
    said = server.say(channel, ada, "topic")
    path = f"/channels/{channel.id}/messages/{said.id}/threads"
    bodies: tuple[JsonObject, ...] = ({}, {"name": "x" * 101}, {"name": "x", "auto_archive_duration": 7})
    for body in bodies:
        assert (await raw.call("POST", path, body)).code == 50035
    server.overwrite(channel, guild, deny=may.CREATE_PUBLIC_THREADS | may.SEND_MESSAGES_IN_THREADS)
    assert (await raw.call("POST", path, {"name": "x"})).code == 50013
    thread = server.thread(channel, ada, "theirs")
    assert (await raw.call("POST", f"/channels/{thread.id}/messages", {"content": "x"})).code == 50013
    assert (await raw.call("PUT", f"/channels/{thread.id}/thread-members/@me")).status == 204
    assert (await raw.call("DELETE", f"/channels/{thread.id}/thread-members/@me")).status == 204
    assert (await raw.call("PATCH", f"/channels/{thread.id}", {"name": "mine"})).code == 50013
    listed = (await raw.call("GET", f"/guilds/{guild.id}/threads/active")).body["threads"]
    assert [one["name"] for one in listed] == ["theirs"]
