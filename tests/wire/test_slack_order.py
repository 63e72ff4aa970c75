"""What is said while the past is still being read: it waits for what was said before it in the same place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from core.ports import Haunt
from core.vocabulary import BotName, Button
from tests.contract.doubles import running
from tests.fakes.slack.model import Channel
from tests.wire.slack_world import SlackDesk, World, opened

STOP = (Button(label="Stop", data="STOPSTOP"),)


class SlowDesk(SlackDesk):
    """It takes its time to tell where people talk with us."""

    def __init__(self) -> None:
        super().__init__()
        self.telling = asyncio.Event()

    async def haunts(self, bot: BotName, most: int) -> Sequence[Haunt]:
        await self.telling.wait()
        return await super().haunts(bot, most)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened(retries_s=()) as made:
        yield made


async def arrived(world: World) -> None:
    """What was said has come to us, whatever becomes of it."""
    [socket] = world.server.sockets()
    before = socket.pongs
    world.server.ping()
    await world.server.until(lambda: socket.pongs > before)


async def other_chats_go_on(world: World) -> None:
    said = world.say(f"{world.server.bot} elsewhere", world.general)
    await world.server.until(lambda: world.server.acked(said))


def asked(world: World) -> list[object]:
    return [call.params["channel"] for call in world.server.calls_of("conversations.history")]


async def test_it_waits_while_slack_does_not_give_the_past_and_no_other_place_does(world: World) -> None:
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    failing = world.server.answer("conversations.history", 503, {}, channel=world.chat.id, count=None)
    async with running(world.another(connections=1), world.desk):
        for nap in (1, 2, 3):
            await world.wake(nap)
        world.say("live")
        await other_chats_go_on(world)
        await world.wake(4)
        assert world.words == ["elsewhere"]
        await world.clock.asleep(5)
        failing.cancel()
        await world.wake(5)
        await world.heard(3)
    assert world.words == ["elsewhere", "missed", "live"]


async def test_it_waits_for_no_place_that_slack_refuses(world: World) -> None:
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    world.server.error("conversations.history", "channel_not_found", count=None)
    async with running(world.another(connections=1), world.desk):
        await world.desk.until(lambda: world.desk.health.last == "up")
        world.say("live")
        await world.heard(1)
    assert world.words == ["live"]


async def test_it_waits_before_it_is_known_where_people_talk_with_us(world: World) -> None:
    world.desk = desk = SlowDesk()
    thread = world.say(f"{world.server.bot} a conversation", world.general)
    world.later(20)
    world.haunt(world.general, thread)
    world.later(1)
    world.say("missed", world.general, thread)
    bot = world.another(connections=1)
    async with running(bot, desk):
        await world.server.until(world.server.connected)
        question = await bot.send(world.delivery("well?", world.address(world.general, thread), buttons=STOP))
        world.say("live", world.general, thread)
        world.server.click(world.general, question, world.ada, "fd:STOPSTOP")
        await desk.until(lambda: bool(world.presses))
        assert not world.messages
        desk.telling.set()
        await world.heard(3)
    assert world.words == ["missed", "live"]


async def test_who_speaks_first_is_read_first(world: World) -> None:
    people = [world.server.person(f"Person{number}") for number in range(60)]
    chats: list[Channel] = [world.server.im(person) for person in people]
    for chat in reversed(chats):
        world.haunt(chat)
    world.later(1)
    for chat, person in zip(chats, people, strict=True):
        world.server.say(chat, person, "missed")
    async with running(world.another(connections=1), world.desk):
        await world.clock.asleep(4)  # as many as are read at once when nobody waits for any
        await world.heard(25)
        for number in (59, 55, 57):
            world.server.say(chats[number], people[number], "live")
        await arrived(world)
        await world.hurry(63)
    late = [chats[number].id for number in (59, 55, 57)]
    assert [chat for chat in asked(world) if chat in late] == late


async def test_no_more_than_so_much_waits_here_and_what_does_not_is_read_in_order(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the place was just being read."""
    monkeypatch.setattr("bots.slack.intake._MOST_HELD", 2)
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    reading = world.server.delay("conversations.history", channel=world.chat.id)
    async with running(world.another(connections=1), world.desk):
        await world.server.until(lambda: world.chat.id in asked(world))
        await world.server.until(world.server.connected)
        for number in range(5):
            world.say(f"{number}")
        await arrived(world)
        await other_chats_go_on(world)
        assert world.words == ["elsewhere"]
        reading.release()
        await world.heard(7)
    assert world.words == ["elsewhere", "missed", *(str(number) for number in range(5))]


async def test_no_place_is_read_twice(world: World) -> None:
    """Though it is known, and listed while it is being read."""
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    reading = world.server.delay("conversations.history", channel=world.chat.id)
    async with running(world.another(connections=1), world.desk):
        await world.server.until(lambda: bool(world.server.calls_of("users.conversations")))
        await world.server.until(lambda: world.chat.id in asked(world))
        reading.release()
        await world.desk.until(lambda: world.desk.notes.get("behind since") == "")
    assert asked(world) == [world.chat.id]
