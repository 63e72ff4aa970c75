"""What people see of the tools that an answer waits for, and what is left of that in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec.structs import replace

from core.agents.agent import AgentEvent, Suspend, TurnContext
from core.errors import NotSent
from core.store import deliveries
from core.vocabulary import CallClosed, CallOpened, ChatId, Pace, TextDelta
from tests.flow.bot import GROWING, Fault, GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import House
from tests.flow.pressing_bot import ButtonBot, WorkingBot, button_bot


def tools(house: House, names: Sequence[str], *, first: str = "One moment.") -> None:
    """Says something, opens these calls together, closes each at its gate, ends at the last gate."""

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        if first:
            yield TextDelta(text=first)
        await house.stage.gate("begin").wait()
        await turn.opened([CallOpened(call=f"{n}", tool=name, arguments="{}") for n, name in enumerate(names)])
        for number in range(len(names)):
            await house.stage.gate(f"{number}").wait()
            await turn.closed(CallClosed(call=f"{number}", result="r", failed=False))
        await house.stage.gate("end").wait()
        yield TextDelta(text=" Here.")

    house.stage.on("look", script)


async def set_gate(house: House, name: str) -> None:
    house.stage.gate(name).set()
    await house.advance(2)


async def test_the_tools_that_run_are_one_line_of_the_growing_answer(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    tools(house, ["search", "read_page", "search"])
    await house.say("look")
    await house.advance(2)
    seen = [house.seen()]
    for gate in ("begin", "0", "1", "2", "end"):
        await set_gate(house, gate)
        seen.append(house.seen())
    assert seen == [
        ["One moment."],
        ["One moment.\n\n*using search, read_page …*"],
        ["One moment.\n\n*using read_page, search …*"],
        ["One moment.\n\n*using search …*"],
        ["One moment."],
        ["One moment. Here."],
    ]
    assert [text for kind, text in await house.told() if kind == "assistant"] == ["One moment.", " Here."]


async def test_many_tools_and_odd_names_stay_one_short_line(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    tools(house, [f"tool\n\n# number [{number}](x)" for number in range(30)])
    await house.say("look")
    await house.advance(2)
    await set_gate(house, "begin")
    (message,) = house.seen()
    head, _, line = message.partition("\n\n")
    assert head == "One moment."
    assert "\n" not in line
    assert "](" not in line
    assert len(line) < 90


async def test_an_answer_that_fills_its_message_has_no_room_for_the_line(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    tools(house, ["search"], first="x" * 395)
    await house.say("look")
    await house.advance(2)
    await set_gate(house, "begin")
    assert house.seen() == ["x" * 395]
    for gate in ("0", "end"):
        await set_gate(house, gate)
    assert "".join(house.seen()).replace(" ", "") == "x" * 395 + "Here."


async def test_stopped_while_a_tool_runs_the_line_goes(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    tools(house, ["search"])
    await house.say("look")
    await house.advance(2)
    await set_gate(house, "begin")
    await house.say("/stop")
    await house.advance(3)
    assert house.seen() == ["One moment.", "Stopped."]


async def test_killed_while_a_tool_runs_the_line_goes_with_the_notice(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    tools(house, ["search"])
    await house.say("look")
    await house.advance(2)
    await set_gate(house, "begin")
    await house.restart()
    await house.advance(3)
    assert "restarted while answering" in house.seen()[-1]
    assert house.seen()[0] == "One moment."


async def test_killed_while_a_tool_runs_from_the_beginning_the_line_goes_with_the_notice(furnish: Furnish) -> None:
    """The tool starts before the message is first sent."""
    house = await furnish(ButtonBot(), bots={"main": {"stop_button": True}})
    tools(house, ["search"])
    house.stage.gate("begin").set()
    await house.say("look")
    await house.advance(2)
    assert house.seen() == ["One moment.\n\n*using search …*"]
    await house.restart()
    await house.advance(3)
    assert house.seen()[0] == "One moment."


async def test_a_tool_that_runs_before_anything_is_said_is_seen_too(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    tools(house, ["search"], first="")
    await house.say("look")
    await set_gate(house, "begin")
    assert house.seen() == ["*using search …*"]


async def test_a_tool_that_ends_at_once_is_not_shown_before_the_first_word(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    tools(house, ["search"], first="")
    await house.say("look")
    house.stage.gate("begin").set()
    await house.advance(0.5)
    house.stage.gate("0").set()
    await house.advance(5)
    assert house.seen() == []
    await set_gate(house, "end")
    assert [verb for verb, _, _ in house.bot.calls] == ["send"]
    assert house.seen() == ["Here."]


async def test_the_answer_takes_the_place_of_the_tools_before_it(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    tools(house, ["search", "read_page"], first="")
    await house.say("look")
    for gate in ("begin", "0", "1", "end"):
        await set_gate(house, gate)
    (shown,) = house.bot.chats[ChatId("7")]
    assert shown.texts == ["*using search, read_page …*", "*using read_page …*", "Here."]
    assert await house.deliveries() == [("sent", "reply")]


async def test_words_behind_a_tool_that_ended_before_it_could_be_shown_grow_all_the_same(furnish: Furnish) -> None:
    house = await furnish(GrowingBot(capabilities=replace(GROWING, direct_pace=Pace(interval_s=4.0, burst=1))))

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await turn.opened([CallOpened(call="1", tool="search", arguments="{}")])
        await house.stage.gate("0").wait()
        await turn.closed(CallClosed(call="1", result="r", failed=False))
        await house.stage.gate("word").wait()
        yield TextDelta(text="Here")
        await house.stage.gate("end").wait()
        yield TextDelta(text=" it is.")

    house.stage.on("look", script)
    await house.say("/version")
    await house.say("look")
    await house.advance(2)
    house.stage.gate("0").set()
    await house.advance(4)
    assert len(house.seen()) == 1
    await set_gate(house, "word")
    assert house.seen()[1:] == ["Here"]
    await set_gate(house, "end")
    await house.advance(4)
    assert house.seen()[1:] == ["Here it is."]


async def test_stopped_with_nothing_but_a_tool_to_see_it_says_so(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    tools(house, ["search"], first="")
    await house.say("look")
    await set_gate(house, "begin")
    await house.say("/stop")
    await house.advance(3)
    assert house.seen() == ["(stopped)", "Stopped."]
    assert "assistant" not in [kind for kind, _ in await house.told()]


@pytest.mark.parametrize("dies", [False, True])
async def test_the_notice_takes_the_place_of_a_tool_that_nothing_came_of(furnish: Furnish, dies: bool) -> None:
    house = await furnish(GrowingBot())

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await turn.opened([CallOpened(call="1", tool="search", arguments="{}")])
        await house.stage.gate("begin").wait()
        if turn.message.text:
            raise ValueError("no")
        yield TextDelta(text="never")

    house.stage.on("look", script)
    await house.say("look")
    await house.advance(2)
    assert house.seen() == ["*using search …*"]
    if dies:
        await house.restart()
    await set_gate(house, "begin")
    (seen,) = house.seen()
    assert ("restarted while answering" if dies else "went wrong") in seen
    assert await house.deliveries() == [("sent", "notice")]


async def test_a_question_takes_the_place_of_the_tools_before_it(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await turn.opened([CallOpened(call="1", tool="search", arguments="{}", read_only=True)])
        await house.stage.gate("begin").wait()
        await turn.closed(CallClosed(call="1", result="r", failed=False))
        await turn.opened([CallOpened(call="2", tool="pay", arguments="{}")])
        yield Suspend()

    house.stage.on("look", script)
    await house.say("look")
    await house.advance(2)
    assert house.seen() == ["*using search …*"]
    await set_gate(house, "begin")
    (seen,) = house.seen()
    assert "pay" in seen
    assert [one.label for one in button_bot(house).buttons()] == ["Allow", "Don't allow"]


async def test_killed_right_after_a_tool_the_line_goes_though_it_was_not_edited_yet(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    tools(house, ["search"])
    await house.say("look")
    await house.advance(2)
    await set_gate(house, "begin")
    house.bot.fail("7", Fault(gate=house.stage.gate("never")))
    house.stage.gate("0").set()
    await house.idle()
    assert house.seen() == ["One moment.\n\n*using search …*"]
    await house.restart()
    await house.advance(3)
    assert house.seen()[0] == "One moment."


async def test_words_that_came_after_the_tools_stay_when_the_process_dies(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="One moment.")
        await house.stage.gate("begin").wait()
        await turn.opened([CallOpened(call="1", tool="search", arguments="{}")])
        await house.stage.gate("0").wait()
        await turn.closed(CallClosed(call="1", result="r", failed=False))
        for word in ("Here", " it", " is"):
            yield TextDelta(text=word)
            await house.stage.gate(word).wait()

    house.stage.on("look", script)
    await house.say("look")
    await house.advance(2)
    for gate in ("begin", "0", "Here", " it"):
        await set_gate(house, gate)
    assert house.seen() == ["One moment.Here it is"]
    await house.restart()
    await house.advance(3)
    assert house.seen()[0] == "One moment.Here it is"
    assert "restarted while answering" in house.seen()[1]


async def test_stopped_over_a_restart_the_line_goes(furnish: Furnish) -> None:
    """The command was accepted, and the process died before it got to it."""
    house = await furnish(GrowingBot())

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="One moment.")
        await house.stage.gate("begin").wait()
        await turn.opened([CallOpened(call="1", tool="search", arguments="{}", read_only=True)])
        await house.stage.gate("never").wait()

    house.stage.on("look", script)
    await house.say("look")
    await house.advance(2)
    await set_gate(house, "begin")
    house.store.dies_at = house.store.writes + 1
    accepting = asyncio.ensure_future(house.desk.receive([house.message("/stop")]))
    await house.idle_dead()
    accepting.cancel()
    await house.restart()
    await house.advance(3)
    assert house.seen() == ["One moment.", "Stopped."]


async def test_an_edit_that_is_late_takes_nothing_from_what_was_stored_in_the_end(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="One moment.")
        await house.stage.gate("begin").wait()
        await turn.opened([CallOpened(call="1", tool="search", arguments="{}")])
        await house.stage.gate("0").wait()
        await turn.closed(CallClosed(call="1", result="r", failed=False))
        yield TextDelta(text=" Here")
        await house.stage.gate("end").wait()
        yield TextDelta(text=" it is.")

    house.stage.on("look", script)
    await house.say("look")
    await house.advance(2)
    await set_gate(house, "begin")
    gate = asyncio.Event()
    late = Fault(gate=gate)
    house.bot.fail("7", late)
    await set_gate(house, "0")
    assert late.reached.is_set()
    await set_gate(house, "end")
    gate.set()
    await house.advance(3)
    assert house.seen() == ["One moment. Here it is."]
    turn = house.stage.asked[-1].turn
    (kept,) = await house.store.read(lambda tx: deliveries.of_turn(tx, turn))
    assert kept.text == "One moment. Here it is."


# where the platform itself shows it


async def test_a_platform_s_own_sign_says_what_runs_and_when_nothing_does(furnish: Furnish) -> None:
    house = await furnish(WorkingBot())
    bot = house.bot
    assert isinstance(bot, WorkingBot)
    tools(house, ["search"], first="")
    await house.say("look")
    await house.advance(1)
    assert bot.typed == [ChatId("7")]
    for gate in ("begin", "0", "end"):
        await set_gate(house, gate)
    assert bot.worked == [(ChatId("7"), "using search …"), (ChatId("7"), "")]
    assert [one.texts for one in bot.chats[ChatId("7")]] == [["Here."]]


async def test_a_sign_that_fails_harms_nothing(furnish: Furnish) -> None:
    house = await furnish(WorkingBot())
    bot = house.bot
    assert isinstance(bot, WorkingBot)
    bot.work_faults.extend([NotSent("x"), NotSent("x")])
    tools(house, ["search"], first="")
    await house.say("look")
    for gate in ("begin", "0", "end"):
        await set_gate(house, gate)
    assert house.seen() == ["Here."]


@pytest.mark.parametrize("shows", [True, False])
async def test_what_runs_is_shown_once(furnish: Furnish, shows: bool) -> None:
    """Where the platform has no sign, the message says it, also before the first word."""
    house = await furnish(WorkingBot())
    bot = house.bot
    assert isinstance(bot, WorkingBot)
    bot.shows = shows
    tools(house, ["search"])
    await house.say("look")
    await house.advance(2)
    await set_gate(house, "begin")
    assert house.seen() == ["One moment." if shows else "One moment.\n\n*using search …*"]
    for gate in ("0", "end"):
        await set_gate(house, gate)
    tools(house, ["search"], first="")
    house.stage.gate("0").clear()
    await house.say("look")
    await house.advance(2)
    assert house.seen()[1:] == ([] if shows else ["*using search …*"])
