"""What may have arrived is told to the bot when it is sent again, and where nobody can tell, the person hears of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from core.delivery.backlog import Backlog
from core.errors import FloodWait, NotSent, Unknown
from core.vocabulary import BotName, ChatId, Delivery, Earlier, MessageId
from tests.flow.bot import CAPABILITIES, AdminBot, Fault
from tests.flow.conftest import Furnish
from tests.flow.house import House

KNOWS = replace(CAPABILITIES, idempotent_for_s=60.0)
DOUBT = "My last answer may not have arrived: /again sends it once more."


class Noting(AdminBot):
    """Keeps what it is told of earlier tries."""

    def __init__(self) -> None:
        super().__init__("main", KNOWS)
        self.earlier: list[tuple[str, Earlier | None]] = []

    async def send(self, delivery: Delivery) -> MessageId:
        self.earlier.append((delivery.text, delivery.earlier))
        return await super().send(delivery)

    def of(self, text: str) -> list[Earlier | None]:
        return [earlier for said, earlier in self.earlier if said == text]


@pytest.fixture
async def bot() -> Noting:
    return Noting()


@pytest.fixture
async def house(furnish: Furnish, bot: Noting) -> AsyncIterator[House]:
    yield await furnish(bot)


async def test_what_certainly_did_not_arrive_is_never_doubted(house: House, bot: Noting) -> None:
    bot.fail("7", NotSent("x"), FloodWait(9))
    await house.say("hello")
    await house.advance(2)
    await house.advance(9)
    assert house.seen() == ["re: hello"]
    assert bot.of("re: hello") == [None, None, None]


async def test_a_doubted_part_is_told_since_when_it_may_stand_and_what_else_stands_there(
    house: House, bot: Noting
) -> None:
    await house.say("before")
    bot.fail("7", FloodWait(30), Unknown("x"), FloodWait(5))
    await house.say("hello")
    for wait_s in (30, 4, 5):
        await house.advance(wait_s)
    first, second, third, last = bot.of("re: hello")
    assert first is second is None
    assert third is not None
    assert third.others == {bot.chats[ChatId("7")][0].id}
    assert last == third
    assert house.clock.now() - third.since == timedelta(seconds=9)


async def test_another_process_doubts_whatever_was_being_sent(house: House, bot: Noting) -> None:
    gate = asyncio.Event()
    bot.fail("7", Fault(gate=gate))
    await house.offer(house.message("hello"))
    await house.idle()
    await house.restart()
    first, again = bot.of("re: hello")
    assert first is None
    assert again is not None


async def test_waiting_for_its_turn_makes_no_part_older(house: House, bot: Noting) -> None:
    """The platform answers nothing for a while: what waits behind the first part may be repeated as long as that."""
    bot.fail("7", FloodWait(500), Unknown("x"))
    await house.say("hello")
    await house.advance(500)
    await house.advance(4)
    assert house.seen() == ["re: hello"]


async def test_what_nobody_will_ever_tell_is_not_tried_again(house: House, bot: Noting) -> None:
    bot.fail("7", Unknown("x", for_good=True))
    await house.say("hello")
    await house.advance(2)
    assert house.seen() == [DOUBT]
    assert len(bot.of("re: hello")) == 1


async def test_what_is_given_up_in_doubt_is_told_as_such(house: House, bot: Noting) -> None:
    bot.fail("7", Unknown("x"), FloodWait(25 * 3600), NotSent("not known whether it was sent before"))
    await house.say("hello")
    await house.advance(2)
    await house.advance(25 * 3600)
    await house.advance(2)
    assert house.seen() == [DOUBT]


async def test_a_page_that_is_read_while_the_chat_moves_is_left_to_the_other(house: House, bot: Noting) -> None:
    bot.fail("7", FloodWait(1000))
    await house.say("hello")
    backlog = Backlog(house.store, BotName("main"), ChatId("7"))
    backlog.look()
    reading = asyncio.create_task(backlog.read())
    await asyncio.sleep(0)
    backlog.empty()
    await reading
    assert not backlog
    backlog.look()
    await backlog.read()
    assert backlog.first is not None
