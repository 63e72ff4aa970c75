"""Whether what the Slack bot sends is there already: the real SDK against the strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from core.errors import FloodWait, NotSent, Unknown
from tests.contract.doubles import running
from tests.drivers.slack import shown
from tests.fakes.slack.model import JsonValue
from tests.wire.slack_world import World, opened


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("in_thread", [True, False])
async def test_an_unknown_outcome_is_settled_by_looking(world: World, applied: bool, in_thread: bool) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        root = world.say("question")
        delivery = world.delivery("answer", world.address(world.chat, root if in_thread else None))
        world.server.drop("chat.postMessage", applied=applied)
        with pytest.raises(Unknown):
            await world.bot.send(delivery)
        message = await world.bot.send(world.again(delivery))
        again = await world.bot.send(world.again(delivery))
    assert [(one.ts, shown(one)) for one in world.shown()] == [(message, "answer")]
    assert again == message
    assert world.bot.capabilities.idempotent_for_s == 3_600


async def test_after_a_restart_what_may_be_there_is_looked_for(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        first = await world.bot.send(delivery := world.delivery("answer"))
    async with running(world.another(), world.desk):
        await world.up()
    other = world.another()
    async with running(other, world.desk):
        await world.up()
        assert await other.send(world.again(delivery)) == first
        assert await other.send(world.again(world.delivery("another"))) != first
    assert len(world.shown()) == 2


async def test_a_beginning_that_stands_is_not_taken_for_the_answer(world: World) -> None:
    """An answer that is sent anew, since its beginning could not be edited, and whose fate a kill left open."""
    async with running(world.bot, world.desk):
        await world.up()
        whole = world.delivery("begun, and ended")
        begun = await world.bot.send(replace(whole, text="begun", beginning=True))
    other = world.another()
    async with running(other, world.desk):
        await world.up()
        assert await other.send(world.again(replace(whole, text="begun", beginning=True))) == begun
        sent = await other.send(world.again(whole))
        assert await other.send(world.again(whole)) == sent != begun
    assert [shown(message) for message in world.shown()] == ["begun", "begun, and ended"]


async def test_what_may_be_there_is_known_however_long_nobody_could_look(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.drop("chat.postMessage", applied=True)
        with pytest.raises(Unknown):
            await world.bot.send(delivery := world.delivery("answer"))
        await world.acked()
        world.later(20 * 60)
        message = await world.bot.send(world.again(delivery))
    assert [one.ts for one in world.shown()] == [message]


async def test_where_too_much_was_said_nobody_claims_that_it_is_not_there(world: World) -> None:
    bot = world.another(catch_up=0)  # nobody else reads the history
    more: JsonValue = {"ok": True, "messages": [], "response_metadata": {"next_cursor": "more"}}
    async with running(bot, world.desk):
        await world.up()
        world.server.drop("chat.postMessage", applied=True)
        with pytest.raises(Unknown):
            await bot.send(delivery := world.delivery("answer"))
        world.server.answer("conversations.history", 200, more, count=None)
        with pytest.raises(Unknown, match="too much") as caught:
            await bot.send(world.again(delivery))
    assert caught.value.for_good
    assert len(world.shown()) == 1


async def test_what_is_far_down_is_found(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.drop("chat.postMessage", applied=True)
        with pytest.raises(Unknown):
            await world.bot.send(delivery := world.delivery("answer"))
        await world.acked()
        for _ in range(11):
            for number in range(100):
                world.say(str(number))
            await world.acked()
        world.later(1)
        message = await world.bot.send(world.again(delivery))
    assert [one.ts for one in world.shown()] == [message]


async def test_what_certainly_failed_here_is_not_looked_for(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.error("chat.postMessage", "ratelimited")
        with pytest.raises(FloodWait):
            await world.bot.send(delivery := world.delivery("x"))
        world.clock.advance(60)
        await world.bot.send(delivery)
    assert not any("include_all_metadata" in call.params for call in world.server.calls)


async def test_where_it_is_not_to_be_known_nothing_is_sent_twice(world: World) -> None:
    bot = world.another(catch_up=0)  # nobody else reads the history
    async with running(bot, world.desk):
        await world.up()
        world.server.drop("chat.postMessage", applied=True)
        with pytest.raises(Unknown):
            await bot.send(delivery := world.delivery("answer"))
        world.server.error("conversations.history", "internal_error")
        with pytest.raises(NotSent, match="not known"):
            await bot.send(world.again(delivery))
        await bot.send(world.again(delivery))
    assert len(world.shown()) == 1
