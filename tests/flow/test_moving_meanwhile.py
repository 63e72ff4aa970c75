"""C31: what waits, runs and grows when a chat gets another id ends under the new one, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from core.agents.agent import AgentEvent, TurnContext
from core.errors import Rejected, Unreachable
from core.vocabulary import ChatId, Delivery, MessageId, TextDelta, Verdict
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, House, Said
from tests.flow.pressing_bot import ButtonBot, button_bot, press
from tests.flow.test_consent import Paying
from tests.flow.test_moving import NEW, move, moved_to


async def test_what_waits_and_runs_when_the_chat_moves_is_answered_under_the_new_id(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    slow = await house.say_in_group("slow")
    await house.advance(5)
    waits = await house.say_in_group("waits")
    await move(house, GROUP, NEW)
    house.stage.gate().set()
    await house.idle()
    assert [await house.fate(said) for said in (slow, waits)] == ["answered"] * 2
    assert house.seen(NEW) == ["done", "re: waits"]
    assert house.seen(GROUP) == []


async def test_a_delivery_that_waits_for_the_old_id_goes_to_the_new_one(house: House) -> None:
    house.bot.fail(GROUP, Unreachable("nobody is there"))
    await house.say_in_group("hello")
    await move(house, GROUP, NEW)
    await house.say_in_group("after", chat=NEW)
    await house.advance(60)
    assert house.seen(NEW) == ["re: hello", "re: after"]


async def test_a_row_from_before_the_move_does_not_lead_back_to_the_old_id(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say_in_group("slow")
    await house.advance(5)
    await house.say_in_group("waits")
    await move(house, GROUP, NEW)
    house.stage.gate().set()
    await house.idle()
    assert (await house.conversation(f"main/group/{NEW}")).address.chat == NEW


async def test_a_question_that_is_open_when_the_chat_moves_can_be_answered_by_its_buttons(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    paying = Paying()
    house.stage.on("pay", paying)
    await house.say_in_group("please pay")
    data = button_bot(house).button("Allow", GROUP)
    await move(house, GROUP, NEW)
    await press(house, data, chat=NEW)
    assert paying.paid == ["1"]


async def test_a_question_that_is_open_when_the_chat_moves_can_be_answered_by_its_command(house: House) -> None:
    paying = Paying()
    house.stage.on("pay", paying)
    await house.say_in_group("please pay")
    await move(house, GROUP, NEW)
    await house.say_in_group("/approve", chat=NEW)
    assert paying.paid == ["1"]


class MigratingBot(ButtonBot):
    """Its platform tells of a move in the answer to a send, which the bot then repeats once under the new id."""

    house: House | None = None

    async def send(self, delivery: Delivery) -> MessageId:
        if self.house is None or delivery.address.chat != GROUP:
            return await super().send(delivery)
        there = replace(delivery, address=replace(delivery.address, chat=ChatId(NEW), reply_to=None))
        made = await super().send(there)
        await self.house.receive(moved_to(GROUP, NEW))
        return made

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        if self.house is None or delivery.address.chat != GROUP:
            await super().edit(delivery, message)
            return
        await self.house.receive(moved_to(GROUP, NEW))
        raise Rejected("the chat has another id")


def migrating(house: House) -> None:
    """From now on."""
    assert isinstance(house.bot, MigratingBot)
    house.bot.house = house


STOPPABLE: dict[str, Any] = {"bots": {"main": {"stop_button": True, "groups": [int(GROUP)]}}}


async def growing(furnish: Furnish, bot: ButtonBot | None = None, **options: Any) -> tuple[House, Said]:
    """An answer grows in a group."""
    house = await furnish(bot or ButtonBot(), **options)
    house.stage.on("slow", house.stage.waits("slow", before=("slow one",), after=(" two",)))
    said = await house.say_in_group("slow")
    await house.advance(1.0)
    return house, said


async def grown(house: House) -> None:
    house.stage.gate("slow").set()
    await house.idle()
    await house.advance(3)


async def test_an_answer_that_grows_when_the_chat_moves_grows_on_under_the_new_id(furnish: Furnish) -> None:
    house, said = await growing(furnish)
    assert house.seen(GROUP) == ["slow one"]
    await move(house, GROUP, NEW)
    await house.advance(3)
    assert house.seen(NEW) == ["slow one"]
    await grown(house)
    assert await house.fate(said) == "answered"
    assert house.seen(NEW) == ["slow one two"]
    assert house.seen(GROUP) == ["slow one"]
    assert house.bot.typed[-1] == NEW


async def test_its_button_to_stop_it_is_pressed_under_the_new_id(furnish: Furnish) -> None:
    house, said = await growing(furnish, **STOPPABLE)
    await move(house, GROUP, NEW)
    await house.advance(3)
    receipt = await press(house, button_bot(house).button("Stop", NEW), chat=NEW)
    await house.advance(3)
    assert receipt.verdict is Verdict.ACCEPTED
    assert await house.fate(said) == "answered"
    assert house.seen(NEW) == ["slow one", "Stopped."]


async def test_a_move_that_the_first_send_tells_of_makes_no_second_message(furnish: Furnish) -> None:
    bot = MigratingBot()
    house = await furnish(bot)
    house.stage.on("slow", house.stage.waits("slow", before=("slow one",), after=(" two",)))
    bot.house = house
    said = await house.say_in_group("slow")
    await house.advance(1.0)
    assert house.seen(NEW) == ["slow one"]
    await grown(house)
    assert await house.fate(said) == "answered"
    assert house.seen(NEW) == ["slow one two"]
    assert house.seen(GROUP) == []


async def test_a_move_that_the_send_of_an_answer_tells_of_doubles_nothing(furnish: Furnish) -> None:
    house = await furnish(MigratingBot())
    house.stage.on("long", house.stage.waits("long", after=(" ".join(f"{number:03}" for number in range(250)),)))
    house.stage.gate("long").set()
    migrating(house)
    said = await house.say_in_group("long")
    await house.advance(60)
    assert await house.fate(said) == "answered"
    words = " ".join(house.seen(NEW)).split()
    assert words == [f"{number:03}" for number in range(250)]
    assert house.seen(GROUP) == []


async def test_a_move_that_the_last_edit_tells_of_makes_one_message_under_the_new_id(furnish: Furnish) -> None:
    house, said = await growing(furnish, MigratingBot())
    migrating(house)
    await grown(house)
    assert await house.fate(said) == "answered"
    assert house.seen(NEW) == ["slow one two"]
    assert house.seen(GROUP) == ["slow one"]


async def test_a_move_that_an_edit_tells_of_while_it_grows_makes_one_message_under_the_new_id(furnish: Furnish) -> None:
    house = await furnish(MigratingBot())
    gates = [asyncio.Event(), asyncio.Event()]

    async def slow(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="one")
        for gate, word in zip(gates, (" two", " three"), strict=True):
            await gate.wait()
            yield TextDelta(text=word)

    house.stage.on("slow", slow)
    said = await house.say_in_group("slow")
    await house.advance(1.0)
    migrating(house)
    gates[0].set()
    await house.idle()
    await house.advance(3)
    assert (house.seen(GROUP), house.seen(NEW)) == (["one"], ["one two"])
    gates[1].set()
    await house.idle()
    await house.advance(3)
    assert await house.fate(said) == "answered"
    assert (house.seen(GROUP), house.seen(NEW)) == (["one"], ["one two three"])


async def test_what_was_to_replace_a_message_of_the_old_id_is_sent_under_the_new_one(furnish: Furnish) -> None:
    house, said = await growing(furnish)
    house.bot.fail(GROUP, *[Unreachable("nobody is there")] * 9)
    await grown(house)
    await move(house, GROUP, NEW)
    await house.advance(60)
    assert await house.fate(said) == "answered"
    assert house.seen(NEW) == ["slow one two"]
    assert house.seen(GROUP) == ["slow one"]


async def test_an_answer_that_could_not_be_stored_before_the_move_is_sent_under_the_new_id(furnish: Furnish) -> None:
    house, said = await growing(furnish)
    house.store.full = True
    house.stage.gate("slow").set()
    await house.idle()
    house.store.full = False
    assert await house.fate(said) is None
    await move(house, GROUP, NEW)
    await house.advance(3)
    assert await house.fate(said) == "answered"
    assert (house.seen(GROUP), house.seen(NEW)) == (["slow one"], ["slow one two"])


async def test_who_waits_for_a_slot_is_told_the_place_under_the_new_id(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), desk={"max_turns": 1})
    house.stage.on("slow", house.stage.waits("slow"))
    await house.say("slow")
    said = await house.say_in_group("hello")
    await move(house, GROUP, NEW)
    await house.advance(6)
    assert len(house.seen(NEW)) == 1
    await grown(house)
    assert await house.fate(said) == "answered"
    assert (house.seen(GROUP), house.seen(NEW)[1:]) == ([], ["re: hello"])


async def test_nothing_replies_to_a_message_of_the_old_id(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say_in_group("slow")
    await house.advance(5)
    await house.say_in_group("waits")
    await move(house, GROUP, NEW)
    house.stage.gate().set()
    await house.idle()
    assert [shown.reply_to for shown in house.bot.chats[ChatId(NEW)]] == [None, None]


@pytest.mark.parametrize("again", [False, True])
async def test_a_turn_that_was_moved_is_taken_up_under_the_new_id_after_a_death(furnish: Furnish, again: bool) -> None:
    house, said = await growing(furnish)
    await move(house, GROUP, NEW)
    if again:
        await house.advance(3)
    await house.restart()
    house.stage.on("slow", house.stage.waits("slow", before=("slow one",), after=(" two",)))
    await house.advance(3)
    await grown(house)
    assert await house.fate(said) == "answered"
    assert house.seen(NEW) == ["slow one two"]


async def test_an_interrupted_turn_whose_successor_still_waits_is_told_under_the_new_id(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), mailbox={"busy": "interrupt", "debounce_ms": 3000})
    house.stage.on("slow", house.stage.waits("slow", before=("slow one",), after=(" two",)))
    said = await house.say_in_group("slow")
    await house.advance(3.1)
    await house.advance(1.0)
    assert house.seen(GROUP) == ["slow one"]
    await house.say_in_group("more")  # interrupts, and waits for the rest of its thought
    assert await house.fate(said) is None
    await move(house, GROUP, NEW)
    await house.advance(5)
    assert await house.fate(said) in ("answered", "merged")
    assert house.seen(NEW) == ["slow one", "re: more"]
    assert house.seen(GROUP) == ["slow one"]
