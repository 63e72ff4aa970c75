"""Where a turn ends that does not end by itself: silence, loops, tokens, time."""

from __future__ import annotations

import pytest

from core.store.entries import Kind
from tests.fakes.models.replies import Call, Gate, Hang, HangPlace, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.flow.house import House
from tests.models.conftest import ModelHouse
from tests.models.test_faults import MODELS, is_notice
from tests.models.watching import followed, usage

SOON = {"connect_s": 0.3, "first_token_s": 0.3, "silence_s": 0.3, "retries": 0}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("place", ["connect", "headers", "first_token"])
async def test_a_model_that_says_nothing_is_not_waited_for(
    furnish: ModelHouse, server: ModelServer, model: str, place: HangPlace
) -> None:
    server.on("please", Hang(place))
    house = await furnish(model=model, limits=SOON)
    await house.ask("please")
    assert is_notice(house.seen()[0], "model_silent")
    await server.until(lambda: server.requests[0].disconnected)
    await house.ask("and now?")
    assert house.seen()[1:] == ["re: and now?"]


@pytest.mark.parametrize("model", MODELS)
async def test_a_model_that_falls_silent_is_not_waited_for(
    furnish: ModelHouse, server: ModelServer, model: str
) -> None:
    server.on("please", Say("Well, let me "), Hang("mid_stream"))
    house = await furnish(model=model, limits=SOON)
    await house.ask("please")
    [said, notice] = [text for kind, text in await house.told() if kind != "user"]
    assert said == "Well, let me "
    assert is_notice(notice, "model_silent")
    await server.until(lambda: server.requests[0].disconnected)
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("place", ["first_token", "mid_stream"])
async def test_signs_of_life_are_no_words(
    furnish: ModelHouse, server: ModelServer, model: str, place: HangPlace
) -> None:
    words = [Say("Well, ")] if place == "mid_stream" else []
    server.on("please", *words, Hang(place, ping_s=0.05))
    house = await furnish(model=model, limits=SOON)
    await house.ask("please")
    assert is_notice(house.seen()[-1], "model_silent")


async def test_nobody_answers_the_connection(furnish: ModelHouse, server: ModelServer) -> None:
    house = await furnish(limits=SOON)
    server.hold_connections()
    await house.ask("please")
    assert is_notice(house.seen()[0], "model_silent")


async def test_a_silent_model_is_asked_again(
    furnish: ModelHouse, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.agents.asking.FIRST_WAIT_S", 0.01)
    server.on(lambda request: "please" in request.last_user and request.number == 1, Hang("headers"))
    house = await furnish(limits={**SOON, "retries": 1})
    await house.ask("please")
    assert house.seen() == ["re: please"]


async def test_a_fallback_answers_for_a_silent_model(furnish: ModelHouse, server: ModelServer) -> None:
    server.on(lambda request: request.model == "gpt-test", Hang("first_token"))
    house = await furnish(limits=SOON, fallbacks=["openai:second"])
    await house.ask("please")
    assert house.seen() == ["re: please"]
    assert [request.model for request in server.requests] == ["gpt-test", "second"]


async def test_a_slow_answer_is_no_silence(furnish: ModelHouse, server: ModelServer) -> None:
    """Each piece comes within the limit, all of them together do not."""
    gates = [f"gate {n}" for n in range(4)]
    server.on("please", *(part for gate in gates for part in (Say(f"{gate} "), Gate(gate))))
    house = await furnish(limits={**SOON, "first_token_s": 5, "silence_s": 5})
    said = await house.offer(house.message("please"))
    async with followed(house, said) as seen:
        for n, gate in enumerate(gates):
            await seen.until_text("".join(f"{one} " for one in gates[: n + 1]))
            server.gate(gate).set()
        await house.ended(said)
    assert house.seen() == ["gate 0 gate 1 gate 2 gate 3"]


async def test_a_turn_takes_no_longer_than_the_desk_allows(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("please", Say("Well, let me "), Gate("never"))
    house = await furnish(desk={"desk": {"turn_timeout_s": 60}})
    said = await house.offer(house.message("please"))
    async with followed(house, said) as seen:
        await seen.until_text("Well, let me ")
        await house.advance(61)
        await server.until(lambda: server.requests[0].disconnected)
        await house.ended(said)
    assert is_notice(house.seen()[-1], "agent_timeout")
    assert [text for kind, text in await house.told() if kind == "assistant"] == ["Well, let me "]
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


async def test_a_model_that_calls_tools_for_ever_is_stopped(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("please", Call("current_time"))
    house = await furnish(limits={"iterations": 4})
    await house.ask("please")
    assert len(server.requests) == 4
    assert is_notice(house.seen()[-1], "turn_limit")
    kinds = [entry.kind for entry in await house.log()]
    assert kinds == [Kind.USER, *[Kind.TOOL_CALL, Kind.TOOL_RESULT] * 4, Kind.NOTICE]
    assert (await usage(house))["requests"] == 4
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


async def test_a_model_that_calls_wrongly_for_ever_is_stopped(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("please", Call("search_conversations", {"wrong": 1}))
    house = await furnish()
    await house.ask("please")
    assert len(server.requests) <= 7
    assert is_notice(house.seen()[-1], "model_useless")
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


async def test_a_turn_has_no_more_tokens_than_it_may(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("please", Steps(*[(Say("words " * 200), Call("current_time"))] * 9))
    house = await furnish(limits={"turn_tokens": 1000})
    await house.ask("please")
    assert is_notice(house.seen()[-1], "turn_limit")
    assert len(server.requests) < 5
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


@pytest.mark.parametrize("model", MODELS)
async def test_calls_of_one_response_are_stored_before_any_of_them_starts(
    furnish: ModelHouse, server: ModelServer, model: str
) -> None:
    calls = [Call("current_time"), Call("search_conversations", {"words": "hello"}), Call("current_time")]
    server.on("please", Steps((Say("Let me see."), *calls), Say("Done.")))
    house = await furnish(model=model)
    await house.ask("please")
    kinds = [entry.kind for entry in await house.log()]
    assert kinds == [
        Kind.USER, Kind.ASSISTANT, *[Kind.TOOL_CALL] * 3, *[Kind.TOOL_RESULT] * 3, Kind.ASSISTANT,
    ]  # fmt: skip
    log = await house.log()
    assert [entry.data["call"] for entry in log[2:5]] == list(dict.fromkeys(entry.data["call"] for entry in log[2:5]))
    assert {entry.data["call"] for entry in log[5:8]} == {entry.data["call"] for entry in log[2:5]}


async def test_an_id_that_comes_twice_in_a_turn_is_no_hindrance(house: House, server: ModelServer) -> None:
    """As small servers number their calls."""
    call = Call("current_time", {}, "call_0")
    server.on("please", Steps(call, (Say("Again."), call), call, Say("Done.")))
    await house.ask("please")
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"
    kinds = [entry.kind for entry in await house.log()]
    assert kinds.count(Kind.TOOL_CALL) == kinds.count(Kind.TOOL_RESULT) == 3
