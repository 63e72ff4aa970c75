"""Calls that wait for a person's word, or for a client: the turn is suspended, and goes on with the last answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec.structs import replace

from core.agents.agent import AgentEvent, Allowed, Suspend, TurnContext
from core.store import consents
from core.store.consents import Consent
from core.store.sql import Tx
from core.vocabulary import CallClosed, CallOpened, ClientTool, TextDelta
from tests.flow.bot import AdminBot, FakeBot
from tests.flow.conftest import Furnish
from tests.flow.house import OWNER, House, Said


class Paying:
    """An agent that asks before it pays, and pays when it may. `paid`: each payment that was made."""

    def __init__(self, *calls: str, tool: str = "pay") -> None:
        self.calls = calls or ("1",)
        self.tool = tool
        self.paid: list[str] = []
        self.seen: list[list[tuple[str, str]]] = []

    async def __call__(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        self.seen.append([(str(entry.kind), entry.text) for entry in [*turn.history, *turn.entries]])
        if not turn.answers:
            yield TextDelta(text="May I? ")
            await turn.opened(
                [CallOpened(call=call, tool=self.tool, arguments=json.dumps({"to": call})) for call in self.calls]
            )
            yield Suspend()
            return
        for call, answer in turn.answers.items():
            if isinstance(answer, Allowed):
                self.paid.append(call)
                await turn.closed(CallClosed(call=call, result=f"paid {call}", failed=False))
        results = [entry.text for entry in turn.entries if entry.kind == "tool_result"]
        yield TextDelta(text=" | ".join(results))


async def waiting(house: House) -> list[Consent]:
    conversation = (await house.conversation()).id

    def unit(tx: Tx) -> list[Consent]:
        return consents.open_in(tx, conversation)

    return await house.store.read(unit)


async def ask(house: House, paying: Paying) -> Said:
    house.stage.on("pay", paying)
    return await house.say("please pay")


async def test_an_allowed_call_is_made_and_the_turn_goes_on(house: House) -> None:
    paying = Paying()
    said = await ask(house, paying)
    assert paying.paid == []
    assert await house.fate(said) is None
    assert '"to": "1"' in house.seen()[-1]
    await house.say("/approve")
    assert paying.paid == ["1"]
    assert house.seen()[-2:] == ["Allowed.", "paid 1"]
    assert await house.fate(said) == "answered"
    assert paying.seen[1][:3] == [("user", "please pay"), ("assistant", "May I? "), ("tool_call", "pay")]


async def test_no_argument_hides_behind_another(house: House) -> None:
    class Hiding(Paying):
        async def __call__(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
            arguments = json.dumps({"note": "x" * 20_000, "to": "Mallory\u200b\u2066", "all": [1, None]})
            await turn.opened([CallOpened(call="1", tool="pay", arguments=arguments)])
            yield Suspend()

    await ask(house, Hiding())
    question = "".join(house.seen()[1:])
    assert 1500 <= question.count("x") < 1600
    assert "… (20000 characters)" in question
    assert '"to": "Mallory\\u200b\\u2066"' in question
    assert len(question) < 3000


async def test_a_call_that_can_be_shown_whole_is_not_cut(house: House) -> None:
    class Wordy(Paying):
        async def __call__(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
            arguments = json.dumps({"note": "x" * 5_000 + "; rm -rf /", "to": "Bob"})
            await turn.opened([CallOpened(call="1", tool="pay", arguments=arguments)])
            yield Suspend()

    await ask(house, Wordy())
    question = "".join(house.seen()[1:])
    assert question.count("x") >= 5_000
    assert "; rm -rf /" in question


async def test_a_denied_call_is_not_made(house: House) -> None:
    paying = Paying()
    await ask(house, paying)
    await house.say("/deny")
    assert paying.paid == []
    assert house.seen()[-1].startswith("Denied: the person")


async def test_c16_a_second_approve_allows_nothing_more(house: House) -> None:
    paying = Paying()
    await ask(house, paying)
    first = await house.say("/approve")
    second = await house.say("/approve")
    assert paying.paid == ["1"]
    assert await house.fate(first) == await house.fate(second) == "answered"
    assert house.seen()[-1] == "Nothing waits for your word here."


async def test_c16_two_approves_at_once_allow_once(house: House) -> None:
    paying = Paying()
    await ask(house, paying)
    await house.receive(house.message("/approve"), house.message("/approve"))
    await house.idle()
    assert paying.paid == ["1"]


async def test_of_several_calls_one_is_named_or_all_are_meant(house: House) -> None:
    paying = Paying("a", "b", "c")
    await ask(house, paying)
    ids = {one.call: one.id for one in await waiting(house)}
    await house.say("/approve")
    assert "3 calls wait" in house.seen()[-1]
    assert paying.paid == []
    await house.say(f"/deny {ids['b'].lower()}")
    assert house.seen()[-1].startswith("Denied. Waiting for 2 more")
    await house.say("/approve all")
    assert paying.paid == ["a", "c"]
    assert sorted(house.seen()[-1].split(" | "))[1:] == ["paid a", "paid c"]


async def test_an_id_never_means_another_call(house: House) -> None:
    paying = Paying()
    await ask(house, paying)
    [old] = await waiting(house)
    await house.say("/deny")
    await ask(house, paying)
    await house.say(f"/approve {old.id}")
    assert house.seen()[-1] == "That call is denied already."
    await house.say("/approve nonsense")
    assert house.seen()[-1] == "I know no call nonsense here."
    assert paying.paid == []


async def test_nobody_answers_in_time(house: House) -> None:
    paying = Paying()
    said = await ask(house, paying)
    await house.advance(15 * 60 - 1)
    await house.chores.consents()
    await house.idle()
    assert await house.fate(said) is None
    await house.advance(2)
    await house.chores.consents()
    await house.idle()
    assert paying.paid == []
    assert house.seen()[-1].startswith("Not allowed: nobody answered in time")
    assert await house.fate(said) == "answered"
    await house.say("/approve")
    assert paying.paid == []
    assert house.seen()[-1].startswith("That question has expired")


async def test_an_expired_call_can_not_be_allowed_before_the_chore_comes(house: House) -> None:
    paying = Paying()
    await ask(house, paying)
    [one] = await waiting(house)
    await house.advance(16 * 60)
    await house.say(f"/approve {one.id}")
    assert house.seen()[-1] == "That call is expired already."
    assert paying.paid == []


async def test_another_message_drops_the_question(house: House) -> None:
    paying = Paying()
    await ask(house, paying)
    [one] = await waiting(house)
    await house.say("never mind")
    await house.say(f"/approve {one.id}")
    assert house.seen()[-1] == "That call is dropped already."
    assert paying.paid == []


@pytest.mark.parametrize("command", ["/stop", "/reset"])
async def test_stop_and_reset_drop_the_question(house: House, command: str) -> None:
    paying = Paying()
    said = await ask(house, paying)
    await house.say(command)
    await house.say("/approve")
    assert paying.paid == []
    assert await house.fate(said) == "answered"
    assert house.seen()[-1] == "Nothing waits for your word here."


async def test_an_answer_survives_a_restart(house: House) -> None:
    paying = Paying()
    said = await ask(house, paying)
    await house.restart()
    house.stage.on("pay", paying)
    await house.say("/approve")
    assert paying.paid == ["1"]
    assert await house.fate(said) == "answered"


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("death", range(1, 8))
async def test_an_accepted_answer_has_one_end_wherever_the_process_dies(house: House, death: int, before: bool) -> None:
    paying = Paying()
    said = await ask(house, paying)
    house.store.dies_at = house.store.writes + 1 + death
    house.store.dies_before = before
    answered = asyncio.ensure_future(house.offer(house.message("/approve")))
    await house.idle_dead()
    answered.cancel()
    await house.restart()
    house.store.dies_at = None
    assert paying.paid in ([], ["1"])
    assert await house.fate(said) == "answered"
    log = [(str(entry.kind), entry.text) for entry in await house.log()]
    results = [text for kind, text in log if kind == "tool_result"]
    assert len(results) == 1
    assert results[0].startswith(("paid", "Interrupted"))


async def test_a_turn_that_dies_after_the_answer_is_not_tried_again(house: House) -> None:
    paying = Paying()

    async def dies(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        if turn.answers:
            paying.paid.append("begun")
            await house.stage.gate("never").wait()
        async for event in paying(turn):
            yield event

    house.stage.on("pay", dies)
    said = await house.say("please pay")
    await house.say("/approve")
    await house.restart()
    assert paying.paid == ["begun"]
    assert await house.fate(said) == "answered"
    assert "restarted while answering" in house.seen()[-1]
    await house.say("and now?")
    assert house.seen()[-1] == "re: and now?"


async def test_in_a_group_only_the_asker_or_an_owner_answers(furnish: Furnish) -> None:
    house = await furnish(AdminBot())
    paying = Paying()
    house.stage.on("pay", paying)
    await house.say_in_group("please pay", user="7")
    await house.say_in_group("/approve", user="8")
    assert paying.paid == []
    await house.say_in_group("/approve", user=OWNER)
    assert paying.paid == ["1"]


async def test_a_session_with_a_question_is_not_ended_by_time(furnish: Furnish) -> None:
    house = await furnish(FakeBot(), session={"reset": {"mode": "idle", "idle_minutes": 5}})
    await ask(house, Paying())
    before = await house.session()
    await house.advance(10 * 60)
    await house.chores.sweep()
    await house.idle()
    assert (await house.session()).ended_at is None
    assert (await house.session()).id == before.id


async def test_a_client_s_tool_is_offered_and_waits_for_the_client(house: House) -> None:
    tool = ClientTool(name="weather", description="The weather", schema='{"type": "object"}')
    offered: list[Sequence[ClientTool]] = []

    async def calls(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        offered.append(turn.client_tools)
        await turn.opened([CallOpened(call="w", tool="weather", arguments="{}")])
        yield Suspend()

    house.stage.on("sun", calls)
    said = await house.offer(replace(house.message("sun?"), tools=(tool,)))
    await house.idle()
    assert offered == [(tool,)]
    assert house.seen() == []
    [one] = await waiting(house)
    assert one.waits == "client"
    await house.say("/approve")
    assert house.seen()[-1] == "Nothing waits for your word here."
    assert await house.fate(said) is None
