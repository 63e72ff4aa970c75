"""The way out: every part of every reply gets there once, in order, or somebody is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from core.agents.agent import AgentEvent, TurnContext
from core.errors import ChatDead, FloodWait, NotSent, Rejected, Unknown, Unreachable
from core.vocabulary import Capabilities, ChatId, ChatKind, Pace, TextDelta, TextUnit
from tests.fakes.agents import raises, says
from tests.flow.bot import CAPABILITIES, GROWING, AdminBot, Fault, GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, House

LONG = "\n\n".join(f"{n} " + "x" * 300 for n in range(3))


async def test_a_long_answer_goes_out_in_order(house: House) -> None:
    house.stage.on("long", says(LONG))
    await house.say("long")
    assert [text[0] for text in house.seen()] == ["0", "1", "2"]


async def test_among_others_only_the_first_part_replies(house: House) -> None:
    house.stage.on("long", says(LONG))
    said = await house.say_in_group("long")
    shown = house.bot.chats[ChatId(GROUP)]
    assert [one.reply_to for one in shown] == [said.message.message, None, None]


async def test_an_answer_goes_to_its_thread(house: House) -> None:
    await house.say_in_group("hi", thread="5")
    assert house.bot.chats[ChatId(GROUP)][0].thread == "5"


@pytest.mark.parametrize("text", ["text\n\n   ", "<br>"])
async def test_c17_blank_parts_are_skipped(house: House, text: str) -> None:
    house.stage.on("q", says(text))
    said = await house.say("q")
    assert len(house.seen()) == 1
    assert await house.fate(said) == "answered"


@pytest.mark.parametrize("text", ["", "   \n", "\u200b"])
async def test_c17_an_answer_of_nothing_is_said_to_be_one(house: House, text: str) -> None:
    house.stage.on("q", says(text))
    said = await house.say("q")
    assert house.seen() == ["The agent had nothing to say. /retry tries again."]
    assert await house.fate(said) == "answered"


async def test_what_certainly_did_not_arrive_is_tried_again(house: House) -> None:
    house.bot.fail("7", NotSent("no route"), NotSent("no route"))
    await house.say("hello")
    assert house.seen() == []
    await house.advance(10)
    assert house.seen() == ["re: hello"]


async def test_what_can_not_be_sent_for_a_day_fails(house: House) -> None:
    house.bot.fail("7", *[NotSent("no route")] * 3000)
    await house.say("hello")
    for _ in range(30):
        await house.clock.leap(3600)
        await house.clock.leap(120)
    assert await house.deliveries() == [("failed", "reply")]
    house.bot.faults.clear()
    await house.say("and now")
    assert house.seen()[-1] == "re: and now"


async def test_c35_a_flood_wait_keeps_one_chat_back_and_survives_a_restart(house: House) -> None:
    house.bot.fail("7", FloodWait(1000))
    await house.say("a", user="7")
    await house.say("b", user="8")
    assert house.seen("8") == ["re: b"]
    await house.advance(300)
    await house.say("another", user="7")
    await house.restart()
    await house.advance(690)
    assert house.seen("7") == []
    await house.advance(20)
    assert house.seen("7") == ["re: a", "re: another"]


@pytest.mark.parametrize("hours", [-48, 48])
async def test_a_clock_that_jumps_does_not_change_a_flood_wait(house: House, hours: int) -> None:
    from datetime import timedelta

    house.bot.fail("7", FloodWait(1000))
    await house.say("a")
    house.clock.jump(timedelta(hours=hours))
    await house.advance(990)
    assert house.seen() == []
    await house.advance(20)
    assert house.seen() == ["re: a"]


async def test_a_chat_that_is_dead_fails_and_its_next_message_revives_it(house: House) -> None:
    house.stage.on("long", says(LONG))
    house.bot.fail("7", ChatDead("blocked"))
    said = await house.say("long")
    assert await house.deliveries() == [("failed", "reply")] * 3
    assert await house.fate(said) == "answered"
    await house.say("back")
    assert house.seen() == ["re: back"]


async def test_a_refused_part_fails_and_the_others_go_on(house: House) -> None:
    house.stage.on("long", says(LONG))
    house.bot.fail("7", Rejected("too odd"))
    await house.say("long")
    assert [text[0] for text in house.seen()] == ["1", "2"]


async def test_an_unreachable_person_gets_it_when_somebody_shows_up(house: House) -> None:
    house.bot.fail("7", Unreachable("nobody"))
    await house.say("hello")
    await house.advance(3600)
    assert house.seen() == []
    house.desk.arrived(house.bot.name, ChatId("7"), ChatKind.DIRECT)
    await house.idle()
    assert house.seen() == ["re: hello"]


@pytest.mark.parametrize("applied", [True, False])
async def test_an_unknown_delivery_is_told_once_and_sent_again_on_demand(house: House, applied: bool) -> None:
    house.bot.fail("7", Fault(error=Unknown("no answer"), applied=applied))
    await house.say("hello")
    notice = "My last answer may not have arrived: /again sends it once more."
    assert house.seen() == (["re: hello"] if applied else []) + [notice]
    await house.say("/again")
    assert house.seen()[-1] == "re: hello"
    assert [state for state, _ in await house.deliveries()].count("unknown") == 0
    await house.say("next")
    assert house.seen().count(notice) == 1


async def test_an_unknown_notice_is_never_followed_by_another(house: House) -> None:
    house.bot.fail("7", Unknown("x"), Unknown("y"), Unknown("z"))
    await house.say("hello")
    assert house.seen() == []
    assert [role for _, role in await house.deliveries()] == ["reply", "unknown_notice"]
    await house.restart()
    assert [role for _, role in await house.deliveries()] == ["reply", "unknown_notice"]


async def test_later_parts_come_before_the_unknown_notice(house: House) -> None:
    house.stage.on("long", says(LONG))
    house.bot.fail("7", Unknown("x"), Unknown("x"))
    await house.say("long")
    assert [text[:2] for text in house.seen()] == ["2 ", "My"]
    await house.say("/again")
    assert [text[:2] for text in house.seen()[2:]] == ["0 ", "1 "]


async def test_a_fault_in_a_bot_is_an_unknown_delivery_and_stops_nothing(house: House) -> None:
    house.bot.fail("7", Fault(error=ZeroDivisionError("bug")))  # type: ignore[arg-type]
    await house.say("hello")
    assert house.seen() == ["My last answer may not have arrived: /again sends it once more."]
    await house.say("next")
    assert house.seen()[-1] == "re: next"


async def test_a_platform_that_recognises_a_repetition_is_asked_again(furnish: Furnish) -> None:
    house = await furnish(AdminBot("main", replace(CAPABILITIES, idempotent_for_s=300.0)))
    house.bot.fail("7", Unknown("x"))
    await house.say("hello")
    await house.advance(5)
    assert house.seen() == ["re: hello"]


async def test_again_sends_the_last_answer_once_more(house: House) -> None:
    await house.say("/again")
    assert house.seen() == ["There is nothing to send again."]
    await house.say("hello")
    await house.say("/again")
    assert house.seen()[-2:] == ["re: hello", "re: hello"]
    assert len(house.stage.asked) == 1


async def test_one_chats_hanging_send_holds_up_no_other(house: House) -> None:
    gate = asyncio.Event()
    house.bot.fail("7", Fault(gate=gate))
    await house.offer(house.message("a", user="7"))
    await house.offer(house.message("b", user="8"))
    await house.idle()
    assert house.seen("8") == ["re: b"]
    gate.set()
    await house.idle()
    assert house.seen("7") == ["re: a"]


async def growing(house: House) -> None:
    """Ten words, each after the gate of its number."""

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        for word in range(10):
            yield TextDelta(text=f"word{word} ")
            await house.stage.gate(f"{word}").wait()

    house.stage.on("grow", script)


async def grow(house: House, upto: int, seconds: float = 1.0) -> None:
    for word in range(upto):
        house.stage.gate(f"{word}").set()
        await house.advance(seconds)


WHOLE = " ".join(f"word{word}" for word in range(10))


async def test_an_answer_grows_and_the_preview_becomes_its_first_part(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    await growing(house)
    await house.say("grow")
    await grow(house, 10)
    (shown,) = house.bot.chats[ChatId("7")]
    assert shown.text == WHOLE
    assert shown.texts[0] == "word0 word1"
    assert len(shown.texts) > 5
    assert await house.deliveries() == [("sent", "reply")]
    assert house.bot.typed[:1] == [ChatId("7")]


async def test_edits_keep_their_distance_and_the_latest_wins(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    await growing(house)
    await house.say("grow")
    await grow(house, 10, 0.1)
    await house.advance(2)
    (shown,) = house.bot.chats[ChatId("7")]
    assert shown.text == WHOLE
    assert len(shown.texts) <= 4


async def test_a_quick_answer_has_no_preview(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    await house.say("hello")
    assert [verb for verb, _, _ in house.bot.calls] == ["send"]
    assert house.bot.typed == []


async def test_c34_edits_that_are_flooded_still_end_in_one_complete_message(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    await growing(house)
    await house.say("grow")
    await grow(house, 4, 1.1)
    house.bot.fail("7", *[FloodWait(30)] * 3)
    for word in range(4, 10):
        house.stage.gate(f"{word}").set()
    await house.advance(120)
    (shown,) = house.bot.chats[ChatId("7")]
    assert shown.text == WHOLE
    assert len([verb for verb, _, _ in house.bot.calls]) < 12


async def test_c39_a_stream_that_breaks_is_completed_by_the_final_text(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    await growing(house)
    await house.say("grow")
    await grow(house, 4, 1.1)
    house.bot.fail("7", *[NotSent("lost")] * 8)
    for word in range(4, 10):
        house.stage.gate(f"{word}").set()
    await house.advance(200)
    assert house.seen() == [WHOLE]


async def test_an_edit_whose_message_is_gone_becomes_a_message(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    await growing(house)
    await house.say("grow")
    await grow(house, 2, 1.1)
    house.bot.fail("7", Rejected("message to edit not found"), Rejected("message to edit not found"))
    await grow(house, 10, 1.1)
    await house.advance(5)
    assert house.seen()[-1] == WHOLE
    assert len(house.seen()) == 2


async def test_a_preview_whose_first_send_is_unknown_ends_in_a_whole_answer(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    await growing(house)
    house.bot.fail("7", Fault(error=Unknown("x"), applied=True))
    await house.say("grow")
    await grow(house, 10)
    assert house.seen()[-1] == WHOLE
    assert [state for state, _ in await house.deliveries()] == ["sent"]


async def test_a_long_answer_grows_its_first_part_and_sends_the_rest(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        for part in range(3):
            yield TextDelta(text=f"{part} " + "x" * 300 + "\n\n")
            await house.stage.gate(f"{part}").wait()

    house.stage.on("long", script)
    await house.say("long")
    await grow(house, 3, 2)
    assert [text[0] for text in house.seen()] == ["0", "1", "2"]


async def test_a_failed_turn_keeps_what_was_shown_and_says_so(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="half")
        await house.stage.gate().wait()
        raise ValueError("no")

    house.stage.on("q", script)
    await house.say("q")
    await house.advance(1)
    house.stage.gate().set()
    await house.advance(2)
    assert house.seen()[0] == "half"
    assert "went wrong" in house.seen()[1]
    assert await house.told() == [("user", "q"), ("assistant", "half"), ("notice", house.seen()[1])]


async def test_two_parts_of_a_chat_are_never_sent_at_once(furnish: Furnish) -> None:
    """A preview, instant answers and notices share the chat's one lane."""
    house = await furnish(GrowingBot())
    await growing(house)
    await house.say("grow")
    await house.say("/version")
    gate = asyncio.Event()
    house.bot.fail("7", Fault(gate=gate))
    await house.say("/status")
    await grow(house, 3)
    gate.set()
    await grow(house, 10)
    await house.advance(3)
    assert house.seen()[-1] == WHOLE or WHOLE in house.seen()
    assert house.bot.at_once == []


