"""Processes that died: nothing is lost, nothing is done twice, and what can't be known is said once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from core.agents.agent import AgentEvent, TurnContext
from core.errors import StoreError
from core.vocabulary import CallOpened, TextDelta
from tests.fakes.agents import call, says
from tests.flow.bot import Fault, GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import House
from tests.flow.store import corrupting


async def test_a_turn_that_died_is_asked_again_without_a_second_user_entry(house: House) -> None:
    house.stage.on("slow", house.stage.waits(before=["half"]))
    said = await house.say("slow")
    await house.die()
    house.stage.gate().set()
    await house.open()
    await house.idle()
    assert house.stage.texts == ["slow", "slow"]
    assert house.stage.asked[0].turn == house.stage.asked[1].turn
    assert house.stage.asked[1].history == ()
    assert house.seen() == ["halfdone"]
    assert await house.told() == [("user", "slow"), ("assistant", "halfdone")]
    assert await house.fate(said) == "answered"


async def test_read_only_calls_are_made_again_behind_a_rewind_mark(house: House) -> None:
    async def reading(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="looking ")
        await call(turn, "1", "found", read_only=True)
        await house.stage.gate().wait()
        yield TextDelta(text="done")

    house.stage.on("slow", reading)
    await house.say("before")
    await house.say("slow")
    await house.die()
    house.stage.gate().set()
    await house.open()
    await house.idle()
    assert [kind for kind, _ in await house.told()][2:] == [
        "user", "assistant", "tool_call", "tool_result", "rewind", "assistant", "tool_call", "tool_result", "assistant",
    ]  # fmt: skip
    assert house.stage.asked[-1].history == (("user", "before"), ("assistant", "re: before"))
    assert house.seen()[-1] == "looking done"
    await house.say("next")
    assert [kind for kind, _ in house.stage.asked[-1].history].count("tool_call") == 1


async def test_c02_a_call_that_writes_ends_the_turn_with_a_result_and_one_notice(house: House) -> None:
    async def writing(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="doing ")
        await turn.opened([CallOpened(call="1", tool="pay", arguments="{}", read_only=False)])
        await house.stage.gate().wait()

    house.stage.on("slow", writing)
    said = await house.say("slow")
    await house.restart()
    assert house.stage.texts == ["slow"]
    assert house.seen() == ["I was restarted while answering and can't tell what was done already. /retry tries again."]
    assert await house.fate(said) == "answered"
    kinds = await house.told()
    assert [kind for kind, _ in kinds] == ["user", "assistant", "tool_call", "tool_result", "notice"]
    assert kinds[3][1].startswith("Interrupted")
    await house.say("next")
    assert house.stage.asked[-1].history == (
        ("user", "slow"), ("assistant", "doing "), ("tool_call", "pay"), kinds[3],
    )  # fmt: skip
    assert house.seen()[-1] == "re: next"


async def test_the_third_death_is_the_last(house: House) -> None:
    house.stage.on("poison", house.stage.waits())
    said = await house.say("poison")
    behind = await house.say("behind")
    for _ in range(2):
        await house.restart()
    assert house.stage.texts == ["poison"] * 3
    await house.restart()
    assert house.stage.texts == ["poison"] * 3 + ["behind"]
    assert "three times in a row" in house.seen()[0]
    assert [await house.fate(said), await house.fate(behind)] == ["answered", "answered"]
    assert house.seen()[1] == "re: behind"


async def test_a_preview_is_taken_over_by_the_next_attempt(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    house.stage.on("slow", house.stage.waits(before=["half "]))
    await house.say("slow")
    await house.advance(0.5)
    assert house.seen() == ["half"]
    await house.die()
    house.stage.gate().set()
    await house.open()
    await house.advance(3)
    assert house.seen() == ["half done"]


async def test_a_preview_that_had_grown_is_edited_to_the_shorter_answer(furnish: Furnish) -> None:
    """The text that the row was committed with is not what the message says by now."""
    house = await furnish(GrowingBot())

    async def growing(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="half")
        await house.stage.gate("first").wait()
        yield TextDelta(text=" and more")
        await house.stage.gate("never").wait()

    house.stage.on("slow", growing)
    await house.say("slow")
    await house.advance(0.5)
    house.stage.gate("first").set()
    await house.advance(2)
    assert house.seen() == ["half and more"]

    await house.die()
    house.stage.on("slow", says("half"))
    await house.open()
    await house.advance(3)
    assert house.seen() == ["half"]


async def test_a_preview_is_followed_by_the_notice_where_the_turn_is_not_tried_again(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())

    async def writing(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="doing")
        await turn.opened([CallOpened(call="1", tool="pay", arguments="{}", read_only=False)])
        await house.stage.gate().wait()

    house.stage.on("slow", writing)
    await house.say("slow")
    await house.advance(0.5)
    assert house.seen() == ["doing\n\n*using pay …*"]
    await house.restart()
    await house.advance(3)
    assert "I was restarted" in house.seen()[-1]
    assert sum("I was restarted" in text for text in house.seen()) == 1
    assert [state for state, _ in await house.deliveries()] == ["sent"] * len(await house.deliveries())


async def test_a_preview_that_was_being_sent_is_no_unknown_delivery(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    house.stage.on("slow", house.stage.waits(before=["half "]))
    never = Fault(gate=house.stage.gate("never"))
    house.bot.fail("7", never)
    await house.offer(house.message("slow"))
    await house.advance(0.5)
    assert never.reached.is_set()
    await house.die()
    house.stage.gate().set()
    await house.open()
    await house.advance(5)
    assert house.seen() == ["half done"]


async def test_a_part_that_was_being_sent_is_unknown_and_told_once_behind_the_later_parts(house: House) -> None:

    house.stage.on("long", says("\n\n".join(f"{n} " + "x" * 300 for n in range(3))))
    house.bot.fail("7", Fault(gate=house.stage.gate("never")))
    await house.offer(house.message("long"))
    await house.idle()
    await house.restart()
    assert [text[:2] for text in house.seen()] == ["1 ", "2 ", "My"]
    await house.restart()
    await house.restart()
    assert len(house.seen()) == 3
    assert [state for state, _ in await house.deliveries()] == ["unknown", "sent", "sent", "sent"]
    await house.say("/again")
    assert [text[:2] for text in house.seen()[3:]] == ["0 "]
    assert [state for state, _ in await house.deliveries()] == ["failed", "sent", "sent", "sent", "sent"]


async def test_an_edit_that_was_under_way_is_repeated(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    house.stage.on("slow", house.stage.waits(before=["half "]))
    await house.say("slow")
    await house.advance(0.5)
    house.bot.fail("7", Fault(gate=house.stage.gate("never")))
    house.stage.gate().set()
    await house.advance(2)
    await house.restart()
    await house.advance(2)
    assert house.seen() == ["half done"]


@pytest.mark.parametrize("command", ["/stop", "/reset"])
async def test_a_control_command_that_the_process_did_not_get_to_is_carried_out(house: House, command: str) -> None:
    house.stage.on("slow", house.stage.waits(before=["half"]))
    slow = await house.say("slow")
    behind = await house.say("behind")
    await house.store.flushed()
    house.store.dies_at = house.store.writes + 1
    control = house.message(command)
    accepting = house.desk.receive([control])

    task = asyncio.ensure_future(accepting)
    await house.idle_dead()
    task.cancel()
    await house.restart()
    assert house.stage.texts == ["slow"]
    assert [await house.fate(slow), await house.fate(behind)] == ["answered", "closed"]
    assert "1 waiting message was dropped." in house.seen()[-1]
    (receipt,) = await house.receive(control)
    assert receipt.verdict == "duplicate"
    if command == "/reset":
        assert (await house.session()).reset is not None


async def test_a_steer_that_waited_over_a_restart_does_not_break_the_turn(house: House) -> None:
    """The command and the turn's next attempt are of one owner."""

    async def deaf(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await call(turn, "1", "r", read_only=True)
        await house.stage.gate().wait()
        await call(turn, "2", "r", read_only=True)
        yield TextDelta(text="deaf")

    house.stage.on("slow", deaf)
    slow = await house.say("slow")
    steer = await house.say("/steer more")
    await house.die()
    house.stage.gate().set()
    await house.open()
    await house.idle()
    assert house.seen() == ["deaf", "re: more"]
    assert [await house.fate(slow), await house.fate(steer)] == ["answered", "answered"]


async def test_instant_commands_left_behind_are_answered_by_the_next_process(house: House) -> None:
    house.store.dies_at = house.store.writes + 1

    task = asyncio.ensure_future(house.desk.receive([house.message("/version")]))
    await house.idle_dead()
    task.cancel()
    await house.restart()
    assert house.seen() == ["Frontdesk 1.0."]


async def test_a_turn_waits_for_its_stop_also_when_all_slots_are_taken_at_the_start(furnish: Furnish) -> None:
    house = await furnish(desk={"max_turns": 1})
    house.stage.on("slow", house.stage.waits())
    await house.say("slow", user="7")
    await house.die()
    await house.open()
    await house.idle()
    assert len(house.stage.asked) == 2
    await house.say("/stop", user="7")
    assert house.seen("7") == ["Stopped."]
    house.stage.gate().set()
    await house.say("on", user="8")
    assert house.seen("8") == ["re: on"]


async def test_an_agent_that_cannot_be_recalled_does_not_strand_its_turn(house: House) -> None:
    """The turn is open in the store, and reading its history fails once."""
    await house.say("one")
    house.core.cache.evict((await house.conversation()).id)

    read, failures = house.store.read, [1]

    async def failing(unit):  # type: ignore[no-untyped-def]
        if failures and "_past" in getattr(unit, "__qualname__", ""):
            failures.pop()
            raise StoreError("a read failed")
        return await read(unit)

    house.store.read = failing  # type: ignore[method-assign]
    said = await house.say("two")
    assert failures == []
    await house.advance(3)
    assert await house.fate(said) == "answered"
    assert house.seen() == ["re: one", "re: two"]
    assert house.stage.asked[-1].history == (("user", "one"), ("assistant", "re: one"))


SCENE = ("one", "tool", "/title T", "long", "/undo", "/reset", "fresh", "/retry", "/resume", "end")


@pytest.mark.parametrize("before", [True, False])
async def test_death_at_every_single_commit_loses_and_doubles_nothing(furnish: Furnish, before: bool) -> None:
    """The scene is played with the process dying at its first write, at its second, and so on to its last."""
    house = await furnish(GrowingBot())

    async def reading(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="look ")
        await call(turn, turn.id, "found", read_only=True)
        yield TextDelta(text="done")

    house.stage.on("tool", reading)
    house.stage.on("long", says("\n\n".join(f"{n} " + "x" * 300 for n in range(3))))
    death = 0
    while True:
        death += 1
        user = f"{1000 + death}"
        house.store.dies_at = house.store.writes + death
        house.store.dies_before = before
        died = await _play(house, user)
        if not died:
            house.store.dies_at = None
        await _judge(house, user, death)
        if not died:
            break
    assert death > 25


async def _play(house: House, user: str) -> bool:
    """Everything is offered until it is accepted, as a platform does. True if the process died."""

    died = False
    for text in SCENE:
        message = house.message(text, user=user)
        offering = asyncio.ensure_future(house.desk.receive([message]))
        await house.idle_dead()
        if house.store.dead:
            died = True
            offering.cancel()
            await house.restart()
            await house.receive(message)
        await house.advance(3)
        if house.store.dead:
            died = True
            await house.restart()
            await house.advance(3)
    return died


async def _judge(house: House, user: str, death: int) -> None:
    await house.sound()
    rows = [row for row in await house.rows() if row.state != "done"]
    assert rows == [], death
    seen = house.seen(user)
    for answer in ("re: one", "look done", "re: end"):
        told_unknown = any("may not have arrived" in text for text in seen)
        assert seen.count(answer) + told_unknown >= 1, (death, answer, seen)
        assert seen.count(answer) <= 1, (death, answer, seen)
    assert sum("may not have arrived" in text for text in seen) <= 1, (death, seen)


async def test_an_owner_that_was_shut_out_writes_nothing_more_and_nothing_is_lost(house: House) -> None:
    """Another node took the conversation over."""
    house.stage.on("slow", house.stage.waits(before=["half"]))
    slow = await house.say("slow")
    behind = await house.say("behind")
    corrupting(house.state, "UPDATE conversations SET fence = fence + 1")
    house.stage.gate().set()
    await house.idle()
    assert house.seen() == []
    assert await house.told() == [("user", "slow")]
    await house.restart()
    assert house.seen() == ["halfdone", "re: behind"]
    assert [await house.fate(slow), await house.fate(behind)] == ["answered", "answered"]
    assert house.core.slots.taken == 0


async def test_a_new_message_after_the_conversation_was_lost_is_owned_anew(house: House) -> None:
    await house.say("one")
    corrupting(house.state, "UPDATE conversations SET fence = fence + 1")
    await house.say("two")
    assert house.seen() == ["re: one", "re: two"]


async def test_a_steered_turn_that_died_is_asked_again_with_all_that_was_said(furnish: Furnish) -> None:
    house = await furnish(mailbox={"busy": "steer"})

    async def steered(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="first ")
        await house.stage.gate("steer").wait()
        for entry in await turn.steering():
            yield TextDelta(text=f"[{entry.text}] ")
        await house.stage.gate("end").wait()
        yield TextDelta(text="end")

    house.stage.on("slow", steered)
    slow = await house.say("slow")
    more = await house.say("more")
    house.stage.gate("steer").set()
    await house.idle()
    await house.restart()
    house.stage.gate("end").set()
    await house.idle()
    assert [await house.fate(slow), await house.fate(more)] == ["answered", "merged"]
    users = [text for kind, text in await house.told() if kind == "user"]
    assert users == ["slow", "more"]
    assert len(house.seen()) == 1
