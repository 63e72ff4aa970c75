"""A cached agent answers only if it is exactly the right one, and every agent is shown the fold of the log."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from core.agents.agent import AgentEvent, TurnContext
from core.errors import AgentError
from core.store import entries, sessions
from core.store.entries import Draft, Kind
from core.store.history import for_model, for_people
from core.store.sql import Tx
from core.vocabulary import TextDelta
from tests.fakes.agents import call, count_history, raises, told
from tests.flow.conftest import Furnish
from tests.flow.house import House


async def test_the_second_turn_finds_its_agent(house: House) -> None:
    for text in ("one", "two", "three"):
        await house.say(text)
    assert (house.core.cache.hits, dict(house.core.cache.misses)) == (2, {"absent": 1})
    assert [asked.agent for asked in house.stage.asked] == [1, 1, 1]
    assert [asked.number for asked in house.stage.asked] == [1, 2, 3]
    assert [len(asked.history) for asked in house.stage.asked] == [0, 2, 4]


async def test_what_the_agent_is_shown_is_the_fold_of_the_log(house: House) -> None:
    async def calling(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="a")
        await call(turn, "1", "r", read_only=True)
        yield TextDelta(text="b")

    house.stage.on("tool", calling)
    for text in ("tool one", "two", "/undo", "tool three", "/status", "four", "/clear", "five", "six"):
        await house.say(text)
        if not text.startswith("/"):
            log = [entry for entry in await house.log() if entry.turn != house.stage.asked[-1].turn]
            assert house.stage.asked[-1].history == told(for_model(log)), text


@pytest.mark.parametrize("command", ["/undo", "/clear", "/reset"])
async def test_a_command_that_changes_the_past_costs_the_cached_agent(house: House, command: str) -> None:
    await house.say("one")
    await house.say(command)
    await house.say("two")
    assert house.core.cache.hits == 0
    assert house.stage.asked[-1].history == ()
    assert [asked.agent for asked in house.stage.asked] == [1, 2]


async def test_a_resumed_session_has_its_own_history(house: House) -> None:
    await house.say("one")
    await house.say("/reset")
    await house.say("two")
    await house.say("/resume")
    await house.say("three")
    await house.say("/resume two")
    await house.say("four")
    assert [asked.history[:1] for asked in house.stage.asked] == [(), (), (("user", "one"),), (("user", "two"),)]


async def test_another_writer_makes_the_cached_agent_stale(house: House) -> None:
    await house.say("one")
    session = (await house.session()).id

    def write(tx: Tx) -> None:
        draft = Draft(kind=Kind.ASSISTANT, text="from elsewhere")
        entries.append(tx, sessions.get(tx, session), [draft], house.clock.now())

    await house.store.write(write)
    await house.say("two")
    assert house.stage.asked[-1].history == (("user", "one"), ("assistant", "re: one"), ("assistant", "from elsewhere"))
    assert house.core.cache.misses["head"] == 1


async def test_a_notice_does_not_move_the_head(house: House) -> None:
    await house.say("one")
    session = (await house.session()).id

    def write(tx: Tx) -> None:
        entries.append(tx, sessions.get(tx, session), [Draft(kind=Kind.NOTICE, text="n")], house.clock.now())

    await house.store.write(write)
    await house.say("two")
    assert house.core.cache.hits == 1


async def test_a_changed_configuration_makes_a_new_agent(house: House) -> None:
    await house.say("one")
    spec = house.core.agents.specs["default"]

    house.core.agents.specs["default"] = replace(spec, digest="another")
    await house.say("two")
    assert house.core.cache.misses["digest"] == 1
    assert house.stage.asked[-1].agent == 2
    assert len(house.stage.asked[-1].history) == 2


async def test_an_agent_from_before_a_reset_misses_even_if_nobody_evicted_it(house: House) -> None:
    await house.say("one")
    conversation = await house.conversation()
    cached = house.core.cache._agents[conversation.id]  # what an eviction that was missed leaves
    await house.say("/reset")
    house.core.cache.put(conversation.id, cached, house.clock.monotonic())
    await house.say("two")
    assert house.core.cache.misses["session"] == 1
    assert house.stage.asked[-1].history == ()


async def test_failed_and_stopped_turns_keep_no_agent(house: House) -> None:
    house.stage.on("fails", raises(AgentError("x"), "half"))
    await house.say("one")
    await house.say("fails")
    assert len(house.core.cache) == 0
    await house.say("three")
    assert house.stage.asked[-1].history == (
        ("user", "one"), ("assistant", "re: one"), ("user", "fails"), ("assistant", "half"),
    )  # fmt: skip


async def test_the_cache_is_bounded_and_forgets_who_was_quiet_longest(furnish: Furnish) -> None:
    house = await furnish(cache={"agents": 2, "idle_minutes": 10})
    for user in ("1", "2", "3", "2"):
        await house.say("x", user=user)
    assert len(house.core.cache) == 2
    assert house.core.cache.evictions == 1
    await house.say("x", user="1")
    assert house.core.cache.misses["absent"] == 4
    await house.clock.leap(300)
    await house.say("x", user="2")
    await house.clock.leap(301)
    await house.chores.agents()
    assert len(house.core.cache) == 1
    await house.clock.leap(600)
    await house.chores.agents()
    assert len(house.core.cache) == 0


async def test_c61_hundreds_of_resets_leave_nothing_behind(house: House) -> None:

    for number in range(150):
        await house.say(f"turn {number}")
        await house.say("/new")
        if number == 50:
            gc.collect()
            tasks, objects = len(asyncio.all_tasks()), len(gc.get_objects())
    gc.collect()
    assert len(asyncio.all_tasks()) == tasks
    assert len(house.core.cache) == 0
    assert house.core.outbox._lanes == {}  # what would grow
    assert house.desk.router._boxes == {}
    house.stage.asked.clear()
    house.bot.calls.clear()
    assert len(gc.get_objects()) < objects * 1.2 + 5000


async def test_undo_takes_back_messages_and_answers(house: House) -> None:
    for text in ("one", "two", "three"):
        await house.say(text)
    await house.say("/undo 2")
    assert house.seen()[-1] == "Took back 2 messages and what was answered."
    await house.say("four")
    await house.say("/undo")
    await house.say("/undo")
    await house.say("five")
    assert [asked.history for asked in house.stage.asked[-2:]] == [(("user", "one"), ("assistant", "re: one")), ()]
    assert len([kind for kind, _ in await house.told() if kind == "rewind"]) == 3


@pytest.mark.parametrize("argument", ["0", "-1", "x", "99999999", "1.5", "\u0662x"])
async def test_undo_of_nonsense_says_how(house: House, argument: str) -> None:
    await house.say("one")
    await house.say(f"/undo {argument}")
    assert house.seen()[-1] == "Use /undo or /undo NUMBER."
    assert "rewind" not in [kind for kind, _ in await house.told()]


async def test_undo_of_more_than_there_is_takes_nothing(house: House) -> None:
    await house.say("/undo")
    await house.say("one")
    await house.say("/undo 2")
    assert house.seen()[0] == "There is nothing to take back."
    assert house.seen()[-1].startswith("There are not so many messages")
    await house.say("two")
    assert len(house.stage.asked[-1].history) == 2


async def test_undo_reaches_no_further_than_a_clear(house: House) -> None:
    await house.say("one")
    await house.say("/clear")
    await house.say("/undo")
    assert house.seen()[-1] == "There is nothing to take back."
    await house.say("two")
    await house.say("/undo")
    await house.say("three")
    assert house.stage.asked[-1].history == ()


async def test_retry_answers_the_last_message_anew(house: House) -> None:
    house.stage.on("q", count_history)
    await house.say("one")
    await house.say("q")
    await house.say("/retry")
    await house.say("/retry")
    assert house.seen() == ["re: one", "2 before", "2 before", "2 before"]

    seen = [(str(entry.kind), entry.text) for entry in for_people(await house.log())]
    assert seen == [("user", "one"), ("assistant", "re: one"), ("user", "q"), ("assistant", "2 before")]
    await house.say("/export")
    assert house.seen()[-1].count("2 before") == 1


async def test_retry_of_nothing_says_so(house: House) -> None:
    await house.say("/retry")
    assert house.seen() == ["There is nothing to try again."]


async def test_clear_lets_the_agent_forget_and_people_remember(house: House) -> None:
    await house.say("one")
    await house.say("/clear")
    await house.say("two")
    assert house.stage.asked[-1].history == ()
    await house.say("/export")
    assert "re: one" in house.seen()[-1]
    assert (await house.session()).messages == 2


async def test_a_long_log_is_undone_from_its_end(house: House) -> None:
    for number in range(120):
        await house.say(f"m{number}", sent_at=house.clock.now())
    await house.say("/undo 110")
    await house.say("next")
    assert house.stage.asked[-1].history[-1] == ("assistant", "re: m9")
