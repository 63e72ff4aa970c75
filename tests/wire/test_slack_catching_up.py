"""What was said while the Slack bot was away: the real SDK against the strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.vocabulary import ChatKind
from tests.contract.doubles import running
from tests.wire.slack_world import World, opened


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened(retries_s=()) as made:  # whatever Slack can't hand over at once is lost
        yield made


async def test_what_was_said_while_we_were_away_is_read_in_order_and_no_more(world: World) -> None:
    bob = world.server.person("Bob")
    thread = world.say(f"{world.server.bot} a conversation", world.general)
    world.say("in direct")
    world.later(60)
    world.haunt(world.general, thread)
    world.haunt(world.chat)
    world.later(30)
    world.say("one")
    world.later(1)
    world.server.say(world.general, bob, "two", thread=thread)
    world.later(1)
    world.say("not for us", world.general)
    begun = world.say(f"{world.server.bot} three", world.general)
    world.later(1)
    world.say("four", world.general, begun)
    world.later(1)
    other = world.server.im(bob)
    world.server.say(other, bob, "five, from somebody new")
    async with running(world.bot, world.desk):
        await world.up()
        await world.heard(5)
        world.say("six")
        await world.heard(6)
    assert world.words == ["one", "two", "three", "four", "five, from somebody new", "six"]
    assert [message.kind for message in world.messages[1:4]] == [ChatKind.THREAD] * 3
    assert {message.address.thread for message in world.messages[2:4]} == {begun.ts}


async def test_what_is_too_old_stays_where_it_is(world: World) -> None:
    world.say("yesterday")
    world.later(24 * 60 + 1)
    world.haunt(world.chat)
    world.desk.haunted[0] = type(world.desk.haunted[0])(
        address=world.address(), kind=ChatKind.DIRECT, heard_at=world.desk.stale_before
    )
    world.say("today")
    world.desk.stale_before = world.clock.now()
    world.later(1)
    world.say("now")
    async with running(world.bot, world.desk):
        await world.up()
        await world.heard(1)
        world.say("live")
        await world.heard(2)
    assert world.words == ["now", "live"]


async def test_only_so_much_is_read_of_each_place_the_newest(world: World) -> None:
    thread = world.say(f"{world.server.bot} a conversation", world.general)
    world.later(20)
    world.haunt(world.general, thread)
    for number in range(7):
        world.later(20)
        world.say(f"direct {number}")
        world.say(f"thread {number}", world.general, thread)
    async with running(world.another(catch_up=3), world.desk):
        await world.up()
        await world.heard(6)
        world.say("live")
        await world.heard(7)
    assert sorted(world.words[:6]) == sorted(f"{place} {n}" for n in (4, 5, 6) for place in ("direct", "thread"))


async def test_many_pages_are_read(world: World) -> None:
    thread = world.say(f"{world.server.bot} a conversation", world.general)
    world.later(20)
    world.haunt(world.general, thread)
    for number in range(450):
        world.say(f"{number}", world.general, thread)
    async with running(world.another(catch_up=1_000), world.desk):
        await world.heard(450)
    assert world.words == [str(number) for number in range(450)]


async def test_catching_up_can_be_switched_off(world: World) -> None:
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        world.say("live")
        await world.heard(1)
    assert world.words == ["live"]
    assert world.sent("conversations.history") == 0


async def test_a_gap_while_we_run_is_caught_up_with(world: World) -> None:
    async with running(world.another(connections=1), world.desk):
        await world.server.until(world.server.connected)
        world.say("before")
        await world.heard(1)
        world.later(20)
        await world.server.pause()
        await world.clock.asleep(1)
        world.later(20)
        await world.clock.asleep(2)
        world.say("meanwhile")
        await world.server.resume()
        await world.wake(2)
        await world.heard(2)
        world.say("after")
        await world.heard(3)
    assert world.words == ["before", "meanwhile", "after"]


async def test_a_rate_limit_on_the_way_is_waited_for_and_holds_up_nobody(world: World) -> None:
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    world.server.rate_limit("conversations.history", 30)
    async with running(world.bot, world.desk):
        await world.up()
        world.say("live")
        await world.heard(1)
        await world.server.until(lambda: world.server.deliveries[-1].state == "acked")
        assert await world.wake(1) == 30
        await world.heard(2)
    assert world.words == ["live", "missed"]


async def test_a_place_that_is_not_to_be_read_hides_no_other(world: World) -> None:
    gone = world.server.channel("gone", with_bot=False)
    world.haunt(gone)
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    async with running(world.another(groups=[gone.id]), world.desk):
        await world.up()
        await world.heard(1)
    assert world.words == ["missed"]
