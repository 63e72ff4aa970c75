"""What a provider has cached stays good: the next request begins with the bytes of the last one."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.fakes.models.payload import as_object, as_text
from tests.fakes.models.record import Request
from tests.fakes.models.replies import Call, Fail, Gate, Say, Steps, Think
from tests.fakes.models.server import ModelServer
from tests.flow.house import House
from tests.models.conftest import ModelHouse
from tests.models.watching import around, as_bytes, followed, sent

CHAT, MESSAGES, RESPONSES = "openai:gpt-test", "anthropic:claude-sonnet-4-6", "openai-responses:gpt-test"
MODELS = (CHAT, MESSAGES, RESPONSES)


def grows(before: Request, after: Request) -> None:
    """`after` says all that `before` said, and then more."""
    known = sent(before)
    assert len(sent(after)) > len(known)
    for index, (first, second) in enumerate(zip(known, sent(after), strict=False)):
        assert as_bytes(first) == as_bytes(second), f"message {index}"
    assert as_bytes(around(before)) == as_bytes(around(after))


def all_grow(server: ModelServer) -> None:
    for before, after in pairwise(server.requests):
        grows(before, after)


@pytest.mark.parametrize("model", MODELS)
async def test_the_prefix_stays_over_twenty_turns(furnish: ModelHouse, server: ModelServer, model: str) -> None:
    house = await furnish(model=model, instructions="Be brief. Say 'ä' often.")
    for n in range(1, 21):
        await house.ask(f"question {n}")
        await house.say("/status")
        assert len(sent(server.requests[-1])) == 2 * n - 1 + (model == CHAT)  # chat has its instructions among them
        await house.advance(61)
    assert len(server.requests) == 20
    all_grow(server)


@pytest.mark.parametrize("model", MODELS)
async def test_the_prefix_stays_over_a_restart(furnish: ModelHouse, server: ModelServer, model: str) -> None:
    house = await furnish(model=model)
    server.on("time", Steps((Say("Let me see."), Call("current_time")), Say("Noon.")))
    for n in range(6):
        await house.ask(f"question {n}" if n % 2 else f"what time is it, {n}?")
        await house.restart()
    all_grow(server)
    cold = house.core.cache.misses["absent"]
    await house.ask("and warm?")
    await house.ask("and warm again?")
    assert house.core.cache.misses["absent"] - cold == 1
    assert house.core.cache.hits == 1
    all_grow(server)


@pytest.mark.parametrize("model", MODELS)
async def test_the_prefix_stays_over_turns_with_tools(furnish: ModelHouse, server: ModelServer, model: str) -> None:
    house = await furnish(model=model)
    server.on("silent", Steps(Call("current_time"), Say("Noon.")))
    server.on("talking", Steps((Say("Let me see."), Call("current_time"), Call("current_time")), Say("Noon.")))
    server.on("twice", Steps(Call("current_time"), (Say("Again."), Call("current_time")), Say("Noon.")))
    server.on("blank", Steps((Say("\n\n"), Call("current_time")), Say("Noon.")))
    server.on("unknown", Steps(Call("no_such_tool", {"a": 1}), Say("I have no such tool.")))
    server.on("malformed", Steps(Call("search_conversations", {"wrong": 1}), Say("I can't search.")))
    server.on("nothing", Steps(Call("search_conversations", {"words": "nowhere to be found"}), Say("Nothing.")))
    for word in ("silent", "talking", "twice", "blank", "unknown", "malformed", "nothing", "plain"):
        await house.ask(word)
    assert house.seen()[-1] == "re: plain"
    assert not any("(reference" in text for text in house.seen())
    all_grow(server)


@pytest.mark.parametrize("model", MODELS)
async def test_arguments_that_are_no_json_are_told_to_the_model(
    furnish: ModelHouse, server: ModelServer, model: str
) -> None:
    house = await furnish(model=model)
    server.on("broken", Steps(Call("search_conversations", '{"words": "half'), Say("I can't search.")))
    await house.ask("broken")
    assert house.seen() == ["I can't search."]
    await house.ask("plain")
    assert house.seen()[-1] == "re: plain"
    all_grow(server)


@pytest.mark.parametrize("model", [MESSAGES, "openai-responses:gpt-5.1", CHAT])
async def test_thoughts_come_back_to_the_model_that_had_them(
    furnish: ModelHouse, server: ModelServer, model: str
) -> None:
    house = await furnish(model=model, settings={"reasoning": "low"})
    server.on("time", Steps((Think("The time? I have a tool."), Call("current_time")), (Think("So."), Say("Noon."))))
    await house.ask("time?")
    await house.ask("thanks")
    await house.restart()
    await house.ask("bye")
    assert house.seen() == ["Noon.", "re: thanks", "re: bye"]
    thoughts = [message.thinking for message in server.requests[-1].messages if message.role == "assistant"]
    assert thoughts[:2] == ["The time? I have a tool.", "So."]
    all_grow(server)


async def test_an_interrupted_answer_stays_as_it_was_shown(house: House, server: ModelServer) -> None:
    server.on("long", Say("Once upon a time "), Gate("never"))
    await house.ask("hello")
    said = await house.offer(house.message("long"))
    async with followed(house, said) as seen:
        await seen.until_text("Once upon a time ")
        await house.offer(house.message("/stop"))
    for n in range(3):
        await house.ask(f"and {n}?")
    assert [role for role, _ in server.requests[-1].talk][:4] == ["user", "assistant", "user", "assistant"]
    assert server.requests[-1].talk[3] == ("assistant", "Once upon a time ")
    all_grow(server)


async def test_a_turn_that_failed_leaves_what_was_asked(house: House, server: ModelServer) -> None:
    server.on("fails", Fail("bad_request"))
    await house.ask("hello")
    await house.ask("fails")
    await house.ask("and now?")
    _, before, after = (sent(request) for request in server.requests)
    assert after[:-1] == before[:-1]
    was, said = (as_text(as_object(one[-1])["content"]) for one in (before, after))
    assert said.startswith(f"{was}\n\n")
