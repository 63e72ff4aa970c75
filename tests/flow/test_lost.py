"""An answer that did not arrive: its people are told once, when they are heard of again, and get it by /again."""

from __future__ import annotations

import pytest

from core.errors import ChatDead, NotSent, Rejected, SendError, Unknown
from tests.fakes.agents import raises, says
from tests.flow.asking import verb
from tests.flow.bot import GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, House

LOST = "An answer of mine did not reach you: /again sends it."
MAYBE = "My last answer may not have arrived: /again sends it once more."
LONG = "\n\n".join(f"{n} " + "x" * 300 for n in range(3))


async def test_after_a_dead_chat_the_next_message_is_met_with_a_word_about_the_answer_and_again_sends_it(
    house: House,
) -> None:
    house.bot.fail("7", ChatDead("blocked"))
    await house.say("hello")
    await house.restart()
    await house.say("back")
    assert house.seen() == [LOST, "re: back"]
    await house.say("/again")
    assert house.seen()[2:] == ["re: hello"]
    await house.say("/again")
    await house.say("and now")
    assert house.seen()[3:] == ["re: back", "re: and now"]


async def test_all_that_waited_for_a_dead_chat_is_told_of_once_and_sent_in_order(house: House) -> None:
    house.stage.on("long", says(LONG))
    house.bot.fail("7", NotSent("x"), ChatDead("blocked"))
    await house.say("long")
    await house.say("hello")
    await house.advance(10)
    assert house.seen() == []
    await house.say("back")
    await house.say("/again")
    assert [text[:3] for text in house.seen()] == ["An ", "re:", "0 x", "1 x", "2 x", "re:"]


async def test_who_asks_again_first_is_not_told_any_more(house: House) -> None:
    house.bot.fail("7", ChatDead("blocked"))
    await house.say("hello")
    await house.say("/again")
    await house.say("back")
    assert house.seen() == ["re: hello", "re: back"]


@pytest.mark.parametrize("text", ["/reset", "/resume"])
async def test_it_is_told_beside_what_else_there_is_to_tell_and_no_reset_hides_it(house: House, text: str) -> None:
    await house.say("before")
    await house.say("/reset")
    house.bot.fail("7", ChatDead("blocked"))
    await house.say("hello")
    await verb(house, "sessions.end", key="main/dm/7")
    await house.say(text)
    await house.say("back")
    assert house.seen()[-2:] == [LOST, "re: back"]
    house.bot.fail("7", ChatDead("blocked"))
    await house.say("once more")
    await verb(house, "sessions.end", key="main/dm/7")
    await house.say("again back")
    assert len(house.seen()) == 7
    assert LOST in house.seen()[-2]


async def test_notices_that_a_dead_chat_did_not_take_are_not_told_of(house: House) -> None:
    house.stage.on("q", raises(ValueError("x")))
    house.bot.fail("7", ChatDead("blocked"))
    await house.say("q")
    await house.say("back")
    assert house.seen() == ["re: back"]


@pytest.mark.parametrize("why", [Rejected("too odd"), NotSent("no route")])
async def test_an_answer_that_is_refused_or_given_up_is_told_of_too(house: House, why: SendError) -> None:
    house.bot.fail("7", *[why] * (1 if isinstance(why, Rejected) else 3000))
    await house.say("hello")
    for _ in range(30 if isinstance(why, NotSent) else 0):
        await house.clock.leap(3600)
        await house.clock.leap(120)
    house.bot.faults.clear()
    await house.say("back")
    assert LOST in house.seen()
    await house.say("/again")
    assert house.seen()[-1] == "re: hello"


async def test_so_is_that_one_may_not_have_arrived_where_even_the_word_about_it_did_not(house: House) -> None:
    house.bot.fail("7", Unknown("x"), ChatDead("blocked"))
    await house.say("hello")
    await house.advance(3)
    assert house.seen() == []
    await house.say("back")
    assert house.seen() == [MAYBE, "re: back"]
    await house.say("/again")
    await house.say("and now")
    assert house.seen()[2:] == ["re: hello", "re: and now"]


async def test_in_a_group_each_thread_hears_of_its_own_answer(house: House) -> None:
    house.bot.fail(GROUP, ChatDead("kicked"))
    await house.say_in_group("first", thread="1")
    await house.say_in_group("other", thread="2")
    assert house.seen(GROUP) == ["re: other"]
    await house.say_in_group("next", thread="2")
    assert house.seen(GROUP) == ["re: other", "re: next"]
    await house.say_in_group("back", thread="1")
    assert house.seen(GROUP)[2:] == [LOST, "re: back"]


async def test_an_answer_that_had_begun_to_grow_there_is_sent_whole(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    house.stage.on("slow", house.stage.waits(before=["half "]))
    await house.say("slow")
    await house.advance(2)
    house.bot.fail("7", ChatDead("blocked"), ChatDead("blocked"))
    house.stage.gate().set()
    await house.idle()
    await house.say("back")
    await house.say("/again")
    assert house.seen()[1:] == [LOST, "re: back", "half done"]
