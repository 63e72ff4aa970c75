"""A question that nobody waits for any more says what became of it and has no buttons, however it came to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from core.errors import FloodWait, NotSent, Rejected, SendError, Unreachable
from core.service.notices import ENGLISH
from tests.flow.bot import Fault
from tests.flow.conftest import Furnish
from tests.flow.house import House
from tests.flow.pressing_bot import ButtonBot, button_bot, press
from tests.flow.test_consent import Paying, ask, waiting

BOTH = ["Allow", "Don't allow"]
HOW = ENGLISH["consent_how"].format(minutes=15)
ALLOWED, DENIED = ENGLISH["consent_was_approved"], ENGLISH["consent_was_denied"]

End = Callable[[House], Awaitable[object]]


async def asked(furnish: Furnish, *calls: str) -> House:
    house = await furnish(ButtonBot())
    await ask(house, Paying(*calls))
    assert button_bot(house).labels() == BOTH * len(calls)
    return house


async def look(house: House) -> None:
    """The chore comes, and all that it sets in motion rests."""
    await house.chores.consents()
    await house.idle()


def of(house: House, *verbs: str) -> list[str]:
    return [verb for verb, *_ in house.bot.calls if verb in verbs]


@pytest.mark.parametrize(("text", "said"), [("/approve all", ALLOWED), ("/deny all", DENIED)])
async def test_a_word_that_is_typed_for_all_at_a_time_settles_all(furnish: Furnish, text: str, said: str) -> None:
    house = await asked(furnish, "a", "b")
    before = house.seen()
    await house.say(text)
    assert button_bot(house).labels() == []
    assert house.seen()[: len(before)] == [*before[:-2], *(one.replace(HOW, said) for one in before[-2:])]


async def test_a_word_for_one_of_several_leaves_the_others_theirs(furnish: Furnish) -> None:
    house = await asked(furnish, "a", "b")
    (first, _) = await waiting(house)
    await house.say(f"/approve {first.id}")
    assert button_bot(house).labels() == BOTH
    assert [one.id for one in await waiting(house)] != [first.id]
    await press(house, button_bot(house).button("Don't allow"))
    assert [said for one in house.seen() for said in (ALLOWED, DENIED) if said in one] == [ALLOWED, DENIED]


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (lambda house: house.advance(timedelta(minutes=16).total_seconds()), "expired"),
        (lambda house: house.say("something else"), "closed"),
        (lambda house: house.say("/stop"), "closed"),
        (lambda house: house.say("/reset"), "closed"),
    ],
)
async def test_so_does_every_other_end_within_moments(furnish: Furnish, end: End, state: str) -> None:
    house = await asked(furnish, "a")
    await end(house)
    await look(house)
    await house.chores.tidy()
    await house.idle()
    assert button_bot(house).labels() == []
    assert [HOW in one for one in house.seen()].count(True) == 0
    assert [ENGLISH[f"consent_was_{state}"] in one for one in house.seen()].count(True) == 1
    edits = len(of(house, "edit"))
    await look(house)
    assert len(of(house, "edit")) == edits


async def test_so_does_an_end_of_which_the_process_died(furnish: Furnish) -> None:
    house = await asked(furnish, "a")
    house.bot.fail("7", *[NotSent("x")] * 4)
    await house.say("something else")
    await house.restart()
    await house.advance(60)
    await look(house)
    assert button_bot(house).labels() == []


@pytest.mark.parametrize("why", [NotSent("x"), FloodWait(5), Unreachable("x")])
async def test_what_the_platform_does_not_take_just_now_is_tried_again(furnish: Furnish, why: SendError) -> None:
    house = await asked(furnish, "a")
    await house.say("something else")
    house.bot.fail("7", why)
    await look(house)
    assert button_bot(house).labels() == BOTH
    await house.advance(6)
    await look(house)
    assert button_bot(house).labels() == []


async def test_rounds_that_meet_change_each_message_once(furnish: Furnish) -> None:
    """Every word that is given begins one, and the platform may be slow."""
    house = await asked(furnish, "a", "b")
    gate = asyncio.Event()
    slow = Fault(gate=gate)
    house.bot.fail("7", slow)
    saying = asyncio.create_task(house.say("/deny all"))
    await slow.reached.wait()
    for _ in range(3):
        await house.chores.consents()
    gate.set()
    await saying
    await house.idle()
    assert of(house, "edit") == ["edit", "edit"]
    assert button_bot(house).labels() == []


async def test_a_question_that_is_gone_is_not_asked_again(furnish: Furnish) -> None:
    house = await asked(furnish, "a")
    await house.say("something else")
    seen = house.seen()
    house.bot.fail("7", Rejected("message to edit not found"))
    for _ in range(2):
        await look(house)
    assert house.seen() == seen
    assert of(house, "edit") == ["edit"]
