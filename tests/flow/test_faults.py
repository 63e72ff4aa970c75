"""One failing part stays one: full disks, agents that misbehave, rows that break whoever touches them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from core.agents.agent import AgentEvent, Suspend, TurnContext, Used
from core.errors import AgentError, StoreError
from core.vocabulary import CallClosed, CallOpened, TextDelta
from tests.fakes.agents import Script, call, raises, says
from tests.flow.bot import Fault, GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import House
from tests.flow.store import corrupting

WRONG = "Something went wrong while answering."


async def test_c57_a_full_disk_is_told_once_and_passes_without_a_restart(house: House) -> None:
    await house.say("before")
    house.store.full = True
    for text in ("lost", "lost too"):
        with pytest.raises(StoreError):
            await house.offer(house.message(text))
    await house.advance(5)
    assert house.seen()[1:] == [house.core.notices.say("disk_full")]
    house.store.full = False
    await house.say("after")
    assert house.seen()[2:] == ["re: after"]
    house.store.full = True
    with pytest.raises(StoreError):
        await house.offer(house.message("lost again"))
    assert house.seen()[-1] == house.core.notices.say("disk_full")
    house.store.full = False


async def test_c57_a_disk_that_fills_during_a_turn_loses_nothing(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    slow, behind = await house.say("slow"), await house.say("behind")
    house.store.full = True
    house.stage.gate().set()
    for _ in range(5):
        await house.advance(6)
    assert len(house.seen()) == 1
    assert "the disk is full" in house.seen()[0]
    house.store.full = False
    await house.advance(5)
    assert house.seen()[1:] == ["done", "re: behind"]
    assert [await house.fate(slow), await house.fate(behind)] == ["answered", "answered"]


async def test_c57_a_send_whose_mark_can_not_be_stored_is_not_repeated(house: House) -> None:

    fault = Fault(gate=asyncio.Event())
    house.bot.fail("7", fault)
    await house.offer(house.message("hello"))
    await house.idle()
    house.store.full = True
    assert fault.gate is not None
    fault.gate.set()
    await house.advance(20)
    house.store.full = False
    await house.advance(5)
    assert house.seen() == ["re: hello"]
    assert await house.deliveries() == [("sent", "reply")]


async def test_a_stranger_is_not_told_that_the_disk_is_full(furnish: Furnish) -> None:
    house = await furnish(access={"direct": "pairing"})
    house.store.full = True
    for message in (house.message("hi", user="99"), house.message("hi", user="98", is_bot=True)):
        with pytest.raises(StoreError):
            await house.offer(message)
    assert house.bot.calls == []
    with pytest.raises(StoreError):
        await house.offer(house.message("hi", user="1"))
    assert house.seen("1") == [house.core.notices.say("disk_full")]
    house.store.full = False


async def garbage(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    yield TextDelta(text="half")
    yield 7  # type: ignore[misc]


async def no_text(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    yield TextDelta(text=None)  # type: ignore[arg-type]


async def odd_counts(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    yield TextDelta(text="half")
    yield Used(counts={"tokens": object()})  # type: ignore[dict-item]


async def odd_call(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    yield TextDelta(text="half")
    await turn.opened([CallOpened(call="1", tool="t", arguments=object(), read_only=True)])  # type: ignore[arg-type]


async def cancels_itself(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    yield TextDelta(text="half")
    raise asyncio.CancelledError


async def open_and_gone(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    await turn.opened([CallOpened(call="1", tool="t", arguments="{}", read_only=True)])
    yield TextDelta(text="")
    raise ValueError


class _Odd:
    """Not closable, not quite an iterator."""

    def __aiter__(self) -> _Odd:
        return self

    async def __anext__(self) -> AgentEvent:
        raise KeyError("odd")

    async def aclose(self) -> None:
        raise RuntimeError("can't be closed")


def raises_at_once(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    raise RuntimeError("no iterator at all")


def gives_none(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    return None  # type: ignore[return-value]


def gives_odd(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    return _Odd()


BAD: tuple[Script, ...] = (
    raises(AgentError("named")), raises(ValueError("unnamed"), "half"), garbage, no_text, odd_counts, odd_call,
    cancels_itself, open_and_gone, raises_at_once, gives_none, gives_odd,
)  # fmt: skip


@pytest.mark.parametrize("script", BAD)
async def test_an_agent_that_misbehaves_costs_its_turn_and_one_notice(house: House, script: Script) -> None:
    house.stage.on("bad", script)
    bad, behind = house.message("bad"), house.message("behind", sent_at=house.clock.now().replace(year=2027))
    await house.receive(bad, behind)
    await house.idle()
    assert len(house.seen()) == 2
    assert house.seen()[0].startswith(WRONG)
    assert house.seen()[1] == "re: behind"
    assert {row.fate for row in await house.rows()} == {"answered"}
    said = [kind for kind, _ in await house.told()]
    assert said.count("notice") == 1
    await house.say("/usage")
    await house.say("/export")


async def test_an_agent_that_can_not_be_made_fails_the_turn(furnish: Furnish) -> None:
    house = await furnish(agents={"default": {"backend": "tests.fakes.agents:broken", "options": {"stage": "none"}}})
    await house.say("hello")
    assert house.seen()[0].startswith(WRONG)


async def test_an_agent_that_hangs_is_timed_out_with_a_notice(furnish: Furnish) -> None:
    house = await furnish(desk={"turn_timeout_s": 5.0})
    house.stage.on("hang", house.stage.waits(before=["half"]))
    await house.say("hang")
    await house.say("behind")
    await house.advance(7)
    assert house.seen()[0].startswith("The answer took too long and was stopped.")
    assert house.seen()[1] == "re: behind"
    assert ("assistant", "half") in await house.told()


async def test_an_agent_that_can_not_be_stopped_is_left_to_itself(furnish: Furnish) -> None:
    house = await furnish(desk={"turn_timeout_s": 5.0})
    house.stage.on("hang", house.stage.clings())
    await house.say("hang")
    await house.advance(8)
    assert house.seen()[0].startswith("The answer took too long")
    before = await house.told()
    house.stage.gate().set()
    await house.idle()
    assert await house.told() == before
    assert before[:2] == [("user", "hang"), ("assistant", "clinging")]
    await house.say("next")
    assert house.seen()[-1] == "re: next"


async def test_an_agent_that_fails_when_it_is_stopped_was_stopped(house: House) -> None:
    async def sore(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="half")
        try:
            await house.stage.gate("never").wait()
        except asyncio.CancelledError:
            raise ValueError("sore") from None

    house.stage.on("sore", sore)
    await house.say("sore")
    await house.say("/stop")
    assert house.seen() == ["Stopped."]
    assert [kind for kind, _ in await house.told()] == ["user", "assistant"]


async def test_an_agent_may_use_other_tasks_and_timeouts(house: House) -> None:
    async def busy(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        async with asyncio.TaskGroup() as group:
            for number in range(5):
                group.create_task(call(turn, f"{number}", f"{number}", read_only=True))
        yield TextDelta(text="done")

    house.stage.on("busy", busy)
    await house.say("busy")
    await house.say("next")
    kinds = [kind for kind, _ in house.stage.asked[-1].history]
    assert sorted(kinds) == ["assistant", *["tool_call"] * 5, *["tool_result"] * 5, "user"]
    assert house.core.cache.hits == 1


async def test_a_call_that_the_agent_gave_up_on_is_still_in_its_history(house: House) -> None:
    """A commit is not taken back by the agent's own timeout."""

    async def impatient(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        house.store.hears = asyncio.Event()
        opening = asyncio.ensure_future(turn.opened([CallOpened(call="1", tool="t", arguments="{}", read_only=True)]))
        await house.store.flushed()
        opening.cancel()
        house.store.hears.set()
        await asyncio.gather(opening, return_exceptions=True)
        await turn.closed(CallClosed(call="1", result="r", failed=True))
        yield TextDelta(text="done")

    house.stage.on("impatient", impatient)
    await house.say("impatient")
    await house.say("next")
    assert [kind for kind, _ in house.stage.asked[-1].history] == ["user", "tool_call", "tool_result", "assistant"]


async def test_a_suspended_turn_is_closed_by_the_next_message(house: House) -> None:
    async def asks(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="May I? ")
        await turn.opened([CallOpened(call="1", tool="pay", arguments="{}", read_only=False)])
        yield Suspend()

    house.stage.on("ask", asks)
    asked = await house.say("ask")
    text, question = house.seen()
    assert text == "May I?"
    assert "pay" in question
    assert "/approve" in question
    assert (await house.row(asked)).state == "taken"
    await house.say("something else")
    assert await house.fate(asked) == "answered"
    kinds = await house.told()
    spoken = [(kind, said) for kind, said in kinds if kind != "notice"]
    assert [kind for kind, _ in spoken] == ["user", "assistant", "tool_call", "tool_result", "user", "assistant"]
    assert spoken[3][1].startswith("Not answered")
    assert house.stage.asked[-1].history == tuple(spoken[:4])


@pytest.mark.parametrize("command", ["/stop", "/reset", "/undo", "/clear", "/retry"])
async def test_a_suspended_turn_is_closed_by_commands(house: House, command: str) -> None:
    async def asks(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="May I? ")
        await turn.opened([CallOpened(call="1", tool="pay", arguments="{}", read_only=False)])
        if len(house.stage.asked) == 1:
            yield Suspend()

    house.stage.on("ask", asks)
    asked = await house.say("ask")
    await house.restart()
    assert (await house.row(asked)).state == "taken"
    await house.say(command)
    assert await house.fate(asked) == "answered"
    await house.sound()


async def test_the_limit_of_turns_is_fair_and_places_are_told(furnish: Furnish) -> None:
    house = await furnish(desk={"max_turns": 2})
    for user in range(10, 16):
        house.stage.on(f"u{user}", house.stage.waits(f"{user}"))
        await house.say(f"u{user}", user=f"{user}")
    assert house.stage.texts == ["u10", "u11"]
    await house.advance(6)
    told = [house.seen(f"{user}") for user in range(12, 16)]
    place = "Many people are asking at the moment; you are number {} in line."
    assert told == [[place.format(number)] for number in range(1, 5)]
    await house.advance(60)
    assert [len(house.seen(f"{user}")) for user in range(12, 16)] == [1] * 4
    await house.say("/stop", user="13")
    for user in range(10, 16):
        house.stage.gate(f"{user}").set()
        await house.idle()
    assert house.stage.texts == ["u10", "u11", "u12", "u14", "u15"]
    assert house.core.slots.taken == 0
    assert house.core.slots.waiting == 0


async def test_one_conversation_has_one_place_in_line(furnish: Furnish) -> None:
    house = await furnish(desk={"max_turns": 1})
    house.stage.on("first", house.stage.waits())
    await house.say("first", user="1")
    for number in range(3):
        await house.say(f"a{number}", user="2", sent_at=house.clock.now().replace(minute=10 * number))
    await house.say("b", user="3")
    house.stage.gate().set()
    await house.idle()
    assert house.stage.texts == ["first", "a0", "b", "a1", "a2"]


async def test_a_row_that_breaks_its_owner_is_refused_at_the_third_time(house: House) -> None:
    await house.say("fine")
    session = await house.session()
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    poisoned = await house.say("poisoned")
    behind = await house.say("behind", sent_at=house.clock.now().replace(year=2027))
    corrupting(house.state, f"UPDATE inbox SET kind = 'odd' WHERE id = {poisoned.row}")
    house.stage.gate().set()
    await house.advance(10)
    assert await house.fate(poisoned) == "refused"
    assert await house.fate(behind) == "answered"
    assert "I could not handle this message." in house.seen()[2]
    assert house.seen()[3] == "re: behind"
    assert (await house.session()).id == session.id
    corrupting(house.state, f"UPDATE inbox SET kind = 'direct' WHERE id = {poisoned.row}")


async def test_a_text_that_the_bot_can_not_render_is_delivered_plainly(house: House) -> None:
    house.bot.spoils = lambda text: "spoiled" in text
    await house.say("spoiled")
    assert house.seen() == ["re: spoiled"]
    await house.say("/title spoiled")
    await house.say("/export")
    assert "spoiled" in house.seen()[-1]
    await house.say("next")
    assert house.seen()[-1] == "re: next"


async def test_a_preview_that_the_bot_can_not_render_costs_nothing(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    house.bot.spoils = lambda text: "spoiled" in text
    house.stage.on("q", house.stage.waits(before=["spoiled "]))
    await house.say("q")
    await house.advance(2)
    house.stage.gate().set()
    await house.advance(5)
    assert house.seen()[-1] == "spoiled done"
    await house.say("next")
    await house.advance(2)
    assert house.seen()[-1] == "re: next"


async def test_what_is_said_to_a_closing_desk_is_not_taken(house: House) -> None:
    house.desk.stop_intake()
    with pytest.raises(StoreError):
        await house.offer(house.message("late"))
    assert await house.rows() == []


async def test_a_drain_lets_running_turns_end(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    house.desk.stop_intake()
    draining = asyncio.ensure_future(house.desk.drain(10))
    await house.advance(1)
    house.stage.gate().set()
    await house.advance(2)
    assert draining.done()
    await draining
    assert house.seen() == ["done"]


ECHOES: Callable[..., Script] = says


async def test_a_suspended_turn_of_a_session_that_ends_by_time_is_closed_with_its_calls(furnish: Furnish) -> None:
    async def asks(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="May I? ")
        await turn.opened([CallOpened(call="1", tool="pay", arguments="{}", read_only=False)])
        yield Suspend()

    house = await furnish(session={"reset": {"mode": "idle", "idle_minutes": 60}})
    house.stage.on("ask", asks)
    asked = await house.say("ask")
    await house.clock.leap(2 * 3600)
    await house.say("next")
    assert await house.fate(asked) == "answered"
    await house.sound()


async def test_an_agent_that_exits_fails_its_turn_and_nothing_else(house: House) -> None:
    house.stage.on("exit", raises(SystemExit(3)))
    await house.say("exit")
    assert "Something went wrong" in house.seen()[-1]
    await house.say("hello")
    assert house.seen()[-1] == "re: hello"
