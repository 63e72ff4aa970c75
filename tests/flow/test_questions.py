"""Questions with buttons: the exact call is shown, and an answer settles its own call and no other."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from core.agents.agent import AgentEvent, Suspend, TurnContext
from core.errors import StoreFull
from core.store import buttons
from core.vocabulary import CallOpened, ChatId, ClientTool, TextDelta, Verdict
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, OWNER, House
from tests.flow.pressing_bot import ASKER_ONLY, DONE, EXPIRED, ButtonBot, button_bot, press, press_of
from tests.flow.reloading import Reloaded
from tests.flow.test_consent import Paying, ask, waiting

YES, NO = "Allow", "Don't allow"


class Asking:
    """An agent that asks whether it may make one call with these arguments."""

    def __init__(self, arguments: str) -> None:
        self.arguments = arguments

    async def __call__(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        if turn.answers:
            yield TextDelta(text="gone on")
            return
        await turn.opened([CallOpened(call="1", tool="pay", arguments=self.arguments)])
        yield Suspend()


async def question(house: House, arguments: str) -> str:
    """What is shown of a call, all messages together."""
    house.stage.on("pay", Asking(arguments))
    await house.say("please pay")
    return "\n".join(house.seen())


@pytest.mark.parametrize(("label", "paid", "said"), [(YES, ["1"], "Allowed."), (NO, [], "Denied.")])
async def test_each_button_says_what_its_command_says(furnish: Furnish, label: str, paid: list[str], said: str) -> None:
    house = await furnish(ButtonBot())
    paying = Paying()
    asked = await ask(house, paying)
    bot = button_bot(house)
    assert bot.labels() == [YES, NO]
    assert '"to": "1"' in house.seen()[-1]
    assert "/approve" in house.seen()[-1]
    assert "/deny" in house.seen()[-1]
    receipt = await press(house, bot.button(label))
    assert receipt.verdict is Verdict.ACCEPTED
    assert paying.paid == paid
    assert said in house.seen()
    assert await house.fate(asked) == "answered"
    assert bot.told == [(DONE, True)]
    assert bot.labels() == []


async def test_c16_both_buttons_at_once_the_first_counts(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    paying = Paying()
    await ask(house, paying)
    yes, no = button_bot(house).button(YES), button_bot(house).button(NO)
    receipts = await house.receive(press_of(house, no), press_of(house, yes), press_of(house, no))
    await house.idle()
    assert [one.verdict for one in receipts] == [Verdict.ACCEPTED, Verdict.REFUSED, Verdict.REFUSED]
    assert paying.paid == []


async def test_each_of_several_calls_has_its_message_and_is_answered_alone(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    paying = Paying("a", "b", "c")
    await ask(house, paying)
    bot = button_bot(house)
    assert bot.labels() == [YES, NO] * 3
    asked = [shown for shown in bot.chats[ChatId("7")] if bot.under[shown.id]]
    assert ['"to": "a"' in one.text for one in asked] == [True, False, False]
    first, second, third = ([one.data for one in bot.under[shown.id]] for shown in asked)
    await press(house, second[1])
    assert [one.call for one in await waiting(house)] == ["a", "c"]
    assert "Waiting for 2 more" in house.seen()[-1]
    assert (await press(house, second[0])).verdict is Verdict.REFUSED
    await press(house, third[0])
    assert [one.call for one in await waiting(house)] == ["a"]
    assert paying.paid == []
    await press(house, first[1])
    assert paying.paid == ["c"]
    assert bot.labels() == []


async def test_a_press_and_a_command_for_different_calls_at_once(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    paying = Paying("a", "b")
    await ask(house, paying)
    ids = {one.call: one.id for one in await waiting(house)}
    yes = [one.data for one in button_bot(house).buttons() if one.label == YES]
    await house.receive(press_of(house, yes[0]), house.message(f"/deny {ids['b']}"))
    await house.idle()
    assert paying.paid == ["a"]
    assert await waiting(house) == []


async def test_c17_a_press_after_a_restart(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    paying = Paying()
    asked = await ask(house, paying)
    await house.restart()
    house.stage.on("pay", paying)
    yes, no = button_bot(house).button(YES), button_bot(house).button(NO)
    await press(house, yes)
    assert paying.paid == ["1"]
    assert await house.fate(asked) == "answered"
    await house.restart()
    assert (await press(house, no)).verdict is Verdict.REFUSED
    assert button_bot(house).told == [(DONE, True), (EXPIRED, True)]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("death", range(7))
async def test_an_accepted_press_has_one_end_wherever_the_process_dies(
    furnish: Furnish, death: int, before: bool
) -> None:
    house = await furnish(ButtonBot())
    paying = Paying()
    said = await ask(house, paying)
    data = button_bot(house).button(YES)
    house.store.dies_at, house.store.dies_before = house.store.writes + 1 + death, before
    pressed = asyncio.ensure_future(house.receive(press_of(house, data, event="e")))
    await house.idle_dead()
    pressed.cancel()
    await asyncio.gather(pressed, return_exceptions=True)
    await house.restart()
    house.store.dies_at = None
    await press(house, data, event="e")
    assert paying.paid in ([], ["1"])
    assert await house.fate(said) == "answered"
    results = [text for kind, text in await house.told() if kind == "tool_result"]
    assert len(results) == 1
    assert results[0].startswith(("paid", "Interrupted"))
    assert len([row for row in await house.rows() if row.command == "approve"]) == 1


async def test_in_time_by_the_clock(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    paying = Paying()
    await ask(house, paying)
    yes, no = button_bot(house).button(YES), button_bot(house).button(NO)
    await house.advance(15 * 60 - 1)
    await house.chores.consents()
    await house.idle()
    kept = await house.store.read(lambda tx: buttons.find(tx, yes))
    assert kept is not None
    assert kept.is_good(house.clock.now())
    await house.advance(1)
    assert (await press(house, yes)).verdict is Verdict.REFUSED
    await house.chores.consents()
    await house.idle()
    assert (await press(house, no)).verdict is Verdict.REFUSED
    assert paying.paid == []
    assert button_bot(house).told == [(EXPIRED, True)] * 2


async def test_a_clock_that_was_set_back_lets_nothing_be_done_twice(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    paying = Paying()
    await ask(house, paying)
    yes = button_bot(house).button(YES)
    await press(house, yes)
    await house.clock.leap(3600)
    house.clock.set_to(house.clock.now().replace(hour=1))
    assert (await press(house, yes)).verdict is Verdict.REFUSED
    assert paying.paid == ["1"]


@pytest.mark.parametrize("how", ["/approve", "/deny", "never mind", "/stop", "/reset"])
async def test_a_call_that_is_settled_is_not_settled_again(furnish: Furnish, how: str) -> None:
    house = await furnish(ButtonBot())
    paying = Paying()
    await ask(house, paying)
    yes, no = button_bot(house).button(YES), button_bot(house).button(NO)
    await house.say(how)
    paid = list(paying.paid)
    assert paid == (["1"] if how == "/approve" else [])
    for data in (no, yes):
        before = house.seen()
        receipt = await press(house, data)
        told = house.heard_since(before)
        assert receipt.verdict is Verdict.REFUSED or told[0].startswith("That call is ")
    assert paying.paid == paid
    assert await waiting(house) == []


@pytest.mark.parametrize("how", ["/approve", "/deny", "never mind", "/stop", "/reset"])
async def test_who_presses_for_a_settled_call_is_told_that_it_has_expired(furnish: Furnish, how: str) -> None:
    house = await furnish(ButtonBot())
    await ask(house, Paying())
    no = button_bot(house).button(NO)
    await house.say(how)
    kept = await house.store.read(lambda tx: buttons.find(tx, no))
    assert kept is not None
    assert not kept.is_good(house.clock.now() - timedelta(hours=6))
    assert (await press(house, no)).verdict is Verdict.REFUSED
    assert button_bot(house).told == [(EXPIRED, True)]


@pytest.mark.parametrize("who", ["7", OWNER])
async def test_in_a_group_a_button_is_the_asker_s_and_every_owner_s(furnish: Furnish, who: str) -> None:
    house = await furnish(ButtonBot())
    paying = Paying()
    house.stage.on("pay", paying)
    await house.say_in_group("please pay", user="7")
    yes = button_bot(house).button(YES, GROUP)
    assert (await press(house, yes, user="8", chat=GROUP)).verdict is Verdict.REFUSED
    for user in ("7", OWNER):
        assert (await press(house, yes, user=user, chat=user)).verdict is Verdict.REFUSED
    assert button_bot(house).told == [(ASKER_ONLY, False), (EXPIRED, False), (EXPIRED, False)]
    assert button_bot(house).labels(GROUP) == [YES, NO]
    assert paying.paid == []
    await press(house, yes, user=who, chat=GROUP)
    assert paying.paid == ["1"]


async def test_with_one_conversation_a_person_two_questions_in_a_group_stay_apart(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), session={"group_scope": "user"})
    paying = Paying()
    house.stage.on("pay", paying)
    await house.say_in_group("please pay", user="7")
    sevens = button_bot(house).button(YES, GROUP)
    await house.say_in_group("please pay", user="8")
    eights = button_bot(house).button(YES, GROUP)
    assert (await press(house, sevens, user="8", chat=GROUP)).verdict is Verdict.REFUSED
    assert paying.paid == []
    await press(house, eights, user="8", chat=GROUP)
    assert paying.paid == ["1"]
    await press(house, sevens, user="7", chat=GROUP)
    assert paying.paid == ["1", "1"]


async def test_a_press_that_the_store_refuses_allows_nothing_until_it_is_stored(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    paying = Paying()
    await ask(house, paying)
    yes = button_bot(house).button(YES)
    house.store.full = True
    for _ in range(3):
        with pytest.raises(StoreFull):
            await house.receive(press_of(house, yes, event="e"))
    assert paying.paid == []
    house.store.full = False
    await press(house, yes, event="e")
    assert paying.paid == ["1"]


async def test_a_long_call_is_shown_whole_with_its_buttons_at_its_end(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    arguments = {f"argument {number}": f"value {number} " + "x" * 100 for number in range(15)}
    shown = await question(house, json.dumps(arguments))
    for name, value in arguments.items():
        assert f'"{name}": "{value}"' in re.sub(r"\n```\n```json\n", "\n", shown)
    bot = button_bot(house)
    messages = bot.chats[ChatId("7")]
    assert len(messages) > 4
    assert [len(bot.under[one.id]) for one in messages] == [0] * (len(messages) - 1) + [2]
    assert "/approve" in messages[-1].text


@pytest.mark.parametrize(
    "hiding",
    [{**{f"note {number}": "x" * 300 for number in range(10)}, "to": "Mallory"}, {"x" * 3000: 1, "to": "Mallory"}],
)
async def test_no_crowd_of_arguments_hides_the_one_that_matters(furnish: Furnish, hiding: dict[str, object]) -> None:
    house = await furnish(ButtonBot())
    assert '"to": "Mallory"' in await question(house, json.dumps(hiding))


@pytest.mark.parametrize("arguments", ["", "{", "null", "[1, 2]", "```\n**bold**", '"' + "y" * 5000, "\u202e{}\0"])
async def test_arguments_that_are_no_object_are_asked_about_all_the_same(furnish: Furnish, arguments: str) -> None:
    house = await furnish(ButtonBot())
    shown = await question(house, arguments)
    assert "**pay**" in shown
    assert "\u202e" not in shown
    await press(house, button_bot(house).button(YES))
    assert house.seen()[-1] == "gone on"


async def test_arguments_too_deep_to_be_read_do_not_hold_up_the_conversation(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    house.stage.on("pay", Asking("[" * 2_000 + "]" * 2_000))
    said = await house.say("please pay")
    await house.advance(5)
    await house.say("/stop")
    await house.advance(5)
    assert await house.fate(said) == "answered"


async def test_after_another_configuration_the_answer_still_counts_for_those_who_may_speak(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    paying = Paying()
    await ask(house, paying)
    await Reloaded(house).to(access={"direct": "allow", "allow": ["telegram:7"]}, mailbox={"busy": "steer"})
    await press(house, button_bot(house).button(YES))
    assert paying.paid == ["1"]


async def test_whoever_may_not_speak_any_more_allows_nothing(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    paying = Paying()
    await ask(house, paying)
    await Reloaded(house).to(access={"direct": "allow"})
    await house.say("/approve")
    assert paying.paid == []
    await press(house, button_bot(house).button(YES))
    assert paying.paid == []


async def test_a_client_s_own_tool_has_no_buttons(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    tool = ClientTool(name="pay", description="", schema='{"type": "object"}')
    house.stage.on("pay", Asking("{}"))
    await house.offer(replace(house.message("please pay"), tools=(tool,)))
    await house.idle()
    assert house.seen() == []
