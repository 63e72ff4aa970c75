"""Answers that are shown as drafts while they are made: nothing of one stays, and the answer comes once and whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from core.agents.agent import AgentEvent, TurnContext
from core.errors import ChatDead, FloodWait, NotSent, Rejected, SendError, Unknown
from core.vocabulary import CallOpened, ChatId, Pace, TextDelta
from tests.fakes.agents import call
from tests.flow.bot import Fault, GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, House
from tests.flow.pressing_bot import DRAFTING, WITH_BUTTONS, ButtonBot, button_bot
from tests.flow.test_growing import WHOLE, grow, growing


async def drafting(furnish: Furnish, **options: object) -> House:
    house = await furnish(ButtonBot(capabilities=DRAFTING), **options)
    await growing(house)
    return house


def drafts(house: House) -> list[str]:
    return [text for _, text in button_bot(house).drafts]


async def test_an_answer_grows_as_a_draft_and_is_sent_once(furnish: Furnish) -> None:
    house = await drafting(furnish)
    await house.say("grow")
    await grow(house, 10)
    assert [verb for verb, _, _ in house.bot.calls] == ["send"]
    assert house.seen() == [WHOLE]
    assert len(drafts(house)) > 5
    assert all(WHOLE.startswith(text) for text in drafts(house))
    assert drafts(house) == sorted(set(drafts(house)), key=len)
    assert await house.deliveries() == [("sent", "reply")]


async def test_drafts_keep_the_distance_of_edits(furnish: Furnish) -> None:
    house = await drafting(furnish)
    await house.say("grow")
    await grow(house, 10, 0.1)
    await house.advance(2)
    assert house.seen() == [WHOLE]
    assert len(drafts(house)) <= 2


async def test_a_quick_answer_is_no_draft(furnish: Furnish) -> None:
    house = await drafting(furnish)
    await house.say("hello")
    assert drafts(house) == []
    assert house.seen() == ["re: hello"]


async def test_groups_never_see_drafts(furnish: Furnish) -> None:
    house = await drafting(furnish)
    await house.say_in_group("grow")
    await grow(house, 10)
    await house.advance(5)
    assert drafts(house) == []
    assert house.seen(GROUP) == [WHOLE]
    assert len(house.bot.chats[ChatId(GROUP)][0].texts) > 2


async def test_a_bot_that_only_says_so_grows_by_edits(furnish: Furnish) -> None:
    house = await furnish(GrowingBot(capabilities=DRAFTING))
    await growing(house)
    await house.say("grow")
    await grow(house, 10)
    assert house.seen() == [WHOLE]
    assert len(house.bot.chats[ChatId("7")][0].texts) > 2


@pytest.mark.parametrize("error", [NotSent("x"), Unknown("x"), Rejected("x"), ChatDead("x"), FloodWait(3)])
async def test_drafts_that_fail_in_the_middle_do_no_harm(furnish: Furnish, error: SendError) -> None:
    house = await drafting(furnish)
    await house.say("grow")
    await grow(house, 3)
    button_bot(house).draft_faults.extend([Fault(error=error), Fault(error=error)])
    await grow(house, 10)
    await house.advance(30)
    assert house.seen() == [WHOLE]
    assert await house.deliveries() == [("sent", "reply")]


async def test_a_fault_in_the_bot_s_drafts_does_no_harm(furnish: Furnish) -> None:
    house = await drafting(furnish)
    bot = button_bot(house)

    class Odd(SendError):
        pass

    bot.draft_faults.append(Fault(error=Odd("x")))
    await house.say("grow")
    await grow(house, 10)
    await house.advance(5)
    assert house.seen() == [WHOLE]


async def test_a_bot_that_has_no_drafts_after_all_goes_on_by_edits(furnish: Furnish) -> None:
    """As a platform does that refuses the first one: its capabilities change, and the call fails."""
    house = await drafting(furnish)
    bot = button_bot(house)
    await house.say("grow")
    await grow(house, 3)
    assert len(drafts(house)) >= 2
    bot.capabilities = WITH_BUTTONS
    bot.draft_faults.append(Fault(error=Rejected("no drafts")))
    for word in range(3, 7):
        house.stage.gate(f"{word}").set()
        await house.advance(1.1)
    assert len(house.seen()) == 1
    await grow(house, 10)
    await house.advance(5)
    assert house.seen() == [WHOLE]
    assert len(house.bot.chats[ChatId("7")][0].texts) > 2
    assert await house.deliveries() == [("sent", "reply")]


async def test_no_draft_is_shown_once_a_bot_has_none(furnish: Furnish) -> None:
    house = await drafting(furnish)
    await house.say("grow")
    await grow(house, 3)
    shown = len(drafts(house))
    button_bot(house).capabilities = WITH_BUTTONS
    await grow(house, 10)
    await house.advance(5)
    assert len(drafts(house)) == shown


async def test_what_a_flood_kept_back_is_shown_when_it_is_over(furnish: Furnish) -> None:
    house = await drafting(furnish)
    await house.say("grow")
    await grow(house, 2)
    button_bot(house).draft_faults.append(Fault(error=FloodWait(5)))
    house.stage.gate("2").set()
    await house.advance(20)
    assert drafts(house)[-1] == "word0 word1 word2 word3"


async def test_a_flood_holds_back_the_answer_and_not_for_ever(furnish: Furnish) -> None:
    house = await drafting(furnish)
    await house.say("grow")
    await grow(house, 2)
    button_bot(house).draft_faults.append(Fault(error=FloodWait(30)))
    for word in range(2, 10):
        house.stage.gate(f"{word}").set()
    await house.advance(60)
    assert house.seen() == [WHOLE]


async def test_drafts_count_in_the_chat_s_pace(furnish: Furnish) -> None:
    bot = ButtonBot(capabilities=replace(DRAFTING, direct_pace=Pace(interval_s=2.0, burst=3)))
    house = await furnish(bot)
    await growing(house)
    await house.say("grow")
    await grow(house, 10, 0.5)
    await house.advance(30)
    assert len(bot.drafts) <= 6
    assert house.seen() == [WHOLE]


async def test_stopped_while_it_is_a_draft(furnish: Furnish) -> None:
    house = await drafting(furnish)
    said = await house.say("grow")
    await grow(house, 3)
    await house.say("/stop")
    await house.advance(5)
    assert house.seen() == ["Stopped."]
    assert await house.fate(said) == "answered"
    kinds = await house.told()
    assert kinds[1][0] == "assistant"
    assert kinds[1][1].startswith("word0 ")


async def test_stopped_while_a_draft_is_on_its_way(furnish: Furnish) -> None:
    house = await drafting(furnish)
    gate = asyncio.Event()
    button_bot(house).draft_faults.append(Fault(gate=gate))
    await house.say("grow")
    await house.advance(1)
    await house.say("/stop")
    gate.set()
    await house.advance(5)
    assert house.seen() == ["Stopped."]
    assert drafts(house) == []
    await house.say("hello")
    assert house.seen()[-1] == "re: hello"


async def test_the_answer_does_not_wait_for_a_draft_that_hangs(furnish: Furnish) -> None:
    house = await drafting(furnish)
    button_bot(house).draft_faults.append(Fault(gate=asyncio.Event()))
    await house.say("grow")
    await grow(house, 10)
    await house.advance(2)
    assert house.seen() == [WHOLE]


async def test_with_a_stop_button_there_is_a_message_in_place_of_drafts(furnish: Furnish) -> None:
    house = await drafting(furnish, bots={"main": {"stop_button": True}})
    await house.say("grow")
    await grow(house, 3)
    assert drafts(house) == []
    assert button_bot(house).labels() == ["Stop"]
    await grow(house, 10)
    await house.advance(3)
    assert house.seen() == [WHOLE]


async def test_a_stop_button_that_the_platform_has_not_takes_no_drafts_away(furnish: Furnish) -> None:
    house = await furnish(
        ButtonBot(capabilities=replace(DRAFTING, buttons=False)), bots={"main": {"stop_button": True}}
    )
    await growing(house)
    await house.say("grow")
    await grow(house, 10)
    assert len(drafts(house)) > 2


async def test_killed_while_it_is_a_draft_nothing_of_it_is_left(furnish: Furnish) -> None:
    house = await drafting(furnish)
    said = await house.say("grow")
    await grow(house, 3)
    await house.restart()
    await grow(house, 10)
    await house.advance(5)
    assert house.seen() == [WHOLE]
    assert await house.fate(said) == "answered"
    assert await house.deliveries() == [("sent", "reply")]


async def test_killed_while_it_is_a_draft_that_has_done_something(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(capabilities=DRAFTING))

    async def acts(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="working")
        await turn.opened([CallOpened(call="1", tool="pay", arguments="{}")])
        await house.stage.gate("never").wait()

    house.stage.on("act", acts)
    await house.say("act")
    await house.advance(2)
    assert drafts(house)
    await house.restart()
    assert len(house.seen()) == 1
    assert "restarted while answering" in house.seen()[0]


async def test_a_long_answer_is_a_draft_of_its_first_part_and_comes_whole(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(capabilities=DRAFTING))

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        for part in range(3):
            yield TextDelta(text=f"{part} " + "x" * 300 + "\n\n")
            await house.stage.gate(f"{part}").wait()

    house.stage.on("long", script)
    await house.say("long")
    await grow(house, 3, 2)
    assert [text[0] for text in house.seen()] == ["0", "1", "2"]
    assert all(len(text) <= 400 for text in drafts(house))


async def test_what_an_answer_waits_for_is_in_its_draft_and_not_in_the_answer(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(capabilities=DRAFTING))

    async def looks(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="One moment.")
        await house.stage.gate("a").wait()
        await turn.opened([CallOpened(call="1", tool="web_search", arguments="{}", read_only=True)])
        await house.stage.gate("b").wait()
        await call(turn, "2", "found", read_only=True)
        yield TextDelta(text="Here.")

    house.stage.on("look", looks)
    await house.say("look")
    await house.advance(1)
    house.stage.gate("a").set()
    await house.advance(2)
    assert drafts(house)[-1] == "One moment.\n\n*using web_search …*"
    house.stage.gate("b").set()
    await house.advance(2)
    assert house.seen() == ["One moment.Here."]
