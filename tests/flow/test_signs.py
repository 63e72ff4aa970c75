"""Small signs: a reaction on what is being answered, and what an answer waits for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from core.agents.agent import AgentEvent, TurnContext
from core.errors import NotSent, StoreFull
from core.vocabulary import CallClosed, CallOpened, ChatId, MessageId, TextDelta, Verdict
from tests.flow.bot import AdminBot, GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, House
from tests.flow.pressing_bot import ButtonBot, WorkingBot, button_bot
from tests.flow.reloading import Reloaded

EYES: dict[str, object] = {"bots": {"main": {"reaction": "\U0001f440"}}}


def reacted(house: House) -> list[MessageId]:
    assert {(chat, emoji) for chat, _, emoji in button_bot(house).reactions} <= {(ChatId(GROUP), "\U0001f440")}
    return [message for _, message, _ in button_bot(house).reactions]


async def test_what_is_being_answered_in_a_group_gets_a_reaction(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **EYES)
    said = await house.say_in_group("hello")
    assert reacted(house) == [said.message.message]
    thread = await house.say_in_group("hello", thread="5")
    assert reacted(house) == [said.message.message, thread.message.message]


async def test_nothing_else_does(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **EYES)
    said = await house.say_in_group("hello")
    await house.redeliver(said)
    await house.say("in private")
    await house.say_in_group("among yourselves", addressed=False)
    await house.say_in_group("hello", chat="-999")
    await house.say_in_group("beep", is_bot=True)
    for command in ("/help", "/stop", "/steer x", "/approve"):
        await house.say_in_group(command)
    await house.edit(said, "hello again")
    await house.restart()
    assert reacted(house) == [said.message.message]


async def test_none_unless_it_is_configured(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    await house.say_in_group("hello")
    assert reacted(house) == []
    reloaded = Reloaded(house)
    await reloaded.to(**EYES)
    said = await house.say_in_group("hello")
    await reloaded.to(bots={"main": {"reaction": None}})
    await house.say_in_group("hello")
    assert reacted(house) == [said.message.message]


async def test_what_is_full_or_not_stored_gets_none(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), mailbox={"limit": 1}, **EYES)
    house.stage.on("slow", house.stage.waits())
    slow = await house.say_in_group("slow")
    waits = await house.say_in_group("waits")
    full = await house.say_in_group("too many")
    assert full.receipt.verdict is Verdict.REFUSED
    house.store.full = True
    with pytest.raises(StoreFull):
        await house.receive(house.group_message("lost"))
    assert reacted(house) == [slow.message.message, waits.message.message]


async def test_a_platform_without_reactions_answers_all_the_same(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **EYES)
    await house.say_in_group("hello")
    assert house.seen(GROUP) == ["re: hello"]


@pytest.mark.parametrize("fault", [NotSent("x"), ValueError("a fault in the bot")])
async def test_a_reaction_that_fails_harms_nothing_and_is_not_tried_again(furnish: Furnish, fault: Exception) -> None:
    house = await furnish(ButtonBot(), **EYES)
    button_bot(house).answer_faults.append(fault)
    await house.say_in_group("hello")
    await house.advance(120)
    assert house.seen(GROUP) == ["re: hello"]
    assert reacted(house) == []


# what an answer waits for


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


@pytest.mark.xfail(
    strict=True,
    reason="core/desk/record.py Ending.stands, core/desk/recovery.py take_up: what the "
    "message says is not known there, so it has to be edited",
)
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


@pytest.mark.xfail(
    strict=True,
    reason="core/delivery/preview.py _send_first: the line is stored with the text, and "
    "stays where recovery puts that back",
)
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


@pytest.mark.xfail(
    strict=True,
    reason="core/desk/turn.py beat, core/delivery/preview.py _part: a preview begins with words only",
)
async def test_a_tool_that_runs_before_anything_is_said_is_seen_too(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    tools(house, ["search"], first="")
    await house.say("look")
    await set_gate(house, "begin")
    assert house.seen() == ["*using search …*"]


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
    assert house.seen() == ["Here."]


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


async def test_a_process_that_ends_waits_for_no_sign(furnish: Furnish) -> None:
    class Hanging(ButtonBot):
        async def react(self, address: object, message: MessageId, emoji: str) -> None:
            await asyncio.Event().wait()

    house = await furnish(Hanging(), **EYES)
    await house.say_in_group("hello")
    assert house.seen(GROUP) == ["re: hello"]
    await house.restart()
    await house.say_in_group("and now?")
    assert house.seen(GROUP)[-1] == "re: and now?"
