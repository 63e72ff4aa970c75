"""Answers that grow while they are made, and how fast a chat is written to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from msgspec.structs import replace

from core.agents.agent import AgentEvent, TurnContext
from core.errors import ChatDead, FloodWait, NotSent, Rejected, Unknown
from core.vocabulary import Capabilities, ChatId, Pace, TextDelta, TextUnit
from tests.fakes.agents import says
from tests.flow.bot import GROWING, AdminBot, Fault, GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import House


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
    await grow(house, 10, 1.1)
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


async def test_nobody_is_shown_to_type_where_the_platform_named_a_wait(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    house.stage.on("slow", house.stage.waits())
    house.bot.fail("8", FloodWait(30, account=True))
    await house.say("hello", user="8")
    await house.say("slow")
    await house.advance(29)
    assert house.bot.typed == []
    await house.advance(2)
    assert house.bot.typed == [ChatId("7")]


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


async def test_a_message_that_grows_in_a_chat_that_died_is_left_alone(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    await growing(house)
    await house.say("grow")
    await grow(house, 2)
    edits = [verb for verb, _, _ in house.bot.calls].count("edit")
    house.bot.fail("7", *[ChatDead("blocked")] * 100)
    house.stage.gate("2").set()
    await house.advance(30)
    assert [verb for verb, _, _ in house.bot.calls].count("edit") == edits + 1
