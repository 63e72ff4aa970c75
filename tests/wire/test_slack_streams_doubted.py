"""Streams of Slack's of which it is not known what arrived, or who began them, against the strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from core.errors import FloodWait, NotSent, Rejected, Unknown
from core.ports import Streams
from core.vocabulary import Button, MessageId
from tests.contract.doubles import running
from tests.wire.slack_answer import APPEND, END, POST, START, UPDATE, Answer
from tests.wire.slack_world import World, opened

STOP = Button(label="Stop", data="STOP", style="bad")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


# -- what may have arrived ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("applied", [True, False])
async def test_after_an_append_without_an_answer_it_is_edited(world: World, applied: bool) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("one")
        world.server.drop(APPEND, applied=applied)
        with pytest.raises(Unknown):
            await answer.grow("one two")
        await answer.grow("one two")
        assert answer.texts == ["one two"]
        await answer.end("one two three")
    assert answer.calls == [START, APPEND, END, UPDATE, UPDATE]
    assert answer.texts == ["one two three"]


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("times", [1, 2])
async def test_after_an_end_without_an_answer_it_is_edited(world: World, applied: bool, times: int) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("one")
        world.server.drop(END, applied=applied, count=times)
        for _ in range(times):
            with pytest.raises((Unknown, NotSent)):
                await answer.end("one two", STOP)
        await answer.end("one two", STOP)
    assert answer.texts == ["one two"]
    assert [block["type"] for block in answer.standing[0].blocks] == ["markdown", "actions"]


async def test_a_wait_that_slack_asks_for_is_kept_and_the_stream_goes_on(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("one")
        world.server.rate_limit(APPEND, 9)
        world.server.rate_limit(END, 9)
        with pytest.raises(FloodWait):
            await answer.grow("one two")
        with pytest.raises(FloodWait):
            await answer.end("one two three")
        world.clock.advance(9)
        await answer.grow("one two")
        await answer.end("one two three")
    assert answer.pieces == ["one", " two", " three"]
    assert answer.texts == ["one two three"]


@pytest.mark.parametrize("applied", [True, False])
async def test_a_beginning_without_an_answer_is_known_again(world: World, applied: bool) -> None:
    """What is said in the end need not begin as that did: another attempt's words may differ."""
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        earlier = await world.bot.send(world.delivery("something else", answer.address))
        world.server.drop(START, applied=applied)
        with pytest.raises(Unknown):
            await answer.begin("one")
    other = world.another()
    async with running(other, world.desk):
        await world.up()
        message = await other.send(answer.doubted("1 2"))
        again = await other.send(answer.doubted("1 2"))
        await other.edit(answer.saying("1 2 3", last=True), message)
    assert (again == message, message == earlier) == (True, False)
    assert answer.texts == ["something else", "1 2 3"]
    assert not any(one.streaming for one in answer.standing)


async def test_a_beginning_is_not_taken_for_another_one_s(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        lost, kept = Answer(world), None
        world.server.drop(START, applied=False)
        with pytest.raises(Unknown):
            await lost.begin("one")
        await world.acked()
        world.clock.advance(5)
        kept = Answer(world, lost.address)
        await kept.begin("uno")
    other = world.another()
    async with running(other, world.desk):
        await world.up()
        message = await other.send(lost.doubted("one", kept.message))
        await other.edit(kept.saying("uno due", last=True), kept.message)
    assert message != kept.message
    assert sorted(lost.texts) == ["one", "uno due"]


async def test_what_was_begun_before_the_question_is_not_its_answer(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        older = Answer(world)
        await older.begin("one")
        lost = Answer(world, older.address)
        lost.delivery = replace(lost.delivery, answers=MessageId(world.say("and?", thread=older.root).ts))
        world.server.drop(START, applied=False)
        with pytest.raises(Unknown):
            await lost.begin("uno")
    other = world.another()
    async with running(other, world.desk):
        await world.up()
        assert await other.send(lost.doubted("uno")) != older.message


async def test_after_a_restart_an_open_stream_is_stopped_before_it_is_edited(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("one")
    answer.bot = world.another()
    async with running(answer.bot, world.desk):
        await world.up()
        await answer.grow("ein")
        assert answer.texts == ["ein"]
        await answer.end("ein zwei")
    assert answer.calls == [START, END, UPDATE, UPDATE]
    assert answer.texts == ["ein zwei"]


async def test_while_slack_does_not_end_a_stream_nothing_is_lost(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("one")
    answer.bot = world.another()
    async with running(answer.bot, world.desk):
        await world.up()
        world.server.drop(END, applied=False)
        with pytest.raises(NotSent):
            await answer.end("one two")
        await answer.end("one two")
    assert answer.texts == ["one two"]


async def test_a_message_that_is_a_stream_after_all_is_stopped_when_slack_says_so(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        answer.message = await world.bot.send(answer.saying("one", last=True))
        world.server.error(UPDATE, "streaming_state_conflict")
        with pytest.raises(NotSent):
            await answer.end("one two")
        await answer.end("one two")
    assert answer.calls == [POST, UPDATE, END, UPDATE]
    assert answer.texts == ["one two"]


async def test_what_is_gone_is_said_to_be(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("one")
        world.server.delete(world.chat, answer.message)
        with pytest.raises(Rejected):
            await answer.end("one two")


def test_the_bot_says_where_it_streams(world: World) -> None:
    thread = world.address(world.chat, "1.000001")
    silent = world.another(stream=False)
    assert isinstance(world.bot, Streams)
    assert world.bot.streams(thread)
    assert not silent.streams(thread)


async def test_what_is_sent_where_a_beginning_cannot_grow_on_is_another_message(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        world.server.drop(START, applied=True)
        with pytest.raises(Unknown):
            await answer.begin("one")
        message = await world.bot.send(world.again(answer.saying("one two", last=True)))
    assert [one.ts == message for one in answer.standing] == [False, True]
