"""How long what is said now waits for what was said before it, and what is told of that."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contract.doubles import running
from tests.fakes.slack import RateLimits
from tests.wire.slack_world import World, opened

FAILING = "conversations.history"
LOST = "the connection to Slack was lost"
MISSING = "Slack does not give all that was said while nobody listened; it is asked again"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened(retries_s=()) as made:
        yield made


async def lasts(world: World, seconds: float, nap: int) -> int:
    """So much time passes, wait by wait; tells which wait is the next."""
    until_s = world.clock.monotonic() + seconds
    while world.clock.monotonic() < until_s:
        await world.wake(nap)
        nap += 1
    return nap


async def test_where_slack_never_gives_the_past_what_is_said_goes_on_after_two_minutes(world: World) -> None:
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    failing = world.server.answer(FAILING, 503, {}, channel=world.chat.id, count=None)
    async with running(world.another(connections=1), world.desk):
        await world.clock.asleep(1)
        world.say("live")
        nap = await lasts(world, 110, 1)
        assert world.words == []
        assert world.desk.health.last == "up"
        nap = await lasts(world, 10, nap)
        await world.heard(1)
        more = world.say("more")  # waits for nothing any more
        await world.heard(2)
        await world.server.until(lambda: world.server.acked(more))
        assert "while nobody listened" in world.desk.health.last
        await world.clock.asleep(nap)
        failing.cancel()
        await world.wake(nap)
        await world.heard(3)
        await world.desk.until(lambda: world.desk.health.last == "up")
    assert world.words == ["live", "more", "missed"]


async def test_that_the_past_is_missing_is_told_again_after_every_other_trouble(world: World) -> None:
    """And not while it is not known."""
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    failing = world.server.answer(FAILING, 503, {}, channel=world.chat.id, count=None)
    async with running(world.another(connections=1), world.desk):
        nap = await lasts(world, 120, 1)
        await world.desk.until(lambda: "while nobody listened" in world.desk.health.last)
        world.server.cut_sockets()
        await world.server.until(world.server.connected)
        failing.cancel()
        await world.wake(nap)
        await world.heard(1)
        await world.desk.until(lambda: world.desk.health.last == "up")
    told = world.desk.health.said
    assert told[told.index(LOST) + 1] == MISSING


async def test_that_slack_does_not_tell_where_people_write_is_told_too(world: World) -> None:
    """And that it does again, though nothing is to be read there."""
    world.server.platform.rooms.pop(world.chat.id)
    failing = world.server.error("users.conversations", "internal_error", count=None)
    async with running(world.another(connections=1), world.desk):
        nap = await lasts(world, 120, 1)
        await world.desk.until(lambda: world.desk.health.last == MISSING)
        await world.clock.asleep(nap)
        failing.cancel()
        await world.wake(nap)
        await world.desk.until(lambda: world.desk.health.last == "up")


async def test_whoever_speaks_waits_for_no_place_where_nobody_does(world: World) -> None:
    """Also if some speak at once; what can be had is had without that any time passes."""
    world.server.set_limits(RateLimits())
    people = [world.server.person(f"Person{number}") for number in range(300)]
    chats = [world.server.im(person) for person in people]
    for chat in reversed(chats):
        world.haunt(chat)
    world.later(1)
    for chat, person in zip(chats, people, strict=True):
        world.server.say(chat, person, "missed")
    async with running(world.another(connections=1), world.desk):
        await world.heard(25)
        await lasts(world, 5, 1)
        for chat, person in list(zip(chats, people, strict=True))[-10:]:
            world.server.say(chat, person, "live")
        await world.desk.until(lambda: world.words.count("live") == 10)
    assert len(world.words) < 50
    assert world.server.problems_of("rate") == ()
