"""A model answers: streaming, history, prefix."""

from __future__ import annotations

import json

from tests.fakes.models.replies import Filtered, Say, Think, Truncated
from tests.fakes.models.server import ModelServer
from tests.flow.house import House
from tests.models.conftest import ModelHouse


async def test_a_model_answers(house: House, server: ModelServer) -> None:
    server.on("hello", Say("Good day to you.", deltas=4))
    await house.ask("hello")
    assert house.seen() == ["Good day to you."]


async def test_in_turn_n_the_model_is_shown_2n_minus_1_messages(house: House, server: ModelServer) -> None:
    for n in range(1, 6):
        await house.ask(f"question {n}")
        talk = [shown for shown in server.requests[-1].talk if shown[0] != "system"]
        assert len(talk) == 2 * n - 1


async def test_an_answer_that_was_cut_at_its_length_says_so(house: House, server: ModelServer) -> None:
    server.on("long", Say("Once upon a time"), Truncated())
    await house.ask("a long story")
    text, remark = house.seen()
    assert text == "Once upon a time"
    assert "reached the length" in remark
    assert [kind for kind, _ in await house.told()] == ["user", "assistant", "notice"]
    await house.ask("go on")
    assert house.seen()[-1] == "re: go on"


async def test_an_answer_that_the_filter_ended_says_so(house: House, server: ModelServer) -> None:
    server.on("bomb", Say("First you"), Filtered())
    await house.ask("a bomb")
    assert house.seen()[0] == "First you"
    assert "filter" in house.seen()[1]


async def test_anthropic_is_asked_to_keep_the_beginning_of_the_prompt(furnish: ModelHouse, server: ModelServer) -> None:
    house = await furnish(model="anthropic:claude-haiku-4-5", instructions="Be brief.")
    await house.ask("hello")
    assert "cache_control" in json.dumps(server.requests[-1].body["system"])


async def test_what_a_model_thinks_is_shown_where_that_is_wanted(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("why", Think("Because\nof that."), Say("For reasons."))
    house = await furnish(show_thinking=True)
    await house.ask("why?")
    assert house.seen() == ["> Because\n> of that.\n\nFor reasons."]
    assert [text for kind, text in await house.told() if kind == "assistant"] == ["For reasons."]
    await house.ask("thanks")
    assert "Because" not in json.dumps([message.text for message in server.requests[-1].messages])


async def test_what_a_model_thinks_is_not_shown_else(house: House, server: ModelServer) -> None:
    server.on("why", Think("Because."), Say("For reasons."))
    await house.ask("why?")
    assert house.seen() == ["For reasons."]


async def test_a_model_that_can_not_be_made_is_told_and_seen_in_status(furnish: ModelHouse) -> None:
    house = await furnish(model="nonsense:gpt")
    await house.ask("hello")
    assert "not set up" in house.seen()[0]
    assert "Unknown provider: nonsense" in (await house.status())["faults"][0]


async def test_a_summary_that_is_too_long_is_cut(furnish: ModelHouse, server: ModelServer) -> None:
    server.set_context(8000)
    house = await furnish(context={"window": 8000})
    server.on("huge", Say("word " * 40_000, deltas=40))
    await house.ask("huge")
    await house.ask("next")
    assert house.seen()[-1] == "re: next"
