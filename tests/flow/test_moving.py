"""C31: a chat gets another id, and its people notice nothing."""

from __future__ import annotations

import asyncio
import itertools
from urllib.parse import quote

import pytest

from core.store import checks, conversations, moves
from core.vocabulary import (
    Address,
    BotName,
    ChatId,
    ChatKind,
    EventId,
    Moved,
    Receipt,
    Verdict,
)
from tests.flow.asking import verb
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, HOUR, House
from tests.flow.pressing_bot import ButtonBot, button_bot, press
from tests.flow.reloading import Reloaded

NEW, NEWER, STRANGE = "-1001", "-1002", "-999"
"""None of them is listed."""


def moved_to(was: str, to: str, *, event: str = "", bot: str = "main") -> Moved:
    address = Address(bot=BotName(bot), chat=ChatId(was))
    return Moved(event=EventId(event or f"{was} to {to}"), address=address, to=ChatId(to))


async def move(house: House, was: str, to: str, *, event: str = "", bot: str = "main") -> Receipt:
    (receipt,) = await house.receive(moved_to(was, to, event=event, bot=bot))
    await house.idle()
    return receipt


async def key(house: House, name: str) -> int | None:
    return await house.store.read(lambda tx: conversations.find(tx, name))


async def test_c31_the_conversation_goes_on_under_the_new_id(house: House) -> None:
    await house.say_in_group("before")
    session = (await house.session(f"main/group/{GROUP}")).id
    receipt = await move(house, GROUP, NEW)
    assert receipt.verdict is Verdict.ACCEPTED
    said = await house.say_in_group("after", chat=NEW)
    assert said.receipt.verdict is Verdict.ACCEPTED
    assert house.seen(NEW) == ["re: after"]
    assert (await house.session(f"main/group/{NEW}")).id == session
    assert house.stage.asked[-1].history[0] == ("user", "before")
    assert await key(house, f"main/group/{GROUP}") is None
    told = await verb(house, "explain", id=str(receipt.row))
    assert "another id" in " ".join(one["sentence"] for one in told["findings"])


async def test_c31_the_place_in_the_list_moves_too_and_stays_over_restarts(house: House) -> None:
    await house.say_in_group("before")
    await move(house, GROUP, NEW)
    await house.restart()
    assert (await house.say_in_group("after", chat=NEW)).receipt.verdict is Verdict.ACCEPTED
    assert (await house.say_in_group("hello", chat=STRANGE)).receipt.verdict is Verdict.IGNORED


async def test_a_group_that_is_not_listed_gains_nothing_by_moving(house: House) -> None:
    await move(house, STRANGE, NEW)
    assert (await house.say_in_group("hello", chat=NEW)).receipt.verdict is Verdict.IGNORED
    await house.say_in_group("hello", chat=STRANGE)
    assert house.stage.asked == []


async def test_nothing_is_allowed_to_another_bot_by_it(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), AdminBot("other"))
    await move(house, GROUP, NEW)
    assert (await house.say_in_group("hello", chat=NEW, bot="other")).receipt.verdict is Verdict.IGNORED


async def test_who_is_taken_off_the_list_is_off_it_under_every_id(house: House) -> None:
    await house.say_in_group("before")
    await move(house, GROUP, NEW)
    await Reloaded(house).to(bots={"main": {"groups": [-200]}})
    assert (await house.say_in_group("after", chat=NEW)).receipt.verdict is Verdict.IGNORED


async def test_the_same_move_told_from_both_sides_and_again_is_one(house: House) -> None:
    await house.say_in_group("before")
    session = (await house.session(f"main/group/{GROUP}")).id
    first = await move(house, GROUP, NEW, event="to")
    await house.say_in_group("after", chat=NEW)
    assert (await move(house, GROUP, NEW, event="from")).verdict is Verdict.ACCEPTED
    again = await move(house, GROUP, NEW, event="to")
    assert (again.verdict, again.row) == (Verdict.DUPLICATE, first.row)
    await house.say_in_group("and on", chat=NEW)
    assert (await house.session(f"main/group/{NEW}")).id == session
    assert len(house.stage.asked[-1].history) == 4


async def test_twice_and_back_in_a_circle(house: House) -> None:
    await house.say_in_group("before")
    session = (await house.session(f"main/group/{GROUP}")).id
    for was, to in ((GROUP, NEW), (NEW, NEWER), (NEWER, GROUP), (GROUP, GROUP)):
        await move(house, was, to)
    for chat in (GROUP, NEW, NEWER):
        said = await house.say_in_group(f"in {chat}", chat=chat)
        assert said.receipt.verdict is Verdict.ACCEPTED
    assert (await house.session(f"main/group/{GROUP}")).id == session
    names = await house.store.read(lambda tx: moves.names_of(tx, BotName("main"), ChatId(NEW)))
    assert names == {GROUP, NEW, NEWER}


async def test_many_moves_are_followed_back_so_far(house: House) -> None:
    chats = [GROUP, *(f"-2{number:03}" for number in range(moves.MOST + 2))]
    for was, to in itertools.pairwise(chats):
        await move(house, was, to)
    assert (await house.say_in_group("x", chat=chats[moves.MOST - 1])).receipt.verdict is Verdict.ACCEPTED
    assert (await house.say_in_group("x", chat=chats[-1])).receipt.verdict is Verdict.IGNORED


