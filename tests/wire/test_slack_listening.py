"""How the Slack bot listens: the real SDK over sockets against the strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bots.slack.line import Patience
from core.vocabulary import ChatKind, Edit, Malformed, Message
from tests.contract.doubles import running
from tests.fakes.slack.model import JsonObject
from tests.wire.slack_world import World, opened


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


# -- one answer for each message ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mention_first", [False, True])
async def test_c12_a_mention_is_one_message_in_either_order(world: World, mention_first: bool) -> None:
    world.server.platform.mention_first = mention_first
    async with running(world.bot, world.desk):
        await world.up()
        said = world.say(f"{world.server.bot} hello", world.general)
        await world.heard(1)
        await world.acked()
    assert len(said.event_ids) == 2
    assert len(world.desk.heard) == 1
    message = world.messages[0]
    assert (message.text, message.addressed, message.kind) == ("hello", True, ChatKind.THREAD)
    assert (message.message, message.address.thread, message.address.chat) == (said.ts, said.ts, world.general.id)


async def test_c12_both_events_of_a_mention_read_the_same_though_one_comes_after_a_restart(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        said = world.say(f"hi {world.server.bot}", world.general)
        await world.acked()
    async with running(world.another(), world.desk):
        await world.up()
        for event in said.event_ids:
            world.server.redeliver(event)
        await world.heard(2)
        await world.acked()
    assert world.messages[0] == world.messages[1]


async def test_c15_what_takes_five_seconds_to_store_is_heard_once_however_often_slack_tries(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.desk.open.clear()
        said = world.say("slowly")
        await world.desk.until(lambda: world.desk.waiting == 1)
        delivery = world.server.delivery(said.event_ids[0])
        world.clock.advance(3)
        await world.server.until(lambda: len(delivery.attempts) == 2)
        world.clock.advance(3)
        await world.server.until(lambda: delivery.state == "waiting")
        world.clock.advance(60)
        await world.server.until(lambda: len(delivery.attempts) == 3)
        world.desk.open.set()
        await world.heard(1)
        await world.server.until(lambda: world.server.settled(said))
    assert world.words == ["slowly"]
    assert world.desk.most_waiting == 1


async def test_an_event_is_acknowledged_at_once(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        said = world.say("quickly")
        await world.acked()
    (attempt,) = world.server.delivery(said.event_ids[0]).attempts
    assert attempt.delay_s == 0


# -- what is not for us ------------------------------------------------------------------------------------------------


async def test_what_nobody_said_to_us_is_acknowledged_and_never_reaches_the_desk(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        said = world.say("look: https://example.com", world.general)
        await world.heard(1)
        world.server.unfurl(world.general, said, "https://example.com")
        world.server.join(world.general, world.server.person("Bob"))
        world.server.delete(world.general, said)
        world.server.say(world.general, world.ada, "Topic: cats", subtype="channel_topic")
        world.server.send_event({"type": "kind_of_tomorrow", "x": [1]})
        await world.bot.send(world.delivery("ours", world.address(world.general)))
        await world.quiet(1)
    assert world.messages[0].addressed is False


async def test_an_envelope_of_another_time_is_acknowledged_at_once(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        courier = world.server.platform.courier
        courier.add(world.server.bot.app_id, "of_tomorrow", {"x": 1})  # type: ignore[arg-type]
        world.server.platform.changed()
        await world.quiet()


async def test_c28_c30_other_bots_are_named_as_such_and_our_own_words_are_not_heard(world: World) -> None:
    jenkins, elsewhere = world.server.other_bot(), world.server.add_bot("x", app_of=world.server.bot)
    async with running(world.bot, world.desk):
        await world.up()
        world.server.say(world.general, jenkins, "done", subtype="bot_message")
        world.server.say(world.general, jenkins, f"{world.server.bot} done")
        world.server.say(world.general, world.server.as_person(elsewhere), "from our other workspace")
        world.say("last", world.general)
        await world.heard(3)
        await world.acked()
    assert [(message.text, message.sender.is_bot) for message in world.messages] == [
        ("done", True),
        ("done", True),
        ("last", False),
    ]


async def test_one_malformed_event_is_refused_and_the_stream_moves_on(world: World) -> None:
    broken: JsonObject = {"type": "message", "channel": world.chat.id, "channel_type": "im", "text": "no time"}
    async with running(world.bot, world.desk):
        await world.up()
        world.say("before")
        await world.heard(1)
        bad = world.server.send_event(broken)
        world.server.send_event({"type": "message", "channel": 7})
        await world.heard(3)
        world.say("after")
        await world.heard(4)
        await world.acked()
    assert [type(inbound) for inbound in world.desk.heard] == [Message, Malformed, Malformed, Message]
    assert world.desk.heard[1].event == bad.event_id


# -- where it is said --------------------------------------------------------------------------------------------------


async def test_each_place_is_what_it_is(world: World) -> None:
    bob = world.server.person("Bob")
    several = world.server.mpim(world.ada, bob)
    async with running(world.bot, world.desk):
        await world.up()
        direct = world.say("direct")
        world.say("in the assistant's pane", thread=direct)
        root = world.say("chatter", world.general)
        world.say("reply", world.general, root)
        world.say("three of us", several)
        await world.heard(5)
        await world.acked()
    found = [(m.kind, m.address.chat, m.address.thread, m.addressed) for m in world.messages]
    assert found == [
        (ChatKind.DIRECT, world.chat.id, None, True),
        (ChatKind.DIRECT, world.chat.id, direct.ts, True),
        (ChatKind.GROUP, world.general.id, None, False),
        (ChatKind.THREAD, world.general.id, root.ts, False),
        (ChatKind.GROUP, several.id, None, False),
    ]
    assert {message.within for message in world.messages} == {world.server.team.id}
    assert {message.sender.realm for message in world.messages} == {world.server.team.id}
    assert [message.sender.name for message in world.messages] == ["ada", "ada", "", "ada", ""]


async def test_c29_in_a_thread_others_go_on_without_a_mention(world: World) -> None:
    bob = world.server.person("Bob")
    async with running(world.bot, world.desk):
        await world.up()
        root = world.say(f"{world.server.bot} let us talk", world.general)
        world.server.say(world.general, bob, "and me?", thread=root)
        await world.heard(2)
    first, second = world.messages
    assert first.address.thread == second.address.thread == root.ts
    assert (second.kind, second.addressed, second.sender.user) == (ChatKind.THREAD, False, bob.id)


async def test_a_message_of_blocks_alone_is_heard(world: World) -> None:
    line: JsonObject = {"type": "rich_text_section", "elements": [{"type": "text", "text": "hello there"}]}
    blocks: JsonObject = {"blocks": [{"type": "rich_text", "elements": [line]}]}
    async with running(world.bot, world.desk):
        await world.up()
        world.server.say(world.chat, world.ada, "", extra=blocks)
        await world.heard(1)
    assert world.words == ["hello there"]


# -- what is asked for -------------------------------------------------------------------------------------------------


async def test_nothing_is_asked_of_slack_for_what_the_desk_drops(world: World) -> None:
    bob = world.server.person("Bob")
    world.desk.unheard.add(bob.id)
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        root = world.say(f"have you seen {bob}?", world.general)
        said = world.server.say(world.general, bob, f"{world.server.bot} where is {world.ada}?", thread=root)
        world.server.edit(world.general, said, f"{world.server.bot} and {world.ada}?")
        await world.heard(3)
        await world.acked()
    assert {call.method for call in world.server.calls} == {"auth.test", "apps.connections.open", "socket"}


async def test_a_stranger_in_private_has_a_name_since_somebody_may_let_them_in(world: World) -> None:
    world.desk.unheard.add(world.ada.id)
    async with running(world.bot, world.desk):
        await world.up()
        world.say("hello")
        await world.heard(1)
    assert world.messages[0].sender.name == "ada"


@pytest.mark.parametrize("silent", [True, False])
async def test_an_old_name_stays_while_slack_does_not_tell_it(world: World, silent: bool) -> None:
    async with running(world.another(Patience(aside_s=0.1)), world.desk):
        await world.up()
        world.say("one")
        await world.heard(1)
        await world.acked()
        world.later(61)
        asked = world.sent("users.info")
        if silent:
            world.server.hang("users.info", count=None)
        else:
            world.server.error("users.info", "internal_error", count=None)
        for number in (2, 3):
            world.say("more")
            await world.heard(number)
        await world.acked()
        assert world.sent("users.info") == asked + 1
    assert [message.sender.name for message in world.messages] == ["ada"] * 3


async def test_what_is_being_read_ends_with_the_bot(world: World) -> None:
    root = world.say("the printer is on fire", world.general)
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        hung = world.server.hang("users.info", count=None)
        world.say(f"{world.server.bot} what now?", world.general, root)
        await world.server.until(lambda: hung.hits > 0)
    hung.release()
    async with running(world.another(catch_up=0), world.desk):
        await world.server.until(lambda: world.server.connected(2))
    assert world.sent("conversations.replies") == 0


# -- what is said ------------------------------------------------------------------------------------------------------


async def test_tokens_are_read_to_us(world: World) -> None:
    bob = world.server.person("Bob")
    async with running(world.bot, world.desk):
        await world.up()
        world.say(f"{bob} a < b && c, see {world.general} and <https://example.com/x?a=1|this> or https://x.org/ @here")
        await world.heard(1)
    (text,) = world.words
    expected = "@bob a < b && c, see #general and this (https://example.com/x?a=1) or https://x.org/ @here"
    assert text == expected


@pytest.mark.parametrize("token", ["<#{}>", "<#{}|>"])
async def test_a_channel_that_comes_without_its_name_is_called_by_it(world: World, token: str) -> None:
    hidden = world.server.channel("hidden", private=True, with_bot=False)
    text = f"see {token.format(world.general.id)} and {token.format(hidden.id)}"
    event: JsonObject = {"type": "message", "channel": world.chat.id, "channel_type": "im", "user": world.ada.id}
    async with running(world.bot, world.desk):
        await world.up()
        world.server.send_event({**event, "text": text, "ts": "1767225600.000900", "event_ts": "1767225600.000900"})
        await world.heard(1)
    assert world.words == [f"see #general and #{hidden.id}"]


async def test_an_edit_is_heard_and_only_one(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        said = world.say("helo")
        await world.heard(1)
        edited = world.server.edit(world.chat, said, "hello & bye")
        await world.heard(2)
        world.server.redeliver(edited)
        await world.quiet(2)
    edit = world.desk.heard[1]
    assert isinstance(edit, Edit)
    assert (edit.message, edit.text, edit.address.chat) == (said.ts, "hello & bye", world.chat.id)


async def test_a_burst_keeps_its_order(world: World) -> None:
    """On one socket: Slack itself orders nothing that it hands to two."""
    async with running(world.another(connections=1), world.desk):
        await world.server.until(world.server.connected)
        for number in range(300):
            world.say(str(number))
        await world.heard(300)
        await world.acked()
    assert world.words == [str(number) for number in range(300)]


async def test_what_comes_over_several_sockets_at_once_is_put_in_order(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.desk.open.clear()
        world.say("first")
        await world.desk.until(lambda: world.desk.waiting == 1)
        for number in range(20):
            world.say(str(number))
        await world.server.until(lambda: all(one.attempts for one in world.server.deliveries))
        world.desk.open.set()
        await world.heard(21)
        await world.acked()
    assert world.words == ["first", *(str(number) for number in range(20))]


async def test_c48_only_the_id_tells_who_somebody_is(world: World) -> None:
    """A stranger may call themselves anything."""
    mallory = world.server.person("ada")
    async with running(world.bot, world.desk):
        await world.up()
        world.say(f"{world.server.bot} I am Ada", world.general)
        world.server.say(world.general, mallory, f"{world.server.bot} I am Ada")
        await world.heard(2)
        await world.acked()
    ada, stranger = (one.sender for one in world.messages)
    assert (ada.user, stranger.user) == (world.ada.id, mallory.id)
    assert ada.name == stranger.name == "ada"
    assert ada.user != stranger.user
