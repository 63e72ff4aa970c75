"""Another model in the middle of a session, fallbacks of other providers, one connection for all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.fakes.models.record import Request
from tests.fakes.models.replies import Call, Cut, Empty, Fail, Garbage, Gate, Reply, Say, Steps, Think
from tests.fakes.models.server import ModelServer
from tests.flow.house import House
from tests.models.conftest import ModelHouse, agent_of
from tests.models.watching import printed

CHAT, MESSAGES, RESPONSES = "openai:gpt-test", "anthropic:claude-sonnet-4-6", "openai-responses:gpt-5.1"
CHANGES = [(one, other) for one in (CHAT, MESSAGES, RESPONSES) for other in (CHAT, MESSAGES, RESPONSES) if one != other]


async def move(house: House, server: ModelServer, model: str, **options: object) -> None:
    """The house is started again with another model."""
    await house.die()
    house.options["agents"] = {"default": agent_of(server, model=model, **options)}
    await house.open()


@pytest.mark.parametrize(("one", "other"), CHANGES)
async def test_another_model_goes_on_with_the_session(
    furnish: ModelHouse, server: ModelServer, one: str, other: str
) -> None:
    thoughts, call = Think("What time may it be?"), Call("current_time")
    server.on("talking", Steps((thoughts, Say("Let me see."), call, call), (Think("So."), Say("Noon."))))
    server.on("silent", Steps((thoughts, call), (Think("So."), Say("Noon."))))
    server.on("stopped", (Think("Hm."), Say("Once upon a time"), Cut()))
    house = await furnish(model=one, settings={"reasoning": "low"})
    for word in ("talking", "silent", "stopped"):
        await house.ask(word)
    before = house.seen()
    await move(house, server, other, settings={"reasoning": "low"})
    with printed() as log:
        await house.ask("hello")
    [said] = log.named("history_not_readable")
    assert said["parts"] == 4
    assert server.requests[-1].status == 200
    assert not any(message.thinking for message in server.requests[-1].messages)
    await house.ask("silent")
    await move(house, server, one)
    await house.ask("back again")
    assert house.heard_since(before) == ["re: hello", "Noon.", "re: back again"]


async def test_newer_models_of_a_provider_read_what_older_ones_thought(
    furnish: ModelHouse, server: ModelServer
) -> None:
    server.on("time", Steps((Think("Let me see."), Call("current_time")), (Think("So."), Say("Noon."))))
    house = await furnish(model=MESSAGES, settings={"reasoning": "low"})
    await house.ask("time?")
    await move(house, server, "anthropic:claude-opus-5-5")
    with printed() as log:
        await house.ask("hello")
        await house.ask("time again?")
        await house.ask("bye")
    assert log.named("history_not_readable") == []
    assert house.seen() == ["Noon.", "re: hello", "Noon.", "re: bye"]


@pytest.mark.parametrize("kind", ["hello", "time"])
async def test_an_id_of_another_kind_is_no_hindrance(furnish: ModelHouse, server: ModelServer, kind: str) -> None:
    strange = Call("current_time", {}, "functions.current_time:0")
    server.on("time", Steps(strange, (Say("Again."), strange), Say("Noon.")))
    house = await furnish()
    await house.ask("time?")
    await house.ask("time once more?")
    await move(house, server, MESSAGES)
    await house.ask(kind)
    assert house.seen()[-1] == "re: hello" if kind == "hello" else "Noon."


@pytest.mark.parametrize("second", ["openai:gpt-test", "openai-responses:gpt-5.1", "anthropic:claude-opus-5-5"])
@pytest.mark.parametrize("first", ["openai:gpt-other", "openai-responses:gpt-5.2", MESSAGES])
async def test_a_fallback_goes_on_in_the_middle_of_anothers_turn(
    furnish: ModelHouse, server: ModelServer, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    """The first one thinks, calls a tool and dies; the second one answers; then the first one is back."""
    _found_in_the_environment(monkeypatch, server)

    def asked_for_the_time(model: str) -> Callable[[Request], bool]:
        return lambda request: request.model == model.partition(":")[2] and "time" in request.last_user

    server.on(
        asked_for_the_time(first), Steps((Think("Let me see."), Say("Well."), Call("current_time")), Fail("overloaded"))
    )
    server.on(asked_for_the_time(second), Steps(Say("?"), (Think("So."), Say("Noon."))))
    house = await furnish(model=first, fallbacks=[second], settings={"reasoning": "low"})
    await house.ask("time?")
    await house.ask("hello")
    await house.ask("time again?")
    await house.ask("bye")
    assert [text.removeprefix("Well.").strip() for text in house.seen()] == ["Noon.", "re: hello", "Noon.", "re: bye"]
    refused = [request.error for request in server.requests if 400 <= request.status < 500]
    assert refused == []
    kinds = [kind for kind, _ in await house.told()]
    assert kinds[:5] == ["user", "assistant", "tool_call", "tool_result", "assistant"]


def _found_in_the_environment(monkeypatch: pytest.MonkeyPatch, server: ModelServer) -> None:
    """Where the SDKs look for what is not configured; the agent's own address and key are its first model's."""
    for name, url in (("OPENAI", server.openai_url), ("ANTHROPIC", server.anthropic_url)):
        monkeypatch.setenv(f"{name}_BASE_URL", url)
        monkeypatch.setenv(f"{name}_API_KEY", server.key)


async def test_agents_of_one_configuration_share_a_connection(house: House, server: ModelServer) -> None:
    for n in range(5):
        await house.ask("hello", user=str(n))
    assert server.connections == 1


async def test_what_streams_at_once_does_not_wait_for_each_other(house: House, server: ModelServer) -> None:
    server.on("wait", Say("Well, "), Gate("rest"), Say("done."))
    waiting = [await house.offer(house.message("wait", user=str(n))) for n in range(20)]
    await server.until(lambda: server.gate("rest").waiting == 20)
    quick = await house.offer(house.message("quick", user="100"))
    await house.ended(quick)
    server.gate("rest").set()
    await asyncio.gather(*(house.desk.settled(said.row) for said in waiting))
    await house.idle()
    assert house.seen("100") == ["re: quick"]
    assert [house.seen(str(n)) for n in range(20)] == [["Well, done."]] * 20


@pytest.mark.parametrize("first", [Garbage(), Empty()])
async def test_a_fallback_answers_where_the_first_model_gives_no_usable_answer(
    furnish: ModelHouse, server: ModelServer, first: Reply
) -> None:
    server.on(lambda request: request.model == "gpt-test", first)
    house = await furnish(fallbacks=["openai:gpt-other"])
    await house.ask("please")
    assert house.seen() == ["re: please"]
    assert server.requests[-1].model == "gpt-other"
    assert await house.told() == [("user", "please"), ("assistant", "re: please")]


async def test_settings_go_with_every_request(furnish: ModelHouse, server: ModelServer) -> None:
    settings = {
        "temperature": 0.5, "top_p": 0.9, "max_tokens": 77, "seed": 3, "parallel_tool_calls": False,
        "extra": {"logit_bias": {"50256": -100}},
    }  # fmt: skip
    house = await furnish(settings=settings)
    await house.ask("hello")
    body = server.requests[-1].body
    sent = {name: body.get(name) for name in ("temperature", "top_p", "seed", "parallel_tool_calls", "logit_bias")}
    assert sent == {
        "temperature": 0.5, "top_p": 0.9, "seed": 3, "parallel_tool_calls": False, "logit_bias": {"50256": -100},
    }  # fmt: skip
    assert 77 in (body.get("max_tokens"), body.get("max_completion_tokens"))


@pytest.mark.parametrize(("model", "api"), [("openai:gpt-test", "chat"), ("openai-responses:gpt-test", "responses")])
async def test_with_a_base_url_openai_means_chat_completions(
    furnish: ModelHouse, server: ModelServer, model: str, api: str
) -> None:
    house = await furnish(model=model)
    await house.ask("hello")
    assert server.requests[-1].api == api
