"""Answers that grow in Slack's threads as streams, against the strict double: no rule of Slack's is broken anywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bots.slack import markup
from core.vocabulary import Button
from tests.contract.doubles import running
from tests.wire.slack_answer import APPEND, END, POST, START, UPDATE, Answer
from tests.wire.slack_world import World, opened

STOP = Button(label="Stop", data="STOP", style="bad")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


# -- streamed ----------------------------------------------------------------------------------------------------------


async def test_an_answer_in_a_thread_is_a_stream_of_what_is_new(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("**One** a < b")
        await answer.grow("**One** a < b\n\nand two")
        await answer.grow("**One** a < b\n\nand two")
        await answer.end("**One** a < b\n\nand two, three.")
    (message,) = answer.standing
    assert (message.ts, message.streaming) == (answer.message, False)
    assert answer.texts == ["**One** a &lt; b\n\nand two, three."]
    assert answer.pieces == ["**One** a &lt; b", "\n\nand two", ", three."]
    assert answer.calls == [START, APPEND, END]
    assert message.metadata == {"event_type": "frontdesk_delivery", "event_payload": {"id": str(answer.delivery.id)}}


async def test_a_thread_of_the_assistant_is_one_too(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        pane = world.server.open_assistant(world.ada)
        answer = Answer(world, world.address(world.chat, pane))
        await answer.begin("one")
        await answer.end("one two")
    assert answer.calls == [START, END]
    assert answer.texts[-1] == "one two"


async def test_the_end_takes_buttons_along_and_they_can_be_pressed(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("May")
        await answer.end("May I?", STOP)
        world.server.click(world.chat, answer.message, world.ada, "fd:STOP")
        await world.heard(2)
        (press,) = world.presses
        await world.bot.answer(press, "", over=True)
    assert answer.calls == [START, END, UPDATE]
    assert answer.texts == ["May I?"]
    assert [block["type"] for block in answer.standing[0].blocks] == ["markdown"]


async def test_the_end_is_told_though_it_says_nothing_new(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("all")
        await answer.end("all")
        await answer.end("all")  # an edit may be repeated
    assert answer.calls == [START, END, UPDATE]
    assert answer.texts == ["all"]
    assert not answer.standing[0].streaming


async def test_whatever_an_agent_streams_pings_nobody(world: World) -> None:
    bob = world.server.person("Bob")
    whole = f"<!here> {bob} `{bob}` <!channel|all>\n```\n{bob} <!everyone>\n```\n<mailto:a@example.com> @here <br>b"
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin(whole[:3])
        for end in range(4, len(whole)):
            await answer.grow(whole[:end])
            assert answer.standing[0].pings == frozenset()
        await answer.end(whole)
        other = await world.bot.send(world.delivery(whole, answer.address))
    streamed, sent = answer.texts
    assert streamed == sent
    assert UPDATE not in answer.calls
    assert other
    assert all(not version.pings for one in answer.standing for version in one.versions)


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("a `co", "a "),
        ("a `code` b", "a `code` b"),
        ("a `code`", "a "),
        ("a\n```py", "a\n"),
        ("a\n```py\nx = 1", "a\n```py\nx = 1"),
        ("a <mailto:a@exam", "a "),
        ("a <mailto:a@example.com> b", "a <mailto:a@example.com> b"),
        ("a\n[1", "a\n"),
        ("漢字は続", "漢字は続"),
    ],
)
async def test_what_may_become_something_else_waits(world: World, said: str, seen: str) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("a" if said.startswith("a") else "漢")
        await answer.grow(said)
        assert answer.standing[0].text == (seen.rstrip() if seen == "a" else seen)
        await answer.end(said)
    assert answer.calls[-1] == END
    assert answer.texts == [markup.defused(said)]


# -- edited ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["direct", "channel", "thread of a channel"])
async def test_where_a_stream_would_not_be_taken_or_not_be_seen_by_all_it_is_edited(world: World, where: str) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        channel = world.chat if where == "direct" else world.general
        root = world.say("question", channel) if where == "thread of a channel" else None
        answer = Answer(world, world.address(channel, root))
        assert not world.bot.streams(answer.address)
        await answer.begin("one")
        await answer.grow("one two")
        await answer.end("one two three")
    assert answer.calls == [POST, UPDATE, UPDATE]


@pytest.mark.parametrize("link", ["https://example.com", "[x](https://example.com)", "<https://x.org>", "(www.x.org)"])
async def test_from_its_first_link_on_it_is_edited_since_a_stream_would_show_a_preview(world: World, link: str) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("See")
        await answer.grow(f"See {link}")
        await answer.grow(f"See {link} or")
        await answer.end(f"See {link} or ask.")
        linked = Answer(world)
        await linked.begin(link)
    assert answer.calls == [START, END, UPDATE, UPDATE, UPDATE, POST]
    assert answer.texts == [f"See {link} or ask."]
    assert answer.pieces == ["See", ""]


async def test_what_has_buttons_while_it_grows_is_edited(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        answer.message = await world.bot.send(answer.saying("one", buttons=(STOP,)))
        await world.bot.edit(answer.saying("one two", buttons=(STOP,)), answer.message)
        await answer.end("one two three")
    assert answer.calls == [POST, UPDATE, UPDATE]
    assert [block["type"] for block in answer.standing[0].blocks] == ["markdown"]


@pytest.mark.parametrize(
    "error",
    [
        "channel_type_not_supported", "method_not_supported_for_channel_type", "missing_recipient_team_id",
        "missing_recipient_user_id", "user_not_found", "team_not_found", "unknown_method", "invalid_arguments",
        "restricted_action", "missing_scope",
    ],
)  # fmt: skip
async def test_where_slack_takes_no_stream_it_is_edited_and_not_asked_again_for_an_hour(
    world: World, error: str
) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.error(START, error)
        answer = Answer(world)
        await answer.begin("one")
        assert not world.bot.streams(answer.address)
        await answer.grow("one two")
        await answer.end("one two three")
        assert answer.calls == [START, POST, UPDATE, UPDATE]
        assert answer.texts == ["one two three"]
        further = Answer(world)
        await further.begin("x")
        assert world.sent(START) == 1
        await world.acked()
        world.later(61)
        third = Answer(world)
        await third.begin("x")
    assert world.sent(START) == 2


async def test_too_many_streams_at_once_become_messages(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.rate_limit(START, 30)
        answer = Answer(world)
        await answer.begin("one")
        await answer.grow("one two")
        further = Answer(world)
        await further.begin("1")
        await answer.end("one two three")
        await world.acked()
        world.clock.advance(30)
        third = Answer(world)
        await third.begin("x")
    assert answer.texts == ["one two three"]
    assert further.texts == ["1"]
    assert world.sent(START) == 2
    assert third.standing[0].streaming


async def test_a_text_that_changed_is_edited(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("one two")
        await answer.grow("one, then three")
        await answer.grow("one, then three four")
        await answer.end("five")
    assert answer.calls == [START, END, UPDATE, UPDATE, UPDATE]
    assert answer.texts == ["five"]


async def test_a_last_text_that_is_another_is_edited(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("one two")
        await answer.end("Stopped.")
    assert answer.calls == [START, END, UPDATE]
    assert answer.texts == ["Stopped."]


async def test_what_slack_ended_goes_on_by_edits(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("one")
        world.server.end_stream(world.chat, answer.message)
        await answer.grow("one two")
        assert answer.texts == ["one two"]
        await answer.end("one two three")
    assert answer.calls == [START, APPEND, END, UPDATE, UPDATE]
    assert answer.texts == ["one two three"]


@pytest.mark.parametrize("minutes", [4, 6, 60])
async def test_after_a_long_silence_the_end_is_whole(world: World, minutes: int) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("one")
        await world.acked()
        world.later(minutes)
        await answer.end("one two")
    assert answer.texts == ["one two"]
    assert not answer.standing[0].streaming


async def test_what_a_person_stopped_is_still_told_whole(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        await answer.begin("one")
        world.server.stop_stream(world.chat, answer.message)
        await answer.grow("one two")
        await answer.end("one two three")
    assert answer.texts == ["one two three"]
    assert not answer.standing[0].streaming


async def test_what_outgrows_a_message_is_edited(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world)
        whole = "\n\n".join(f"para {i} " + "x" * 300 for i in range(50))
        await answer.begin(world.bot.parts(whole[:5_000])[0])
        await answer.grow(world.bot.parts(whole[:11_990])[0])
        await answer.grow(world.bot.parts(whole[:12_500])[0])
        first, second = world.bot.parts(whole)
        await answer.end(first)
        await world.bot.send(world.delivery(second, answer.address))
    assert answer.texts == [first, second]
    assert answer.calls[:4] == [START, APPEND, END, UPDATE]


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_status_ends_with_what_grew(world: World, streamed: bool) -> None:
    channel = world.chat if streamed else world.general
    async with running(world.bot, world.desk):
        await world.up()
        answer = Answer(world, world.address(channel, world.say("question", channel)))
        await answer.begin("one")
        await answer.end("one two")
        assert world.sent("assistant.threads.setStatus") == 0
        further = Answer(world, world.address(channel, world.say("question", channel)))
        await further.begin("one")
        await world.acked()
        world.clock.advance(1)
        await world.bot.working(further.address, "searching")
        assert world.server.status(channel, str(further.address.thread)) == "searching"
        await further.grow("one two")
        await further.end("one two three")
        assert world.server.status(channel, str(further.address.thread)) == ""
    assert (START in answer.calls) is streamed
