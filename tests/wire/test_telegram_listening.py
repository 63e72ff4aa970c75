"""How the Telegram bot listens: the real SDK over a socket against the strict double."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.vocabulary import Edit, Malformed, Message
from tests.clock import ManualClock
from tests.contract.doubles import running
from tests.fakes.telegram.model import JsonObject
from tests.fakes.telegram.server import TelegramServer
from tests.wire.telegram_world import World

# -- the backlog -----------------------------------------------------------------------------------------------------


async def test_c10_what_was_said_while_we_were_down_is_heard_in_order(world: World) -> None:
    for number in range(6):
        world.say(f"line {number}")
    async with running(world.bot, world.desk):
        await world.heard(6)
        await world.confirmed()
    assert world.words == [f"line {number}" for number in range(6)]
    polls = world.server.calls_of("getUpdates")
    assert "offset" not in polls[0].params
    assert polls[0].params["timeout"] == 0
    assert not world.server.calls_of("deleteWebhook")


@pytest.mark.endurance
async def test_ten_thousand_updates_arrive_in_order(world: World) -> None:
    for number in range(10_000):
        world.say(str(number))
    async with running(world.bot, world.desk):
        await world.heard(10_000)
        await world.confirmed()
    assert world.words == [str(number) for number in range(10_000)]
    assert max(len(batch) for batch in world.desk.batches) <= 100


async def test_c09_c11_a_redelivered_update_keeps_its_id(world: World) -> None:
    async with running(world.bot, world.desk):
        first = world.say("/restart")
        await world.heard(1)
        world.server.redeliver(first)
        await world.heard(2)
        world.say("/restart")
        await world.heard(3)
    assert [inbound.event for inbound in world.desk.heard] == [str(first), str(first), str(first + 1)]


async def test_after_a_quiet_week_the_offset_is_left_out() -> None:
    server_clock = ManualClock()
    async with TelegramServer(limits=None, clock=server_clock) as server:
        world = World(server)
        async with running(world.bot, world.desk):
            world.say("hello")
            await world.confirmed()
            world.clock.advance(timedelta(days=7).total_seconds())
            polls = len(server.calls_of("getUpdates"))
            server_clock.advance(25)
            await server.until(lambda: len(server.calls_of("getUpdates")) > polls)
            assert "offset" not in server.calls_of("getUpdates")[-1].params
            world.say("again")
            await world.confirmed()
        assert world.words == ["hello", "again"]


# -- what can't be read ----------------------------------------------------------------------------------------------


async def test_one_malformed_update_is_refused_and_the_stream_moves_on(world: World) -> None:
    world.say("before")
    bad = world.server.raw({"message": "oops"})
    world.server.raw({"message": {"message_id": 1, "chat": {"id": world.ada.id, "type": "private"}, "text": "no date"}})
    world.server.raw({"kind_of_tomorrow": {"x": 1}})
    world.say("after")
    async with running(world.bot, world.desk):
        await world.heard(4)
        await world.confirmed()
    malformed = [inbound for inbound in world.desk.heard if isinstance(inbound, Malformed)]
    assert [inbound.event for inbound in malformed] == [str(bad), str(bad + 1)]
    assert [type(inbound) for inbound in world.desk.heard] == [Message, Malformed, Malformed, Message]
    assert world.words == ["before", "after"]


async def test_what_is_not_for_us_is_confirmed_and_never_reaches_the_desk(world: World) -> None:
    group = world.server.group()
    channel = world.server.channel()
    world.server.join(group, world.ada)
    world.server.auto_forward(group, channel, "news")
    world.server.raw({"callback_query": {"id": "1"}})
    async with running(world.bot, world.desk):
        await world.up()
        await world.confirmed()
    assert world.desk.batches == []


async def test_an_update_without_an_id_is_stepped_over(world: World) -> None:
    async with running(world.bot, world.desk):
        world.say("before")
        await world.heard(1)
        await world.confirmed()
        world.server.raw({"update_id": "seven", "message": {}})
        await world.clock.asleep(1)
        assert "ids" in world.desk.health.last
        await world.wake(1)
        await world.confirmed()
        world.say("after")
        await world.heard(2)
    assert world.words == ["before", "after"]


async def test_an_update_without_an_id_does_not_hold_up_those_behind_it(world: World) -> None:
    world.server.raw({"update_id": None, "message": {}})
    async with running(world.bot, world.desk):
        await world.clock.asleep(1)
        world.say("hello")
        await world.wake(1)
        await world.heard(1)
        await world.confirmed()


async def test_a_megabyte_of_text_and_half_characters_arrive_and_can_be_stored(world: World) -> None:
    chat: JsonObject = {"id": world.ada.id, "type": "private"}
    message: JsonObject = {"message_id": 1, "date": 1, "chat": chat, "from": world.ada.json()}
    world.server.raw({"message": {**message, "text": "é" * 500_000}})
    world.server.raw({"message": {**message, "text": "a\ud800\0b"}})
    async with running(world.bot, world.desk):
        await world.heard(2)
    assert [len(text.encode()) for text in world.words] == [1_000_000, 8]


async def test_an_edit_is_heard(world: World) -> None:
    said = world.server.say(world.chat, world.ada, "helo")
    world.server.edit(world.chat, said.message_id, "hello")
    async with running(world.bot, world.desk):
        await world.heard(2)
    edit = world.desk.heard[1]
    assert isinstance(edit, Edit)
    assert (edit.message, edit.text) == (str(said.message_id), "hello")


async def test_c27_in_a_group_we_hear_our_name_replies_and_commands(world: World) -> None:
    group = world.server.group()
    ours = world.server.bot.username
    async with running(world.bot, world.desk):
        await world.up()
        for text in (f"/new@{ours}", "/new@otherbot", "chatter", f"@{ours} hello", "/help"):
            world.server.say(group, world.ada, text)
        await world.heard(4)
        await world.confirmed()
    heard = [(each.text, each.addressed) for each in world.desk.heard if isinstance(each, Message)]
    assert heard == [("/new", True), ("chatter", False), ("hello", True), ("/help", False)]


async def test_c28_who_speaks_as_a_chat_is_no_person(world: World) -> None:
    group, channel = world.server.group("Engines"), world.server.channel("News")
    world.server.say_anonymously(group, "one")
    world.server.say_as_channel(group, channel, "two")
    world.server.say_without_from(group, channel, "three")
    async with running(world.bot, world.desk):
        await world.heard(3)
    senders = [each.sender for each in world.desk.heard if isinstance(each, Message)]
    assert [(sender.user, sender.name) for sender in senders] == [(None, "Engines"), (None, "News"), (None, "News")]
