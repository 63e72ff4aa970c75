"""Topics of forums and of private chats, albums, and groups that get another id."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.errors import ChatDead, FloodWait, Rejected, ThreadGone
from core.vocabulary import ChatKind, Moved
from tests.contract.doubles import running
from tests.wire.telegram_world import World

# -- topics ------------------------------------------------------------------------------------------------------------


async def test_a_topic_is_answered_in_its_own_thread(world: World) -> None:
    forum = world.server.group("Forum", forum=True)
    topic = world.server.topic(forum, world.ada)
    async with running(world.bot, world.desk):
        said = world.server.say(forum, world.ada, "@frontdesk_test_bot here", message_thread_id=topic)
        await world.heard(1)
        (message,) = world.messages
        assert (message.kind, message.address.thread, message.addressed) == (ChatKind.THREAD, str(topic), True)
        assert message.quote is None
        await world.bot.send(replace(world.delivery("there"), address=message.address, kind=message.kind))
        await world.bot.typing(message.address)
    sent = world.server.chat(forum).from_bot[-1]
    assert (sent.thread_id, sent.reply_to) == (topic, said.message_id)
    assert [action.thread_id for action in world.server.chat(forum).actions] == [topic]


async def test_general_is_no_thread_and_only_the_typing_sign_names_it(world: World) -> None:
    forum = world.server.group("Forum", forum=True)
    async with running(world.bot, world.desk):
        world.server.say(forum, world.ada, "@frontdesk_test_bot hello")
        await world.heard(1)
        (message,) = world.messages
        assert (message.kind, message.address.thread) == (ChatKind.GROUP, None)
        await world.bot.typing(message.address)
        await world.bot.send(replace(world.delivery("hi"), address=message.address, kind=message.kind))
        await world.bot.send(world.delivery("by number", chat=forum, thread=1))
    assert [action.thread_id for action in world.server.chat(forum).actions] == [1]
    assert world.server.chat(forum).bot_texts == ("hi", "by number")
    assert all("message_thread_id" not in call.params for call in world.server.calls_of("sendMessage"))


async def test_in_other_groups_a_typing_sign_names_no_topic(world: World) -> None:
    group = world.server.group("Group")
    async with running(world.bot, world.desk):
        said = world.server.say(group, world.ada, "first")
        world.server.say(group, world.ada, "reply", reply_to=said.message_id, message_thread_id=said.message_id)
        await world.heard(2)
        assert [message.address.thread for message in world.messages] == [None, None]
        await world.bot.typing(world.messages[1].address)
    assert [action.thread_id for action in world.server.chat(group).actions] == [None]


async def test_a_topic_of_a_private_chat_is_a_direct_thread(world: World) -> None:
    topic = world.server.topic(world.chat, world.ada)
    async with running(world.bot, world.desk):
        world.server.say(world.chat, world.ada, "here", message_thread_id=topic)
        await world.heard(1)
        (message,) = world.messages
        assert (message.kind, message.address.thread, message.addressed) == (ChatKind.DIRECT, str(topic), True)
        await world.bot.send(replace(world.delivery("there"), address=message.address))
    assert world.server.chat(world.chat).from_bot[-1].thread_id == topic


async def test_what_was_for_a_topic_that_is_gone_may_be_said_in_the_chat_around_it(world: World) -> None:
    forum = world.server.group("Forum", forum=True)
    async with running(world.bot, world.desk):
        await world.up()
        for chat in (forum, world.chat):
            with pytest.raises(ThreadGone, match="thread not found"):
                await world.bot.send(world.delivery("nowhere", chat=chat, thread=77))
    assert world.server.chat(forum).bot_texts == world.server.chat(world.chat).bot_texts == ()


# -- albums ------------------------------------------------------------------------------------------------------------


async def test_an_album_in_a_group_is_for_us_as_a_whole_once_its_caption_names_us(world: World) -> None:
    group, bob = world.server.group("Group"), world.server.user("Bob")
    async with running(world.bot, world.desk):
        world.server.album(
            group, world.ada, [("photo", {"caption": "@frontdesk_test_bot which one?"}), ("photo", {}), ("photo", {})]
        )
        world.server.album(group, bob, [("photo", {"caption": "holidays"}), ("photo", {})])
        world.server.share(group, bob, "photo")
        await world.heard(6)
    assert [message.addressed for message in world.messages] == [True, True, True, False, False, False]
    assert [message.more_likely for message in world.messages] == [True] * 5 + [False]
    assert [message.text for message in world.messages][:2] == ["which one?", ""]
    assert all(len(message.attachments) == 1 for message in world.messages)


async def test_a_caption_behind_its_pictures_counts_for_those_that_came_with_it(world: World) -> None:
    group = world.server.group("Group")
    world.server.album(group, world.ada, [("photo", {}), ("photo", {"caption": "@frontdesk_test_bot these"})])
    async with running(world.bot, world.desk):
        await world.heard(2)
    assert [message.addressed for message in world.messages] == [True, True]


# -- chats that move ---------------------------------------------------------------------------------------------------


async def test_c31_a_moved_group_is_told_once_and_written_to_at_its_new_id(world: World) -> None:
    group = world.server.group("Engines", supergroup=False)
    asked = world.server.say(group, world.ada, "@frontdesk_test_bot hi")
    async with running(world.bot, world.desk):
        await world.heard(1)
        there = world.server.migrate(group, world.ada)
        sent = await world.bot.send(world.delivery("hello", chat=group, reply_to=asked.message_id))
        await world.heard(4)
    (answer,) = world.server.chat(there).from_bot
    assert (str(answer.message_id), answer.text, answer.reply_to) == (sent, "hello", None)
    moves = {one for one in world.desk.heard if isinstance(one, Moved)}
    assert [(move.address.chat, move.to) for move in moves] == [(str(group.id), str(there.id))]
    assert world.desk.most_waiting == 1


async def test_c31_an_edit_in_a_moved_group_is_refused_and_tells_of_the_move(world: World) -> None:
    group = world.server.group("Engines", supergroup=False)
    async with running(world.bot, world.desk):
        await world.up()
        sent = await world.bot.send(world.delivery("one", chat=group))
        there = world.server.migrate(group, world.ada)
        await world.heard(2)
        with pytest.raises(Rejected):
            await world.bot.edit(world.delivery("one two", chat=group), sent)
        await world.heard(3)
    assert {(one.address.chat, one.to) for one in world.desk.heard if isinstance(one, Moved)} == {
        (str(group.id), str(there.id))
    }
    assert world.server.chat(there).bot_texts == ()


async def test_c31_the_new_chat_is_tried_once_and_its_refusal_stands(world: World) -> None:
    group = world.server.group("Engines", supergroup=False)
    async with running(world.bot, world.desk):
        await world.up()
        there = world.server.migrate(group, world.ada)
        world.server.kick(there, world.ada)
        with pytest.raises(ChatDead):
            await world.bot.send(world.delivery("hello", chat=group))
        assert len(world.server.calls_of("sendMessage")) == 2
        world.server.flood(there, 9)
        world.server.set_status(there, world.ada, "member")
        with pytest.raises(FloodWait):
            await world.bot.send(world.delivery("hello", chat=group))
    assert any(isinstance(one, Moved) for one in world.desk.heard)


async def test_c31_a_store_that_refuses_keeps_no_answer_from_a_moved_group(world: World) -> None:
    group = world.server.group("Engines", supergroup=False)
    async with running(world.bot, world.desk):
        await world.up()
        world.desk.refusing = True
        there = world.server.migrate(group, world.ada)
        await world.bot.send(world.delivery("hello", chat=group))
        assert world.server.chat(there).bot_texts == ("hello",)
        world.desk.refusing = False
        await world.wake(1)
        await world.desk.until(lambda: any(isinstance(one, Moved) for one in world.desk.heard))
