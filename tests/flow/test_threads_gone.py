"""Threads that are deleted or closed while something is on its way there: it is said in the chat around them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from core.agents.agent import AgentEvent, TurnContext
from core.errors import Rejected, ThreadGone, Unreachable
from core.vocabulary import ChatId, ChatKind, Delivery, MessageId, TextDelta
from tests.fakes.agents import says
from tests.flow.bot import GROWING, Fault, GrowingBot, Shown
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, House

LONG = "\n\n".join(f"{n} " + "x" * 300 for n in range(3))
WHY = "The thread that this belongs to is gone, so it stands here."


class ForumBot(GrowingBot):
    """Its threads can go. Nothing can be changed in one that has gone."""

    def __init__(self) -> None:
        super().__init__(capabilities=GROWING)
        self.gone: set[str] = set()

    async def send(self, delivery: Delivery) -> MessageId:
        if delivery.address.thread in self.gone:
            raise ThreadGone("thread not found")
        return await super().send(delivery)

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        if delivery.address.thread in self.gone:
            raise ThreadGone("thread not found")
        await super().edit(delivery, message)


async def forum(furnish: Furnish) -> House:
    return await furnish(ForumBot())


def goes(house: House, thread: str) -> None:
    assert isinstance(house.bot, ForumBot)
    house.bot.gone.add(thread)


def stands(house: House) -> list[tuple[str | None, str]]:
    """(thread, the first characters) of what we said in the group."""
    return [(one.thread, one.text[:8]) for one in shown(house)]


def shown(house: House) -> Sequence[Shown]:
    return house.bot.chats.get(ChatId(GROUP), [])


async def test_an_answer_is_said_in_the_chat_part_by_part_and_once_why(furnish: Furnish) -> None:
    house = await forum(furnish)
    house.stage.on("long", says(LONG))
    goes(house, "5")
    said = await house.say_in_group("long", thread="5")
    assert [(one.thread, one.reply_to) for one in shown(house)] == [(None, None)] * 4
    assert [one.text[:2] for one in shown(house)] == ["0 ", "1 ", "2 ", "Th"]
    assert shown(house)[-1].text == WHY
    assert await house.fate(said) == "answered"
    assert await house.deliveries(GROUP) == [("sent", "reply")] * 3 + [("sent", "notice")]


async def test_other_threads_and_what_is_said_there_later_are_left_alone(furnish: Furnish) -> None:
    house = await forum(furnish)
    await house.say_in_group("one", thread="5")
    goes(house, "5")
    await house.say_in_group("two", thread="5")
    await house.say_in_group("three", thread="6")
    await house.say_in_group("four")
    assert stands(house) == [
        ("5", "re: one"), (None, "re: two"), (None, WHY[:8]), ("6", "re: thre"), (None, "re: four"),
    ]  # fmt: skip


async def test_a_thread_that_goes_between_two_parts_keeps_what_it_has(furnish: Furnish) -> None:
    house = await forum(furnish)
    house.stage.on("long", says(LONG))
    gate = asyncio.Event()
    house.bot.fail(GROUP, Fault(gate=gate))
    await house.say_in_group("long", thread="5")
    goes(house, "5")
    gate.set()
    await house.idle()
    assert [(thread, text[:2]) for thread, text in stands(house)] == [
        ("5", "0 "), (None, "1 "), (None, "2 "), (None, "Th"),
    ]  # fmt: skip


async def test_an_answer_that_grew_there_is_said_anew_in_the_chat(furnish: Furnish) -> None:
    house = await forum(furnish)

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="half")
        await house.stage.gate().wait()
        yield TextDelta(text=" and the rest")

    house.stage.on("grow", script)
    await house.say_in_group("grow", thread="5")
    await house.advance(1)
    goes(house, "5")
    house.stage.gate().set()
    await house.advance(3)
    assert [(one.thread, one.text) for one in shown(house)] == [
        ("5", "half"), (None, "half and the rest"), (None, WHY),
    ]  # fmt: skip


async def test_what_waited_over_a_restart_goes_there_too(furnish: Furnish) -> None:
    house = await forum(furnish)
    house.stage.on("long", says(LONG))
    house.bot.fail(GROUP, Unreachable("nobody"))
    await house.say_in_group("long", thread="5")
    goes(house, "5")
    await house.restart()
    assert [(thread, text[:2]) for thread, text in stands(house)] == [
        (None, "0 "), (None, "1 "), (None, "2 "), (None, "Th"),
    ]  # fmt: skip


async def test_a_thread_of_a_direct_chat_goes_likewise(furnish: Furnish) -> None:
    house = await forum(furnish)
    goes(house, "5")
    await house.say("hello", thread="5")
    assert [(one.thread, one.text) for one in house.bot.chats[ChatId("7")]] == [(None, "re: hello"), (None, WHY)]


async def test_a_chat_whose_thread_is_refused_for_another_reason_is_told_nothing(furnish: Furnish) -> None:
    house = await forum(furnish)
    house.bot.fail(GROUP, Rejected("too odd"))
    await house.say_in_group("hello", thread="5")
    assert shown(house) == []
    assert await house.deliveries(GROUP) == [("failed", "reply")]


async def test_a_platform_that_says_so_of_no_thread_at_all_is_taken_at_its_word(furnish: Furnish) -> None:
    house = await forum(furnish)
    house.bot.fail(GROUP, ThreadGone("the general topic is closed"))
    await house.say_in_group("hello")
    assert await house.deliveries(GROUP) == [("failed", "reply")]


@pytest.mark.parametrize("kind", [ChatKind.DIRECT, ChatKind.THREAD])
async def test_the_next_process_goes_on_in_the_chat(furnish: Furnish, kind: ChatKind) -> None:
    """All that waited for the thread was given its new place at once."""
    house = await forum(furnish)
    house.stage.on("long", says(LONG))
    goes(house, "5")
    chat = GROUP if kind is ChatKind.THREAD else "7"
    house.bot.fail(chat, Fault(gate=asyncio.Event()))
    await house.offer(house.message("long", chat=chat, kind=kind, thread="5"))
    await house.idle()
    await house.restart()
    await house.advance(3)
    texts = [(one.thread, one.text[:2]) for one in house.bot.chats[ChatId(chat)]]
    assert texts == [(None, "1 "), (None, "2 "), (None, "Th"), (None, "My")]
