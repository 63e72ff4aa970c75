"""A beginning that arrived, and whose id nobody stored: where the platform knows it again, the answer grows on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from core.agents.agent import AgentEvent, TurnContext
from core.errors import FloodWait, NotSent, Rejected, SendError, Unknown
from core.vocabulary import CallOpened, ChatId, Delivery, MessageId, TextDelta
from tests.fakes.agents import says
from tests.flow.bot import Fault
from tests.flow.conftest import Furnish
from tests.flow.house import House
from tests.flow.pressing_bot import WITH_BUTTONS, ButtonBot, button_bot, press

SPAN_S = 60.0
NOTICE = "I was restarted while answering and can't tell what was done already. /retry tries again."


class KnowingBot(ButtonBot):
    """Its platform knows for a minute what was sent before: a repeated send gives the id of what stands there."""

    def __init__(self, *, knows_for_s: float) -> None:
        super().__init__(capabilities=replace(WITH_BUTTONS, idempotent_for_s=knows_for_s))
        self.house: House
        self.silent = False
        """What is sent arrives, and nothing comes back."""
        self.repeat_faults: deque[SendError] = deque()
        self._sent_at: dict[int, tuple[float, MessageId]] = {}

    async def send(self, delivery: Delivery) -> MessageId:
        if self.repeat_faults and delivery.earlier is not None:
            raise self.repeat_faults.popleft()
        now = self.house.clock.monotonic()
        at, message = self._sent_at.get(delivery.id, (float("-inf"), MessageId("")))
        if delivery.earlier is None or now - at > self.capabilities.idempotent_for_s:
            message = await super().send(delivery)
            self._sent_at[delivery.id] = (now, message)
        else:
            self.calls.append(("found", delivery.address.chat, delivery.text))
        if self.silent:
            await asyncio.Event().wait()
        return message


async def knowing(furnish: Furnish, *, knows_for_s: float = SPAN_S, stop_button: bool = False) -> House:
    bot = KnowingBot(knows_for_s=knows_for_s)
    house = bot.house = await furnish(bot, bots={"main": {"stop_button": stop_button}})
    return house


def knowing_bot(house: House) -> KnowingBot:
    bot = house.bot
    assert isinstance(bot, KnowingBot)
    return bot


def silence(house: House, silent: bool) -> None:
    knowing_bot(house).silent = silent


async def killed(house: House, text: str = "slow") -> None:
    """The beginning of the answer has arrived, and the process dies before it hears of that."""
    silence(house, True)
    await house.say(text)
    await house.advance(0.5)
    await house.die()
    silence(house, False)


def writes(house: House) -> None:
    """Says something, and is doing what must not be done twice when the process dies."""

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="doing")
        await house.stage.gate("begin").wait()
        await turn.opened([CallOpened(call="1", tool="pay", arguments="{}", read_only=False)])
        await house.stage.gate("never").wait()

    house.stage.on("slow", script)


async def test_the_answer_grows_on_in_it(furnish: Furnish) -> None:
    house = await knowing(furnish)
    house.stage.on("slow", house.stage.waits(before=["half "]))
    await killed(house)
    assert house.seen() == ["half"]
    await house.open()
    await house.advance(1)
    house.stage.gate().set()
    await house.advance(3)
    assert house.seen() == ["half done"]
    assert [verb for verb, _, _ in house.bot.calls] == ["send", "found", "edit"]
    assert await house.deliveries() == [("sent", "reply")]


async def test_an_answer_that_is_quick_the_second_time_is_edited_into_it(furnish: Furnish) -> None:
    house = await knowing(furnish)
    house.stage.on("slow", house.stage.waits(before=["half "]))
    await killed(house)
    house.stage.on("slow", says("\n\n".join(f"{n} " + "x" * 300 for n in range(3))))
    await house.open()
    await house.advance(3)
    assert [text[:2] for text in house.seen()] == ["0 ", "1 ", "2 "]
    assert await house.deliveries() == [("sent", "reply")] * 3


async def test_it_is_left_no_stop_button_whatever_is_said_in_the_end(furnish: Furnish) -> None:
    house = await knowing(furnish, stop_button=True)
    house.stage.on("slow", house.stage.waits(before=["half "]))
    await killed(house)
    house.stage.on("slow", says("half"))
    await house.open()
    await house.advance(3)
    assert house.seen() == ["half"]
    assert button_bot(house).buttons() == []


@pytest.mark.parametrize("kills", [1, 2])
async def test_where_the_turn_is_not_tried_again_it_loses_its_line_and_its_button(furnish: Furnish, kills: int) -> None:
    house = await knowing(furnish, stop_button=True)
    writes(house)
    house.stage.gate("begin").set()
    await killed(house)
    assert house.seen() == ["doing\n\n*using pay …*"]
    for _ in range(kills - 1):
        silence(house, True)
        await house.open()
        await house.idle()
        await house.die()
        silence(house, False)
    await house.open()
    await house.advance(3)
    assert house.seen() == ["doing", NOTICE]
    assert button_bot(house).buttons() == []
    assert await house.deliveries() == [("sent", "reply"), ("sent", "notice")]


async def test_stopped_before_it_was_found_it_loses_its_button(furnish: Furnish) -> None:
    house = await knowing(furnish, stop_button=True)
    house.stage.on("slow", house.stage.waits(before=["half "]))
    await killed(house)
    await house.open()
    house.desk.health.degraded(house.bot.name, "away")
    await house.idle()
    (button,) = button_bot(house).buttons()
    await press(house, button.data)
    await house.advance(3)
    assert house.seen()[0] == "half"
    assert "Stopped." in house.seen()[1]
    assert button_bot(house).buttons() == []


async def test_a_beginning_that_never_arrived_is_sent_then(furnish: Furnish) -> None:
    house = await knowing(furnish)
    house.stage.on("slow", house.stage.waits(before=["half "]))
    house.bot.fail("7", Fault(gate=house.stage.gate("never")))
    await house.say("slow")
    await house.advance(0.5)
    await house.restart()
    house.stage.gate().set()
    await house.advance(3)
    assert house.seen() == ["half done"]


async def test_after_its_minutes_nothing_is_looked_for(furnish: Furnish) -> None:
    """The platform would not know it any more."""
    house = await knowing(furnish)
    house.stage.on("slow", house.stage.waits(before=["half "]))
    await killed(house)
    await house.clock.leap(SPAN_S)
    house.stage.gate().set()
    await house.open()
    await house.advance(3)
    assert house.seen() == ["half", "half done"]
    assert [verb for verb, _, _ in house.bot.calls] == ["send", "send"]
    assert await house.deliveries() == [("sent", "reply")]


async def test_nor_where_the_bot_is_up_only_after_them(furnish: Furnish) -> None:
    house = await knowing(furnish)
    house.stage.on("slow", house.stage.waits(before=["half "]))
    await killed(house)
    await house.open()
    house.core.outbox.hold(house.bot.name)
    await house.advance(SPAN_S)
    house.core.outbox.open(house.bot.name)
    await house.advance(2)
    house.stage.gate().set()
    await house.advance(3)
    assert house.seen() == ["half", "half done"]
    assert [state for state, _ in await house.deliveries()] == ["sent"]


async def test_a_platform_that_knows_nothing_is_not_asked(furnish: Furnish) -> None:
    house = await knowing(furnish, knows_for_s=0.0)
    writes(house)
    house.stage.gate("begin").set()
    await killed(house)
    await house.open()
    await house.advance(3)
    assert house.seen() == ["doing\n\n*using pay …*", NOTICE]
    assert await house.deliveries() == [("sent", "notice")]


@pytest.mark.parametrize("fault", [NotSent("x"), Unknown("x"), FloodWait(3)])
async def test_a_repetition_that_fails_is_repeated_with_the_whole_answer(furnish: Furnish, fault: SendError) -> None:
    house = await knowing(furnish)
    house.stage.on("slow", house.stage.waits(before=["half "]))
    await killed(house)
    knowing_bot(house).repeat_faults.append(fault)
    await house.open()
    await house.advance(1)
    house.stage.gate().set()
    await house.advance(6)
    assert house.seen() == ["half done"]
    assert await house.deliveries() == [("sent", "reply")]


async def test_what_stands_there_is_not_what_was_said_the_second_time(furnish: Furnish) -> None:
    house = await knowing(furnish)
    house.stage.on("slow", house.stage.waits(before=["half "]))
    await killed(house)
    house.stage.on("slow", house.stage.waits(before=["other"], after=()))
    await house.open()
    await house.advance(0.5)
    house.stage.gate().set()
    await house.idle()
    await house.advance(3)
    assert house.seen() == ["other"]


async def test_an_edit_that_is_refused_is_not_taken_for_what_stands_there(furnish: Furnish) -> None:
    """A platform may refuse edits though the message is there, and know that message again."""
    house = await knowing(furnish)
    house.stage.on("slow", house.stage.waits(before=["half "]))
    await house.say("slow")
    await house.advance(0.5)
    house.bot.fail("7", Rejected("edit_window_closed"))
    house.stage.gate().set()
    await house.advance(3)
    assert house.seen() == ["half", "half done"]
    assert await house.deliveries() == [("sent", "reply")]


async def test_a_beginning_without_an_answer_from_the_platform_is_found_in_the_same_process(furnish: Furnish) -> None:
    house = await knowing(furnish)
    house.stage.on("slow", house.stage.waits(before=["half "]))
    bot = knowing_bot(house)

    class Once(KnowingBot):
        async def send(self, delivery: Delivery) -> MessageId:
            made = await super().send(delivery)
            if delivery.earlier is None:
                raise Unknown("cut")
            return made

    bot.__class__ = Once
    await house.say("slow")
    await house.advance(0.5)
    house.stage.gate().set()
    await house.advance(3)
    assert house.seen() == ["half done"]
    assert [verb for verb, _, _ in bot.calls] == ["send", "found", "edit"]
    assert len(bot.chats[ChatId("7")]) == 1
