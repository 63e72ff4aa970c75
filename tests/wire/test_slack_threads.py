"""How a thread began, for whoever is mentioned there first: the real SDK against the strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contract.doubles import running
from tests.fakes.slack.model import JsonObject
from tests.wire.slack_world import World, opened

ALERT: JsonObject = {
    "blocks": [{"type": "header", "text": {"type": "plain_text", "text": "*Build 12*"}}],
    "attachments": [{"fallback": "failed", "text": "failed at a &lt; b"}],
}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


async def test_who_is_first_mentioned_in_a_thread_hears_how_it_began_and_only_then(world: World) -> None:
    bob = world.server.person("Bob")
    async with running(world.bot, world.desk):
        await world.up()
        root = world.say("the printer is on fire", world.general)
        world.server.say(world.general, bob, f"again? {world.ada}", thread=root)
        world.say(f"{world.server.bot} what now?", world.general, root)
        await world.heard(3)
        world.say(f"{world.server.bot} well?", world.general, root)
        await world.heard(4)
    asked, more = world.messages[2:]
    assert asked.quote is not None
    assert (asked.quote.name, asked.quote.text) == ("ada", "the printer is on fire\nbob: again? @ada")
    assert (asked.text, more.quote) == ("what now?", None)


async def test_how_a_thread_began_is_told_whichever_event_of_a_mention_is_read_first(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        root = world.say("the printer is on fire", world.general)
        await world.heard(1)
        first = world.server.delay("users.info", count=2)  # of the one that comes first: the sender, and who is named
        world.say(f"{world.server.bot} what now?", world.general, root)
        await world.server.until(lambda: world.sent("conversations.replies") > 0)
        first.release()
        await world.heard(2)
    quote = world.messages[1].quote
    assert quote is not None
    assert quote.text == "the printer is on fire"


async def test_how_a_thread_began_is_told_at_the_next_mention_if_slack_does_not_tell_at_once(world: World) -> None:
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        root = world.say("the printer is on fire", world.general)
        world.server.error("conversations.replies", "internal_error", count=2)  # one for each event
        world.say(f"{world.server.bot} what now?", world.general, root)
        await world.heard(2)
        await world.acked()
        world.say(f"{world.server.bot} well?", world.general, root)
        await world.heard(3)
    _, first, second = (message.quote for message in world.messages)
    assert first is not None
    assert "how this thread began" in first.text
    assert second is not None
    assert second.text.startswith("the printer is on fire\n")


async def test_of_a_long_thread_its_beginning_and_its_end_are_told(world: World) -> None:
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        world.say("hello")
        await world.heard(1)
        root = world.say("the printer is on fire", world.general)
        for number in range(1_100):
            world.server.say(world.general, world.ada, f"reply {number}", thread=root)
        world.say(f"{world.server.bot} what now?", world.general, root)
        await world.desk.until(lambda: bool(world.words) and world.words[-1] == "what now?")
        await world.acked()
    quote = world.messages[-1].quote
    assert quote is not None
    first, gap, *rest = quote.text.splitlines()
    assert (first, gap, rest[-1]) == ("the printer is on fire", "…", "ada: reply 1099")


async def test_of_a_thread_that_can_t_be_read_to_its_end_the_beginning_is_told(world: World) -> None:
    world.server.remove_scope("app_mentions:read")  # so that there is one event
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        root = world.say("the printer is on fire", world.general)
        for number in range(1_100):
            world.server.say(world.general, world.ada, f"reply {number}", thread=root)
        world.server.rate_limit("conversations.replies", 20, after=1)
        world.say(f"{world.server.bot} what now?", world.general, root)
        await world.desk.until(lambda: bool(world.words) and world.words[-1] == "what now?")
        await world.acked()
    quote = world.messages[-1].quote
    assert quote is not None
    assert quote.text == "the printer is on fire\n…"


async def test_whoever_asks_below_a_picture_means_it(world: World) -> None:
    cat = world.server.file(world.ada, "cat.png", b"PNG")
    async with running(world.bot, world.desk):
        await world.up()
        root = world.server.say(world.general, world.ada, "", files=[cat])
        world.say(f"{world.server.bot} what is on it?", world.general, root)
        await world.heard(2)
    said = world.messages[-1]
    assert said.quote is not None
    assert (said.quote.text, [one.ref for one in said.attachments]) == ("[image cat.png]", [cat.id])


async def test_whoever_asks_below_an_alert_of_blocks_means_what_it_shows(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        root = world.server.say(world.general, world.server.other_bot(), "", extra=ALERT)
        world.say(f"{world.server.bot} why?", world.general, root)
        await world.heard(2)
    quote = world.messages[-1].quote
    assert quote is not None
    assert (quote.name, quote.text) == ("jenkins", "*Build 12*\nfailed at a < b")


@pytest.mark.parametrize("catch_up", [0, 200])
async def test_a_thread_that_is_known_from_before_the_start_needs_no_beginning(world: World, catch_up: int) -> None:
    root = world.say("the printer is on fire", world.general)
    world.clock.advance(3_600)
    world.haunt(world.general, root)
    async with running(world.another(catch_up=catch_up), world.desk):
        await world.up()
        world.say(f"{world.server.bot} well?", world.general, root)
        await world.desk.until(lambda: "well?" in world.words)
    assert [one.quote for one in world.messages if one.text == "well?"] == [None]