async def test_a_conversation_that_began_under_the_new_id_gives_way_to_the_old_one(house: House) -> None:
    await house.say_in_group("before")
    old = (await house.session(f"main/group/{GROUP}")).id
    await house.say_in_group("first words", chat="-200")
    await move(house, GROUP, "-200")
    await house.say_in_group("after", chat="-200")
    assert (await house.session("main/group/-200")).id == old
    assert [text for _, text in house.stage.asked[-1].history] == ["before", "re: before"]
    assert len(await house.sessions()) == 2
    assert await house.store.read(checks.check) == []


async def test_what_runs_under_the_new_id_is_answered_there_all_the_same(house: House) -> None:
    await house.say_in_group("before")
    house.stage.on("slow", house.stage.waits())
    slow = await house.say_in_group("slow", chat="-200")
    waits = await house.say_in_group("waits", chat="-200")
    await move(house, GROUP, "-200")
    house.stage.gate().set()
    await house.idle()
    assert house.seen("-200") == ["done", "re: waits"]
    assert [await house.fate(said) for said in (slow, waits)] == ["answered"] * 2


@pytest.mark.parametrize("scope", ["chat", "user"])
async def test_threads_and_persons_move_with_their_group(furnish: Furnish, scope: str) -> None:
    house = await furnish(AdminBot(), session={"group_scope": scope})
    for user in ("7", "8"):
        for thread in (None, "5", "a/b"):
            await house.say_in_group(f"{user} in {thread}", user=user, thread=thread)
    await move(house, GROUP, NEW)
    for user in ("7", "8"):
        for thread in (None, "5", "a/b"):
            await house.say_in_group("and on", user=user, thread=thread, chat=NEW)
            heard = [text for kind, text in house.stage.asked[-1].history if kind == "user"]
            assert f"{user} in {thread}" in heard
            assert {text.partition(" in ")[2] for text in heard if " in " in text} == {f"{thread}"}
    assert len(await house.sessions()) == (6 if scope == "user" else 3)


async def test_chats_whose_ids_begin_alike_stay(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), bots={"main": {"groups": [-100, -1000, -10012]}})
    for chat in (GROUP, "-1000", "-10012"):
        await house.say_in_group(f"in {chat}", chat=chat)
    await house.say("direct", user="-100")
    await move(house, GROUP, NEW)
    for chat in ("-1000", "-10012"):
        await house.say_in_group("and on", chat=chat)
        assert house.stage.asked[-1].history[0] == ("user", f"in {chat}")
    assert await key(house, "main/dm/-100") is not None


async def test_an_id_with_characters_of_patterns_moves_alone(furnish: Furnish) -> None:
    house = await furnish(AdminBot())
    for chat in ("C*", "CC", "C?", "C[A]"):
        address, kind = Address(bot=BotName("main"), chat=ChatId(chat)), ChatKind.GROUP
        name, now = f"main/group/{quote(chat, safe='')}", house.clock.now()
        await house.store.write(lambda tx: conversations.ensure(tx, name, address, kind, now))  # noqa: B023  # run at once
    await move(house, "C*", "D")
    assert await key(house, "main/group/D") is not None
    assert [await key(house, f"main/group/{name}") is None for name in ("C%2A", "CC", "C%3F", "C%5BA%5D")] == [
        True, False, False, False,
    ]  # fmt: skip


async def test_what_anybody_sends_there_later_goes_to_the_new_id(house: House) -> None:
    await house.say_in_group("before")
    await move(house, GROUP, NEW)
    await verb(house, "send", key=f"main/group/{NEW}", text="from the machine", idempotency_key="k")
    assert house.seen(NEW) == ["from the machine"]


async def test_a_move_survives_a_death_at_any_write(house: House) -> None:
    await house.say_in_group("before")
    house.store.dies_at = house.store.writes + 1
    moving = asyncio.ensure_future(move(house, GROUP, NEW))
    await house.idle_dead()
    moving.cancel()
    await asyncio.gather(moving, return_exceptions=True)
    await house.restart()
    house.store.dies_at = None
    assert (await move(house, GROUP, NEW)).verdict is Verdict.DUPLICATE
    await house.say_in_group("after", chat=NEW)
    assert house.stage.asked[-1].history[0] == ("user", "before")


async def test_the_end_of_a_session_is_met_under_the_new_id(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), session={"reset": {"mode": "idle", "idle_minutes": 60}})
    await house.say_in_group("before")
    await move(house, GROUP, NEW)
    await house.advance(2 * HOUR.total_seconds())
    await house.expire()
    await house.say_in_group("after", chat=NEW)
    assert button_bot(house).labels(NEW) == ["Resume"]
    await press(house, button_bot(house).button("Resume", NEW), chat=NEW)
    assert house.seen(NEW)[-1].startswith("Back in")


async def test_two_chats_that_become_one_are_both_known_by_it(house: House) -> None:
    await move(house, STRANGE, NEW)
    await move(house, GROUP, NEW)
    assert (await house.say_in_group("hello", chat=NEW)).receipt.verdict is Verdict.ACCEPTED
