"""The button under an answer that grows: it stops that answer, and is gone with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from core.agents.agent import AgentEvent, Suspend, TurnContext
from core.errors import FloodWait, Rejected
from core.vocabulary import CallOpened, ChatId, TextDelta, Verdict
from tests.flow.bot import GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, House, Said
from tests.flow.pressing_bot import DONE, EXPIRED, SOMEBODY_ELSE_S, ButtonBot, button_bot, press, press_of

STOPPABLE = {"bots": {"main": {"stop_button": True}}}


def slow(house: House, name: str = "slow") -> None:
    """It says a word, and another one at its gate."""
    house.stage.on(name, house.stage.waits(name, before=(f"{name} one",), after=(" two",)))


async def shown(house: House, *, chat: str = "7", name: str = "slow") -> tuple[Said, str]:
    """An answer grows; its message, and what its button holds."""
    slow(house, name)
    said = await (house.say_in_group(name) if chat == GROUP else house.say(name, user=chat))
    await house.advance(1.0)
    return said, button_bot(house).button("Stop", chat)


async def let_go(house: House, name: str = "slow") -> None:
    house.stage.gate(name).set()
    await house.idle()
    await house.advance(3)


async def test_it_stops_the_answer_and_goes_with_it(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)
    said, data = await shown(house)
    receipt = await press(house, data)
    await house.advance(3)
    assert receipt.verdict is Verdict.ACCEPTED
    assert house.seen() == ["slow one", "Stopped."]
    assert await house.fate(said) == "answered"
    assert await house.told() == [("user", "slow"), ("assistant", "slow one")]
    assert button_bot(house).told == [(DONE, True)]
    assert button_bot(house).labels() == []


@pytest.mark.parametrize("after", [" two", ""])
async def test_the_final_text_has_no_button_whether_it_differs_or_not(furnish: Furnish, after: str) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)
    house.stage.on("slow", house.stage.waits("slow", before=("slow one",), after=(after,)))
    await house.say("slow")
    await house.advance(1.0)
    assert button_bot(house).labels() == ["Stop"]
    await let_go(house)
    (message,) = house.bot.chats[ChatId("7")]
    assert message.text == f"slow one{after}"
    assert button_bot(house).were[message.id][-1] == ()
    assert await house.deliveries() == [("sent", "reply")]


async def test_every_edit_of_a_growing_answer_keeps_the_one_button(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)

    async def grows(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        for word in range(5):
            yield TextDelta(text=f"w{word} ")
            await house.stage.gate(f"{word}").wait()

    house.stage.on("grow", grows)
    await house.say("grow")
    for word in range(5):
        house.stage.gate(f"{word}").set()
        await house.advance(1.1)
    (message,) = house.bot.chats[ChatId("7")]
    *growing, final = button_bot(house).were[message.id]
    assert len(growing) >= 3
    assert len(set(growing)) == 1
    assert final == ()


async def test_an_answer_that_is_there_at_once_has_no_button(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)
    await house.say("hello")
    assert button_bot(house).were == {house.bot.chats[ChatId("7")][0].id: [()]}


async def test_no_button_where_none_is_configured_or_the_platform_has_none(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    slow(house)
    await house.say("slow")
    await house.advance(1.0)
    assert house.seen() == ["slow one"]
    assert button_bot(house).labels() == []
    await let_go(house)
    assert house.seen() == ["slow one two"]


async def test_a_bot_without_buttons_grows_as_ever(furnish: Furnish) -> None:
    house = await furnish(GrowingBot(), **STOPPABLE)
    slow(house)
    await house.say("slow")
    await house.advance(1.0)
    await let_go(house)
    assert house.seen() == ["slow one two"]


async def test_an_old_one_stops_nothing_that_came_later(furnish: Furnish) -> None:
    """It is pressed when its turn has ended, another runs, and more waits."""
    house = await furnish(ButtonBot(), **STOPPABLE)
    _, data = await shown(house)
    slow(house, "next")
    later = await house.say("next")
    await let_go(house)
    waiting = await house.say("third")
    receipt = await press(house, data)
    assert (receipt.verdict, button_bot(house).told) == (Verdict.REFUSED, [(EXPIRED, True)])
    await let_go(house, "next")
    assert house.seen() == ["slow one two", "next one two", "re: third"]
    assert [await house.fate(said) for said in (later, waiting)] == ["answered"] * 2


async def test_what_waits_is_closed_with_the_answer_as_by_the_command(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)
    _, data = await shown(house)
    waiting = await house.say("waits")
    await press(house, data)
    after = await house.say("comes later")
    await house.advance(3)
    assert await house.fate(waiting) == "closed"
    assert await house.fate(after) == "answered"
    assert house.seen()[1].startswith("Stopped. 1 ")


async def test_a_press_that_meets_the_end_of_its_turn_drops_nothing_that_waits(furnish: Furnish) -> None:
    """Its row is stored while the turn runs; before anybody carries it out the turn ends by itself."""
    house = await furnish(ButtonBot(), **STOPPABLE)
    _, data = await shown(house)
    waiting = await house.say("waits")
    house.store.hears = asyncio.Event()
    pressed = asyncio.ensure_future(house.receive(press_of(house, data)))
    await house.idle()
    house.stage.gate("slow").set()
    await house.idle()
    house.store.hears.set()
    house.store.hears = None
    await pressed
    await house.idle()
    await house.advance(3)
    assert house.seen()[0] == "slow one two"
    assert await house.fate(waiting) == "answered"


async def test_of_two_presses_at_once_one_stops(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)
    _, data = await shown(house)
    await house.receive(press_of(house, data), press_of(house, data))
    await house.idle()
    await house.advance(3)
    assert house.seen() == ["slow one", "Stopped."]
    assert button_bot(house).told == [(DONE, True), (EXPIRED, True)]


async def test_in_a_group_it_is_the_asker_s(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)
    _, data = await shown(house, chat=GROUP)
    assert (await press(house, data, user="8", chat=GROUP)).verdict is Verdict.REFUSED
    assert button_bot(house).told == [(SOMEBODY_ELSE_S, False)]
    assert button_bot(house).labels(GROUP) == ["Stop"]
    await press(house, data, chat=GROUP)
    await house.advance(3)
    assert house.seen(GROUP) == ["slow one", "Stopped."]


async def test_killed_with_the_button_showing_it_still_stops_the_next_attempt(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)
    said, data = await shown(house)
    await house.restart()
    assert button_bot(house).labels() == ["Stop"]
    assert (await press(house, data)).verdict is Verdict.ACCEPTED
    await house.advance(3)
    assert await house.fate(said) == "answered"
    assert house.seen() == ["slow one", "Stopped."]
    assert button_bot(house).labels() == []


async def test_killed_with_the_button_showing_the_next_attempt_takes_it_away(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)
    await shown(house)
    await house.restart()
    await let_go(house)
    assert house.seen() == ["slow one two"]
    assert button_bot(house).labels() == []


async def test_killed_after_something_was_done_the_button_goes_with_the_notice(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)

    async def acts(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="working")
        await turn.opened([CallOpened(call="1", tool="pay", arguments="{}")])
        await house.stage.gate("never").wait()

    house.stage.on("act", acts)
    await house.say("act")
    await house.advance(1.0)
    data = button_bot(house).button("Stop")
    await house.restart()
    await house.advance(3)
    assert "restarted while answering" in house.seen()[-1]
    assert button_bot(house).labels() == []
    assert (await press(house, data)).verdict is Verdict.REFUSED


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("death", range(6))
async def test_wherever_the_process_dies_a_press_stops_its_turn_only(
    furnish: Furnish, death: int, before: bool
) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)
    said, data = await shown(house)
    house.store.dies_at, house.store.dies_before = house.store.writes + 1 + death, before
    pressed = asyncio.ensure_future(house.receive(press_of(house, data, event="e")))
    await house.idle_dead()
    pressed.cancel()
    await asyncio.gather(pressed, return_exceptions=True)
    await house.restart()
    house.store.dies_at = None
    await press(house, data, event="e")
    await house.advance(3)
    assert await house.fate(said) == "answered"
    assert button_bot(house).labels() == []
    await house.say("and now?")
    assert house.seen()[-1] == "re: and now?"
    stopped = [text for text in house.seen() if text.startswith("Stopped")]
    assert len(stopped) == 1 or "may not have arrived" in " ".join(house.seen())


async def test_a_flood_of_edits_ends_without_a_button(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)
    _, data = await shown(house)
    house.bot.fail("7", FloodWait(30), FloodWait(30))
    await press(house, data)
    await house.advance(120)
    assert house.seen() == ["slow one", "Stopped."]
    assert button_bot(house).labels() == []


async def test_an_interrupted_answer_loses_its_button_too(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE, mailbox={"busy": "interrupt"})
    _, data = await shown(house)
    await house.say("other")
    await house.advance(3)
    assert button_bot(house).labels() == []
    assert (await press(house, data)).verdict is Verdict.REFUSED
    assert house.seen()[-1].startswith("re: ")


async def test_a_message_that_is_gone_takes_no_button_along(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)
    await shown(house)
    house.bot.fail("7", Rejected("message to edit not found"))
    await let_go(house)
    assert house.seen()[-1] == "slow one two"
    assert button_bot(house).were[house.bot.chats[ChatId("7")][-1].id] == [()]


async def test_a_question_takes_its_place_and_the_turn_that_goes_on_has_its_own(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)

    async def pays(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="going on" if turn.answers else "wait")
        await house.stage.gate("on" if turn.answers else "ask").wait()
        if not turn.answers:
            await turn.opened([CallOpened(call="1", tool="pay", arguments="{}")])
            yield Suspend()

    house.stage.on("pay", pays)
    said = await house.say("please pay")
    await house.advance(1)
    first = button_bot(house).button("Stop")
    house.stage.gate("ask").set()
    await house.idle()
    await house.advance(2)
    assert button_bot(house).labels() == ["Allow", "Don't allow"]
    assert (await press(house, first)).verdict is Verdict.REFUSED
    await press(house, button_bot(house).button("Allow"))
    await house.advance(2)
    second = button_bot(house).button("Stop")
    assert second != first
    assert (await press(house, second)).verdict is Verdict.ACCEPTED
    await house.advance(2)
    assert house.seen()[-1] == "Stopped."
    assert button_bot(house).labels() == []
    assert await house.fate(said) == "answered"


async def test_an_answer_that_takes_too_long_loses_it_too(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE, desk={"turn_timeout_s": 10})
    _, data = await shown(house)
    await house.advance(15)
    assert "took too long" in house.seen()[-1]
    assert button_bot(house).labels() == []
    assert (await press(house, data)).verdict is Verdict.REFUSED


async def test_one_that_does_not_stop_in_time_is_left_to_itself(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **STOPPABLE)
    house.stage.on("cling", house.stage.clings())
    said = await house.say("cling")
    await house.advance(1)
    await press(house, button_bot(house).button("Stop"))
    await house.advance(5)
    assert house.seen() == ["clinging", "Stopped."]
    assert button_bot(house).labels() == []
    assert await house.fate(said) == "answered"
    house.stage.gate().set()
    await house.advance(2)
    assert house.seen() == ["clinging", "Stopped."]