PACED = Capabilities(
    text_limit=400,
    text_unit=TextUnit.UTF16,
    direct_pace=Pace(interval_s=1.0, burst=3),
    group_pace=Pace(interval_s=4.0, burst=5),
    account_pace=Pace(interval_s=0.1, burst=4),
)


class TimedBot(AdminBot):
    """Writes down when it was called."""

    def __init__(self, capabilities: Capabilities) -> None:
        super().__init__("main", capabilities)
        self.times: list[tuple[float, str]] = []
        self.house: House | None = None

    async def _call(self, verb, delivery, message):  # type: ignore[no-untyped-def]
        assert self.house is not None
        self.times.append((self.house.clock.monotonic(), delivery.address.chat))
        return await super()._call(verb, delivery, message)


class TimedGrowingBot(TimedBot, GrowingBot):
    pass


def most_within(times: list[float], seconds: float) -> int:
    return max(sum(1 for other in times if start <= other < start + seconds) for start in times)


async def test_a_chat_gets_no_more_than_its_pace(furnish: Furnish) -> None:
    bot = TimedBot(PACED)
    house = bot.house = await furnish(bot)
    house.stage.on("long", says("\n\n".join(f"{n} " + "x" * 300 for n in range(30))))
    await house.say_in_group("long")
    await house.advance(200)
    times = [at for at, _ in bot.times]
    assert len(times) == 30
    assert most_within(times, 60) <= 20
    assert most_within(times, 3.9) <= 5


