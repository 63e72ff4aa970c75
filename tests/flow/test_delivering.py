"""The way out: every part of every reply gets there once, in order, or somebody is told."""

from __future__ import annotations

import asyncio
import gc
from datetime import timedelta

import pytest
from msgspec.structs import replace

from core.delivery.backlog import PAGE
from core.errors import ChatDead, FloodWait, NotSent, Rejected, SendError, Unknown, Unreachable
from core.vocabulary import Address, ChatId, ChatKind, EventId, Moved
from tests.fakes.agents import raises, says
from tests.flow.bot import CAPABILITIES, AdminBot, Fault, GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import DAY, GROUP, House

LONG = "\n\n".join(f"{n} " + "x" * 300 for n in range(3))


async def test_a_long_answer_goes_out_in_order(house: House) -> None:
    house.stage.on("long", says(LONG))
    await house.say("long")
    assert [text[0] for text in house.seen()] == ["0", "1", "2"]


async def test_among_others_only_the_first_part_replies_and_each_says_what_it_answers(house: House) -> None:
    house.stage.on("long", says(LONG))
    said = await house.say_in_group("long")
    shown = house.bot.chats[ChatId(GROUP)]
    assert [one.reply_to for one in shown] == [said.message.message, None, None]
    assert [one.answers for one in shown] == [said.message.message] * 3


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


async def test_a_flood_wait_of_the_account_keeps_every_chat_back(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), GrowingBot("other"))
    house.bot.fail("7", FloodWait(100, account=True))
    for user in ("7", "8", "9"):
        await house.say("hello", user=user)
    await house.say("hello", user="8", bot="other")
    await house.advance(99)
    assert [house.seen(user) for user in ("7", "8", "9")] == [[], [], []]
    assert house.seen("8", bot="other") == ["re: hello"]
    assert len(house.bot.calls) == 1
    await house.advance(2)
    assert [house.seen(user) for user in ("7", "8", "9")] == [["re: hello"]] * 3


async def test_a_preview_s_flood_wait_of_the_account_does_so_too(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    house.stage.on("slow", house.stage.waits(before=["half "]))
    house.bot.fail("7", FloodWait(100, account=True))
    await house.say("slow")
    await house.advance(1)
    await house.say("hello", user="8")
    await house.advance(98)
    assert house.seen("8") == []
    await house.advance(2)
    assert house.seen("8") == ["re: hello"]


async def test_more_than_is_read_at_once_goes_out_in_order_with_what_comes_meanwhile(house: House) -> None:
    house.bot.fail("7", Unreachable("nobody"))
    await house.receive(*[house.message("/version") for _ in range(PAGE + 50)])
    await house.idle()
    gate = asyncio.Event()
    house.bot.fail("7", Fault(gate=gate), Unknown("x"))
    await house.restart()
    await house.say("the last")
    gate.set()
    await house.advance(3)
    assert house.seen()[:-1] == ["Frontdesk 1.0."] * (PAGE + 49) + ["re: the last"]
    assert "may not have arrived" in house.seen()[-1]
    assert [state for state, _ in await house.deliveries()].count("sent") == PAGE + 51


@pytest.mark.parametrize("hours", [-48, 48])
async def test_a_clock_that_jumps_does_not_change_a_flood_wait(house: House, hours: int) -> None:

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
    assert house.seen()[1:] == ["re: back"]


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
    assert house.seen() == (["re: hello"] if applied else [])
    await house.advance(2)
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
    await house.advance(3)
    assert house.seen() == []
    assert await house.deliveries() == [("unknown", "reply"), ("unknown", "unknown_notice")]
    await house.restart()
    assert [role for _, role in await house.deliveries()] == ["reply", "unknown_notice"]


async def test_what_waits_for_its_time_when_its_chat_moves_is_sent_there_alone(house: House) -> None:
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    house.bot.fail(GROUP, FloodWait(100))
    await house.say_in_group("hello")
    here = Address(bot=house.bot.name, chat=ChatId(GROUP))
    await house.receive(Moved(event=EventId("moved"), address=here, to=ChatId("-300")))
    await house.advance(110)
    assert (house.seen(GROUP), house.seen("-300")) == ([], ["re: hello"])
    assert len(house.bot.calls) == 2
    gc.collect()
    assert faults == []


async def test_later_parts_come_before_the_unknown_notice(house: House) -> None:
    house.stage.on("long", says(LONG))
    house.bot.fail("7", Unknown("x"), Unknown("x"))
    await house.say("long")
    await house.advance(2)
    assert [text[:2] for text in house.seen()] == ["2 ", "My"]
    await house.say("/again")
    assert [text[:2] for text in house.seen()[2:]] == ["0 ", "1 "]


async def test_a_fault_in_a_bot_is_an_unknown_delivery_and_stops_nothing(house: House) -> None:
    house.bot.fail("7", Fault(error=ZeroDivisionError("bug")))  # type: ignore[arg-type]
    await house.say("hello")
    await house.advance(2)
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


async def test_each_thread_is_told_of_its_own_unknown_answer_and_gets_only_that_again(house: House) -> None:
    gate = asyncio.Event()
    house.bot.fail(GROUP, Fault(gate=gate, error=Unknown("x")), Unknown("x"))
    await house.offer(house.group_message("first", thread="1"))
    await house.offer(house.group_message("second", thread="2"))
    await house.idle()
    gate.set()
    await house.idle()
    await house.advance(2)
    await house.advance(2)
    told = [one.thread for one in house.bot.chats[ChatId(GROUP)]]
    assert told == ["1", "2"]
    await house.say_in_group("/again", thread="2")
    assert house.seen(GROUP)[2:] == ["re: second"]
    await house.say_in_group("/again", thread="1")
    assert house.seen(GROUP)[3:] == ["re: first"]


async def test_a_wait_that_is_over_is_not_waited_again_when_the_clock_is_set_back(house: House) -> None:
    house.bot.fail("7", NotSent("x"))
    await house.say("hello")
    house.clock.jump(-3 * DAY)
    house.store.full = True
    await house.advance(1.2)
    house.store.full = False
    await house.advance(5)
    assert house.seen() == ["re: hello"]


@pytest.mark.parametrize("fault", [Rejected("no"), NotSent("no")])
async def test_a_preview_that_failed_on_a_full_disk_leaves_nothing_behind(furnish: Furnish, fault: SendError) -> None:
    house = await furnish(GrowingBot())
    gate = asyncio.Event()
    house.stage.on("slow", house.stage.waits(before=["half "]))
    first = Fault(gate=gate, error=fault)
    house.bot.fail("7", first)
    await house.offer(house.message("slow"))
    await house.advance(0.5)
    assert first.reached.is_set()
    house.store.full = True
    gate.set()
    await house.advance(1)
    house.store.full = False
    house.stage.gate().set()
    await house.advance(10)
    assert house.seen() == ["half done"]
    assert await house.deliveries() == [("sent", "reply")]
