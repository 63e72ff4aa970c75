"""What is said together is one message; what is said meanwhile follows `busy`; what still waits may be edited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from core.agents.agent import AgentEvent, TurnContext
from core.store.inbox import Fate
from core.vocabulary import CallOpened, Outcome, TextDelta, TurnEvent
from tests.fakes.agents import call
from tests.flow.bot import GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import House

S = timedelta(seconds=1)


async def test_c13_a_paste_that_the_client_split_is_one_turn(house: House) -> None:
    now = house.clock.now()
    first = await house.say("x" * 4096, more_likely=True, sent_at=now)
    assert house.stage.texts == []
    await house.advance(1.2)
    second = await house.say("y" * 500, sent_at=now + 1 * S)
    assert house.stage.texts == ["x" * 4096 + "y" * 500]
    assert [await house.fate(first), await house.fate(second)] == ["merged", "answered"]
    assert (await house.row(first)).turn == (await house.row(second)).turn


async def test_a_long_message_that_nothing_follows_waits_three_seconds(house: House) -> None:
    await house.say("x" * 4096, more_likely=True)
    await house.advance(2.9)
    assert house.stage.texts == []
    await house.advance(0.2)
    assert house.stage.texts == ["x" * 4096]


async def test_the_wait_for_more_has_a_cap(house: House) -> None:
    start = house.clock.now()
    for number in range(4):
        await house.say(f"{number}", more_likely=True, sent_at=start + number * 2 * S)
        await house.advance(1.9)
    assert house.stage.texts == ["0123"]


@pytest.mark.parametrize("days", [-3, 3])
async def test_a_clock_that_jumps_does_not_prolong_the_wait(house: House, days: int) -> None:
    await house.say("x" * 4096, more_likely=True)
    house.clock.jump(timedelta(hours=days))
    await house.advance(3.1)
    assert house.stage.texts == ["x" * 4096]


async def test_lines_in_quick_succession_that_wait_are_one_message(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    now = house.clock.now()
    rows = [await house.say(text, sent_at=now + i * S) for i, text in enumerate(("a", "b", "c"))]
    await house.say("d", sent_at=now + 10 * S)
    house.stage.gate().set()
    await house.idle()
    assert house.stage.texts == ["slow", "a\nb\nc", "d"]
    assert [await house.fate(row) for row in rows] == ["merged", "merged", "answered"]
    assert await house.told() == [
        ("user", "slow"), ("assistant", "done"), ("user", "a\nb\nc"), ("assistant", "re: a\nb\nc"), ("user", "d"),
        ("assistant", "re: d"),
    ]  # fmt: skip


async def test_only_one_senders_messages_to_one_place_are_joined(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say_in_group("slow")
    for user, text in (("7", "a"), ("8", "b"), ("7", "c")):
        await house.say_in_group(text, user=user)
    house.stage.gate().set()
    await house.idle()
    assert house.stage.texts == ["slow", "a", "b", "c"]


async def test_a_command_between_them_keeps_messages_apart(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    for text in ("a", "/title x", "b"):
        await house.say(text)
    house.stage.gate().set()
    await house.idle()
    assert house.stage.texts == ["slow", "a", "b"]


async def test_a_command_ends_the_wait_for_more(house: House) -> None:
    await house.say("x" * 4096, more_likely=True)
    await house.say("/title x")
    assert house.stage.texts == ["x" * 4096]


async def test_with_a_debounce_lines_are_awaited(furnish: Furnish) -> None:
    house = await furnish(mailbox={"debounce_ms": 1500})
    await house.say("a")
    await house.advance(1)
    await house.say("b")
    await house.advance(1.4)
    assert house.stage.texts == []
    await house.advance(0.2)
    assert house.stage.texts == ["a\nb"]


async def test_a_stop_during_the_wait_for_more_closes_the_piece(house: House) -> None:
    piece = await house.say("x" * 4096, more_likely=True)
    await house.say("/stop")
    await house.advance(10)
    assert house.stage.texts == []
    assert await house.fate(piece) == "closed"


async def test_a_paste_that_a_restart_cut_is_joined_by_the_next_process(house: House) -> None:
    now = house.clock.now()
    await house.say("x" * 4096, more_likely=True)
    await house.restart()
    await house.say("y", sent_at=now + 1 * S)
    await house.advance(5)
    assert house.stage.texts == ["x" * 4096 + "y"]


async def test_busy_queue_waits(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    await house.say("next")
    assert house.stage.texts == ["slow"]
    house.stage.gate().set()
    await house.idle()
    assert house.seen() == ["done", "re: next"]


async def test_busy_steer_gives_messages_to_the_running_turn(furnish: Furnish) -> None:
    house = await furnish(mailbox={"busy": "steer"})
    house.stage.on("slow", house.stage.waits())
    slow = await house.say("slow")
    steered = await house.say("and this")
    house.stage.gate().set()
    await house.idle()
    assert house.seen() == ["[and this]done"]
    assert (await house.row(steered)).fate == "merged"
    assert (await house.row(steered)).detail == (await house.row(slow)).turn
    assert [text for kind, text in await house.told() if kind == "user"] == ["slow", "and this"]


async def test_busy_steer_that_is_not_taken_is_the_next_turn(furnish: Furnish) -> None:
    house = await furnish(mailbox={"busy": "steer"})

    async def deaf(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await house.stage.gate().wait()
        yield TextDelta(text="deaf")

    house.stage.on("slow", deaf)
    await house.say("slow")
    await house.say("next")
    house.stage.gate().set()
    await house.idle()
    assert house.seen() == ["deaf", "re: next"]


async def test_an_edit_of_a_steering_message_wins_whole(furnish: Furnish) -> None:
    house = await furnish(mailbox={"busy": "steer"})
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    said = await house.say("old")
    await house.edit(said, "new")
    house.stage.gate().set()
    await house.idle()
    assert house.stage.steered == ["new"]


async def test_busy_interrupt_joins_the_rows_and_keeps_the_entries(furnish: Furnish) -> None:
    house = await furnish(mailbox={"busy": "interrupt"})
    house.stage.on("slow", house.stage.waits(before=["half"]))
    slow = await house.say("slow")
    events: list[TurnEvent] = []

    async def follow() -> None:
        events.extend([event async for event in house.desk.follow(slow.row)])

    following = asyncio.ensure_future(follow())
    await house.idle()
    more = await house.say("no, this")
    assert house.seen() == ["re: no, this"]
    assert await house.told() == [
        ("user", "slow"), ("assistant", "half"), ("user", "no, this"), ("assistant", "re: no, this"),
    ]  # fmt: skip
    assert house.stage.asked[-1].history == (("user", "slow"), ("assistant", "half"))
    assert [await house.fate(slow), await house.fate(more)] == [Fate.MERGED, Fate.ANSWERED]
    assert (await house.row(slow)).turn == (await house.row(more)).turn
    async with asyncio.timeout(5):
        await following
    assert events[-1].outcome is Outcome.DONE  # type: ignore[union-attr]


async def test_interrupting_again_and_again_keeps_every_row_and_entry_once(furnish: Furnish) -> None:
    house = await furnish(mailbox={"busy": "interrupt"})
    house.stage.on("slow", house.stage.waits())
    rows = [await house.say(f"slow {n}", sent_at=house.clock.now() + n * 10 * S) for n in range(4)]
    house.stage.gate().set()
    await house.idle()
    assert [text for kind, text in await house.told() if kind == "user"] == [f"slow {n}" for n in range(4)]
    assert house.seen() == ["done"]
    assert [await house.fate(row) for row in rows] == ["merged"] * 3 + ["answered"]


async def test_an_interrupted_turn_with_an_open_call_gives_it_a_result(furnish: Furnish) -> None:
    house = await furnish(mailbox={"busy": "interrupt"})

    async def calling(turn: TurnContext) -> AsyncIterator[AgentEvent]:

        yield TextDelta(text="look ")
        await turn.opened([CallOpened(call="1", tool="t", arguments="{}", read_only=False)])
        await house.stage.gate().wait()

    house.stage.on("slow", calling)
    await house.say("slow")
    await house.say("no")
    kinds = [kind for kind, _ in await house.told()]
    assert kinds == ["user", "assistant", "tool_call", "tool_result", "user", "assistant"]


async def test_an_interrupted_turn_that_was_stopped_is_stopped(furnish: Furnish) -> None:
    house = await furnish(mailbox={"busy": "interrupt"})
    house.stage.on("slow", house.stage.clings())
    await house.say("slow")
    await house.say("no")
    await house.say("/stop")
    await house.advance(2)
    assert house.seen()[-1].startswith("Stopped.")
    await house.say("go on")
    assert house.seen()[-1] == "re: go on"
    house.stage.gate().set()
    await house.idle()
    assert "tool_call" not in [kind for kind, _ in await house.told()]


async def test_a_preview_of_an_interrupted_turn_keeps_what_it_said(furnish: Furnish) -> None:
    house = await furnish(GrowingBot(), mailbox={"busy": "interrupt"})
    house.stage.on("slow", house.stage.waits(before=["half"]))
    await house.say("slow")
    await house.advance(0.5)
    assert house.seen() == ["half"]
    await house.say("no")
    await house.advance(2)
    assert house.seen() == ["half", "re: no"]


async def test_an_edit_of_a_waiting_message_replaces_it(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    said = await house.say("old")
    await house.edit(said, "new")
    house.stage.gate().set()
    await house.idle()
    assert house.stage.texts == ["slow", "new"]


async def test_an_edit_after_admission_changes_nothing(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    said = await house.say("slow")
    await house.edit(said, "changed")
    house.stage.gate().set()
    await house.idle()
    assert house.stage.texts == ["slow"]
    assert ("user", "slow") in await house.told()


async def test_nobody_edits_what_another_said_nor_a_command(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say_in_group("slow")
    said = await house.say_in_group("mine", user="7")
    await house.edit(said, "yours", user="8")
    queued = await house.say_in_group("/queue a", user="7")
    await house.edit(queued, "/queue b")
    house.stage.gate().set()
    await house.idle()
    assert house.stage.texts == ["slow", "mine", "a"]


async def test_an_edit_survives_a_restart(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    said = await house.say("old")
    await house.edit(said, "new")
    await house.die()
    house.stage.gate().set()
    await house.open()
    await house.idle()
    assert house.stage.texts == ["slow", "slow", "new"]


async def test_words_said_during_a_write_are_not_stored_twice(house: House) -> None:
    """Stopped at the very moment in which a call is committed."""

    async def holding(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="before")
        house.store.hears = asyncio.Event()
        await call(turn, "1", "r", read_only=True)

    house.stage.on("slow", holding)
    await house.say("slow")
    house.core.store.hears, held = None, house.store.hears  # type: ignore[attr-defined]
    await house.say("/stop")
    assert held is not None
    held.set()
    await house.idle()
    assert [text for kind, text in await house.told() if kind == "assistant"] == ["before"]


async def test_who_follows_an_interrupted_message_hears_its_end_also_where_a_command_closes_it(
    furnish: Furnish,
) -> None:
    house = await furnish(mailbox={"busy": "interrupt"})
    house.stage.on("slow", house.stage.clings())
    slow = await house.say("slow")
    following = asyncio.ensure_future(house.desk.settled(slow.row))
    await house.say("/title first")
    await house.say("and then")
    await house.advance(3)
    assert house.seen()[-1] == "re: and then"
    assert await house.fate(slow) in ("answered", "merged")
    async with asyncio.timeout(5):
        await following
    house.stage.gate().set()
    await house.idle()


@pytest.mark.parametrize("busy", ["steer", "interrupt"])
async def test_what_comes_while_a_turn_opens_finds_it_running(furnish: Furnish, busy: str) -> None:
    """The commit that opens the turn is under way; the person does not know."""
    house = await furnish(mailbox={"busy": busy})
    house.stage.on("slow", house.stage.waits())
    slow = await house.offer(house.message("slow"))
    held = house.store.hears = asyncio.Event()
    await house.store.flushed()
    await asyncio.sleep(0)
    house.store.hears = None
    await house.offer(house.message("more", sent_at=house.clock.now() + 20 * S))
    held.set()
    await house.idle()
    house.stage.gate().set()
    await house.idle()
    assert house.stage.steered == (["more"] if busy == "steer" else [])
    assert await house.fate(slow) == ("answered" if busy == "steer" else "merged")
