"""C30: bots that answer each other. By default none is heard; where they are, a breaker ends it."""

from __future__ import annotations

import pytest

from core.desk import breaker
from core.errors import StoreFull
from core.vocabulary import ChatKind, Verdict
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, House, Said
from tests.flow.reloading import Reloaded

HEARD: dict[str, object] = {"bots": {"main": {"allow_bots": True}}}


async def beep(
    house: House, *, user: str = "900", chat: str = GROUP, addressed: bool = True, bot: str = "main"
) -> Said:
    """Another bot says something, and everything that comes of it happens."""
    said = await house.say_in_group("beep", user=user, chat=chat, is_bot=True, addressed=addressed, bot=bot)
    await house.advance(5)
    return said


async def accepted(house: House, times: int, **how: str) -> int:
    said = [await beep(house, **how) for _ in range(times)]  # type: ignore[arg-type]
    return sum(one.receipt.verdict is Verdict.ACCEPTED for one in said)


async def test_c30_by_default_no_bot_is_heard(house: House) -> None:
    assert await accepted(house, 20) == 0
    assert house.bot.calls == []
    assert {row.detail for row in await house.rows()} == {"bot"}


async def test_c30_where_bots_are_heard_the_loop_ends(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **HEARD)
    assert await accepted(house, 20) == breaker.MOST
    assert len(house.seen(GROUP)) == breaker.MOST
    assert {row.detail for row in await house.rows() if row.fate == "ignored"} == {"bot_loop"}


async def test_c30_of_two_bots_in_one_chat_both_count(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **HEARD)
    heard = [(await beep(house, user=f"90{number % 2}")).receipt.verdict for number in range(12)]
    assert heard.count(Verdict.ACCEPTED) == breaker.MOST


async def test_c30_a_human_is_heard_all_the_while_and_can_stop(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **HEARD)
    await accepted(house, breaker.MOST)
    house.stage.on("beep", house.stage.waits())
    assert (await beep(house)).receipt.verdict is Verdict.IGNORED
    stopped = await house.say_in_group("/stop", user="7")
    assert stopped.receipt.verdict is Verdict.ACCEPTED
    assert house.seen(GROUP)[-1] == "Nothing was running."
    running = await beep(house)
    await house.say_in_group("/stop", user="7")
    assert house.seen(GROUP)[-1] == "Stopped."
    assert await house.fate(running) == "answered"


async def test_a_human_between_lets_them_go_on(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **HEARD)
    await accepted(house, breaker.MOST + 3)
    await house.say_in_group("quiet, you two", addressed=False)
    assert await accepted(house, 20) == breaker.MOST


async def test_each_chat_and_each_of_our_bots_counts_for_itself(furnish: Furnish) -> None:
    options: dict[str, object] = {"bots": {"main": {"allow_bots": True}, "other": {"allow_bots": True}}}
    house = await furnish(AdminBot(), AdminBot("other"), **options)
    await accepted(house, 10)
    assert await accepted(house, 10, chat="-200") == breaker.MOST
    assert await accepted(house, 10, bot="other") == breaker.MOST
    await house.say_in_group("hi", chat="-200")
    assert await accepted(house, 1) == 0


async def test_bots_are_heard_in_groups_only_and_where_they_mention_us(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), access={"direct": "open"}, **HEARD)
    direct = await house.say("beep", user="900", is_bot=True)
    command = await house.say_in_group("/reset", user="900", is_bot=True, addressed=False)
    unlisted = await house.say_in_group("beep", user="900", chat="-999", is_bot=True)
    await house.say_in_group("hello", thread="5")
    thread = await house.say_in_group("beep", user="900", thread="5", is_bot=True, addressed=False)
    assert {one.receipt.verdict for one in (direct, command, unlisted, thread)} == {Verdict.IGNORED}


async def test_a_bot_can_be_blocked_like_anybody(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **HEARD)
    await house.verbs.table()["people.block"]({"who": "telegram:900"})
    assert (await beep(house)).receipt.verdict is Verdict.IGNORED


async def test_it_is_switched_on_and_off_while_it_runs(furnish: Furnish) -> None:
    house = await furnish(AdminBot())
    assert await accepted(house, 1) == 0
    reloaded = Reloaded(house)
    await reloaded.to(**HEARD)
    await house.say_in_group("a human", addressed=False)
    assert await accepted(house, 2) == 2
    await reloaded.to(bots={"main": {"allow_bots": False}})
    assert await accepted(house, 2) == 0


async def test_a_new_process_counts_anew_and_the_loop_ends_again(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **HEARD)
    await accepted(house, 10)
    await house.restart()
    assert await accepted(house, 20) == breaker.MOST


async def test_a_human_in_their_direct_chat_does_not_mend_a_group(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **HEARD)
    await accepted(house, breaker.MOST)
    await house.say("hello")
    await house.say("hello", kind=ChatKind.DIRECT, user="1")
    assert await accepted(house, 1) == 0


async def test_what_a_bot_says_to_nobody_does_not_use_up_what_it_may_say_to_us(furnish: Furnish) -> None:
    """A bot that brings the news writes all day in the same channel."""
    house = await furnish(AdminBot(), **HEARD)
    for _ in range(breaker.MOST + 1):
        await beep(house, addressed=False)
    assert (await beep(house)).receipt.verdict is Verdict.ACCEPTED


async def test_what_comes_again_is_counted_once(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **HEARD)
    said = await beep(house)
    for _ in range(breaker.MOST):
        await house.redeliver(said)
    assert (await beep(house)).receipt.verdict is Verdict.ACCEPTED


async def test_what_the_store_refused_is_not_counted(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **HEARD)
    message = house.group_message("beep", user="900", is_bot=True)
    house.store.full = True
    for _ in range(breaker.MOST + 1):
        with pytest.raises(StoreFull):
            await house.receive(message)
    house.store.full = False
    (receipt,) = await house.receive(message)
    await house.idle()
    assert receipt.verdict is Verdict.ACCEPTED


async def test_what_a_bot_sends_at_once_is_counted_one_by_one(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **HEARD)
    receipts = await house.receive(*[house.group_message(f"beep {n}", user="900", is_bot=True) for n in range(20)])
    await house.idle()
    await house.advance(5)
    assert [one.verdict for one in receipts].count(Verdict.ACCEPTED) == breaker.MOST