async def test_all_chats_of_an_account_share_its_pace(furnish: Furnish) -> None:
    bot = TimedBot(PACED)
    house = bot.house = await furnish(bot)
    await house.receive(*[house.message("x", user=str(100 + n)) for n in range(40)])
    await house.idle()
    await house.advance(30)
    times = [at for at, _ in bot.times]
    assert len(times) == 40
    assert most_within(times, 1.0) <= 14
    assert most_within(times, 0.09) <= 4


async def test_previews_and_notices_keep_the_pace_together(furnish: Furnish) -> None:
    bot = TimedGrowingBot(replace(GROWING, direct_pace=Pace(interval_s=1.0, burst=3)))
    house = bot.house = await furnish(bot)
    await growing(house)
    await house.say("grow")
    for word in range(10):
        house.stage.gate(f"{word}").set()
        await house.say("/version")
        await house.advance(0.4)
    await house.advance(30)
    times = [at for at, _ in bot.times]
    for seconds in (1, 2, 5, 10):
        assert most_within(times, seconds) <= 3 + seconds
    assert house.bot.at_once == []


async def test_an_answer_to_a_bot_that_is_gone_waits(furnish: Furnish) -> None:
    house = await furnish(AdminBot("main"), AdminBot("second"))
    gate = asyncio.Event()
    house.bots[next(name for name in house.bots if name == "second")].fail("7", Fault(gate=gate))
    await house.offer(house.message("x", bot="second"))
    await house.idle()
    second = house.bots.pop(next(name for name in house.bots if name == "second"))
    await house.restart()
    await house.say("still here")
    assert house.seen("7", "main") == ["re: still here"]
    house.bots[second.name] = second
    await house.restart()
    assert second.seen("7") == ["My last answer may not have arrived: /again sends it once more."]


async def test_a_failed_notice_of_an_agent_is_retried_too(house: House) -> None:
    house.stage.on("q", raises(ValueError("x")))
    house.bot.fail("7", NotSent("x"))
    await house.say("q")
    await house.advance(5)
    assert "went wrong" in house.seen()[0]
