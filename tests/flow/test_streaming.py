"""Answers that only gain while they grow, where the platform has such messages, and how they are told of their end."""

from __future__ import annotations

from collections.abc import AsyncIterator

from core.agents.agent import AgentEvent, TurnContext
from core.vocabulary import Address, CallClosed, CallOpened, Capabilities, ChatId, Delivery, MessageId, TextDelta
from tests.flow.bot import GROWING
from tests.flow.conftest import Furnish
from tests.flow.house import House
from tests.flow.pressing_bot import WITH_BUTTONS, ButtonBot
from tests.flow.test_growing import WHOLE, grow, growing
from tests.flow.test_tools_shown import set_gate, tools


class StreamingBot(ButtonBot):
    """Its messages only gain while they are `growing`; an end that is not told leaves them open."""

    def __init__(self, capabilities: Capabilities = GROWING) -> None:
        super().__init__(capabilities=capabilities)
        self.takes = True
        self.open: dict[MessageId, str] = {}
        self.growing: list[bool] = []

    def streams(self, address: Address) -> bool:
        return self.takes

    async def send(self, delivery: Delivery) -> MessageId:
        message = await super().send(delivery)
        self._note(delivery, message)
        return message

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        if delivery.growing:
            assert delivery.text.startswith(self.open.get(message, ""))
        await super().edit(delivery, message)
        self._note(delivery, message)

    def _note(self, delivery: Delivery, message: MessageId) -> None:
        self.growing.append(delivery.growing)
        if delivery.growing:
            self.open[message] = delivery.text
        else:
            self.open.pop(message, None)


async def streaming(furnish: Furnish, *, stop_button: bool = False) -> tuple[House, StreamingBot]:
    bot = StreamingBot(WITH_BUTTONS if stop_button else GROWING)
    house = await furnish(bot, bots={"main": {"stop_button": stop_button}})
    return house, bot


async def test_an_answer_is_told_that_it_ended_though_it_says_all(furnish: Furnish) -> None:
    house, bot = await streaming(furnish)
    await growing(house)
    await house.say("grow")
    await grow(house, 9)
    await house.advance(2)
    assert house.seen() == [WHOLE]
    assert bot.open
    house.stage.gate("9").set()
    await house.advance(2)
    assert house.seen() == [WHOLE]
    assert not bot.open
    assert bot.growing[-2:] == [True, False]
    assert bot.growing.count(False) == 1
    assert await house.deliveries() == [("sent", "reply")]


async def test_what_tools_do_is_no_part_of_it(furnish: Furnish) -> None:
    house, bot = await streaming(furnish)
    tools(house, ["search"], first="")
    await house.say("look")
    await set_gate(house, "begin")
    assert house.seen() == []
    for gate in ("0", "end"):
        await set_gate(house, gate)
    assert house.seen() == ["Here."]
    tools(house, ["search"])
    for gate in ("begin", "0", "end"):
        house.stage.gate(gate).clear()
    await house.say("look")
    await house.advance(2)
    for gate in ("begin", "0", "end"):
        await set_gate(house, gate)
    (_, second) = bot.chats[ChatId("7")]
    assert not any("search" in text for text in second.texts)
    assert second.text == "One moment. Here."
    assert not bot.open


async def test_where_no_such_message_is_taken_any_more_it_is_as_everywhere(furnish: Furnish) -> None:
    house, bot = await streaming(furnish)
    tools(house, ["search"])
    await house.say("look")
    await house.advance(2)
    bot.takes = False
    await set_gate(house, "begin")
    assert house.seen() == ["One moment.\n\n*using search …*"]
    assert not bot.open
    for gate in ("0", "end"):
        await set_gate(house, gate)
    assert house.seen() == ["One moment. Here."]


async def test_what_has_a_button_does_not_grow_so(furnish: Furnish) -> None:
    house, bot = await streaming(furnish, stop_button=True)
    await growing(house)
    await house.say("grow")
    await grow(house, 10)
    assert house.seen() == [WHOLE]
    assert set(bot.growing) == {False}


async def test_stopped_in_the_middle_it_is_told_so(furnish: Furnish) -> None:
    house, bot = await streaming(furnish)
    await growing(house)
    await house.say("grow")
    await grow(house, 4)
    seen = house.seen()
    await house.say("/stop")
    await house.advance(3)
    assert house.seen()[-1] == "Stopped."
    assert house.seen()[0].startswith(seen[0])
    assert not bot.open


async def test_after_a_kill_what_was_read_stays_and_it_is_told_that_it_ended(furnish: Furnish) -> None:
    house, bot = await streaming(furnish)

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="One moment.")
        await house.stage.gate("begin").wait()
        await turn.opened([CallOpened(call="1", tool="search", arguments="{}")])
        await house.stage.gate("0").wait()
        await turn.closed(CallClosed(call="1", result="r", failed=False))
        for word in ("Here", " it", " is"):
            yield TextDelta(text=word)
            await house.stage.gate(word).wait()

    house.stage.on("look", script)
    await house.say("look")
    await house.advance(2)
    for gate in ("begin", "0", "Here", " it"):
        await set_gate(house, gate)
    assert house.seen() == ["One moment.Here it is"]
    assert bot.open
    await house.restart()
    await house.advance(3)
    assert house.seen()[0] == "One moment.Here it is"
    assert "restarted while answering" in house.seen()[1]
    assert not bot.open


async def test_made_anew_after_a_kill_it_ends_once(furnish: Furnish) -> None:
    house, bot = await streaming(furnish)
    await growing(house)
    await house.say("grow")
    await grow(house, 4)
    await house.restart()
    bot.open.clear()  # the next process knows of none, and takes what it said away first
    await grow(house, 10)
    await house.advance(3)
    assert house.seen() == [WHOLE]
    assert not bot.open
