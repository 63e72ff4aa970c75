"""What nobody would see is not shown: a sign of an answer that is there at once, an edit that the answer overtakes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from core.agents.agent import AgentEvent, TurnContext
from core.desk.pulse import BEAT_S
from core.desk.signs import NOTHING_SHOWN_S
from core.vocabulary import CallOpened, ChatId, TextDelta
from tests.flow.bot import Fault, GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import House
from tests.flow.pressing_bot import DRAFTING, ButtonBot

BOTS = [GrowingBot, lambda: ButtonBot(capabilities=DRAFTING)]


def signs(house: House) -> int:
    """All that was shown beside messages that are sent once."""
    drafts = house.bot.drafts if isinstance(house.bot, ButtonBot) else []
    edits = [verb for verb, _, _ in house.bot.calls if verb == "edit"]
    return len(house.bot.typed) + len(drafts) + len(edits)


def speaks_on(house: House) -> None:
    """Says a word at once, a second one after the gate "more", and ends after the gate "end"."""

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="one")
        await house.stage.gate("more").wait()
        yield TextDelta(text=" two")
        await house.stage.gate("end").wait()

    house.stage.on("go", script)


@pytest.mark.parametrize("make", BOTS, ids=["edits", "drafts"])
async def test_an_answer_that_is_complete_in_time_is_sent_and_nothing_else(
    furnish: Furnish, make: type[GrowingBot]
) -> None:
    house = await furnish(make())
    speaks_on(house)
    await house.say("go")
    house.stage.gate("more").set()
    await house.advance(NOTHING_SHOWN_S - BEAT_S / 2)
    house.stage.gate("end").set()
    await house.advance(60)
    assert house.seen() == ["one two"]
    assert [verb for verb, _, _ in house.bot.calls] == ["send"]
    assert signs(house) == 0


@pytest.mark.parametrize("make", BOTS, ids=["edits", "drafts"])
async def test_one_that_takes_longer_is_shown_from_then_on(furnish: Furnish, make: type[GrowingBot]) -> None:
    house = await furnish(make())
    speaks_on(house)
    await house.say("go")
    await house.advance(NOTHING_SHOWN_S - BEAT_S / 2)
    assert (house.seen(), signs(house)) == ([], 0)
    await house.advance(2 * BEAT_S)
    assert house.bot.typed == [ChatId("7")]
    assert isinstance(house.bot, ButtonBot) or house.seen() == ["one"]
    assert not isinstance(house.bot, ButtonBot) or [text for _, text in house.bot.drafts] == ["one"]


async def test_time_counts_from_the_turn_s_start_and_not_from_the_message_before(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    speaks_on(house)
    await house.say("go")
    await house.say("hello")
    await house.advance(5)
    typed = len(house.bot.typed)
    for gate in ("more", "end"):
        house.stage.gate(gate).set()
    await house.advance(60)
    assert house.seen() == ["one two", "re: hello"]
    assert len(house.bot.typed) == typed


async def test_a_tool_is_told_of_as_early_as_before(furnish: Furnish) -> None:
    """What keeps quick answers quiet does not put off the message that says what a slow one is doing."""
    house = await furnish(GrowingBot())

    async def looks(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await turn.opened([CallOpened(call="1", tool="search", arguments="{}", read_only=True)])
        await house.stage.gate("end").wait()
        yield TextDelta(text="found")

    house.stage.on("look", looks)
    await house.say("look")
    await house.advance(0.9)
    assert house.seen() == []
    await house.advance(0.2)
    assert house.seen() == ["*using search …*"]


# what the answer overtakes


async def slowly_recorded(house: House, gate: asyncio.Event) -> None:
    """The first word is shown; then the answer is complete, and its record waits for the gate."""
    speaks_on(house)
    await house.say("go")
    await house.advance(0.5)
    house.stage.gate("more").set()  # to be shown once the chat's pace allows it
    await house.advance(0.1)
    house.store.hears = gate
    house.stage.gate("end").set()
    await asyncio.sleep(0)


@pytest.mark.parametrize("make", BOTS, ids=["edits", "drafts"])
async def test_what_waits_for_its_pace_is_dropped_once_the_answer_is_complete(
    furnish: Furnish, make: type[GrowingBot]
) -> None:
    house = await furnish(make())
    recorded = asyncio.Event()
    await slowly_recorded(house, recorded)
    shown, typed = signs(house), len(house.bot.typed)
    await house.advance(30)
    assert (signs(house), len(house.bot.typed)) == (shown, typed)
    house.store.hears = None
    recorded.set()
    await house.advance(5)
    assert house.seen() == ["one two"]
    last = 0 if isinstance(house.bot, ButtonBot) else 1  # the message that grew gets its last words by an edit
    assert signs(house) == shown + last


async def test_an_edit_that_is_on_its_way_is_followed_by_the_answer_alone(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        for word in ("one", " two", " three"):
            yield TextDelta(text=word)
            await house.stage.gate(word).wait()

    house.stage.on("go", script)
    await house.say("go")
    await house.advance(0.5)
    release = asyncio.Event()
    under_way = Fault(gate=release)
    house.bot.fail("7", under_way)
    house.stage.gate("one").set()
    await house.advance(1.5)
    assert under_way.reached.is_set()
    for gate in (" two", " three"):
        house.stage.gate(gate).set()
        await house.advance(3)
    release.set()
    await house.advance(3)
    assert [(verb, text) for verb, _, text in house.bot.calls] == [
        ("send", "one"), ("edit", "one two"), ("edit", "one two three"),
    ]  # fmt: skip
