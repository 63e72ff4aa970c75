"""A model that takes no tools is asked without them; servers refuse in words of their own."""

from __future__ import annotations

import json

import pytest

from config.agents import ModelAgentSettings
from config.secret import Secret
from core.agents.configured import Configured
from core.agents.trial import ask_model
from tests.fakes.models.payload import JsonObject, as_list
from tests.fakes.models.record import Request
from tests.fakes.models.replies import Call, Fail, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.flow.house import House
from tests.models.conftest import ModelHouse, agent_of
from tests.models.test_faults import is_notice
from tests.models.watching import printed

REFUSALS = {
    "Ollama": (400, "registry.ollama.ai/library/gemma3:4b does not support tools", "api_error"),
    "llama.cpp": (500, "tools param requires --jinja flag", "server_error"),
    "llama.cpp of 2024": (500, "Unsupported param: tools", "server_error"),
    "vLLM": (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "err"),
    "OpenRouter": (404, "No endpoints found that support tool use. To learn more, see the docs", "error"),
    "Mistral": (400, "Function calling is not enabled for this model", "invalid_request_error"),
    "DeepSeek": (400, "deepseek-reasoner does not support Function Calling", "invalid_request_error"),
    "OpenAI": (400, "tools is not supported in this model. For a list of models, see the docs", "err"),
}  # fmt: skip


def refuses(server: ModelServer, status: int, words: str, kind: str = "api_error", model: str = "") -> None:
    """From now on requests that offer tools are refused in these words."""
    body: JsonObject = {"error": {"message": words, "type": kind, "param": None, "code": None}}
    server.on(lambda request: bool(request.tools) and request.model.startswith(model), Fail(status, body=body))


@pytest.mark.parametrize("kind", REFUSALS)
async def test_r01_a_model_without_tools_answers_and_that_is_remembered(
    furnish: ModelHouse, server: ModelServer, kind: str
) -> None:
    refuses(server, *REFUSALS[kind])
    house = await furnish(limits={"retries": 0})
    with printed() as log:
        await house.ask("one")
        await house.ask("two")
    assert house.seen() == ["re: one", "re: two"]
    assert [bool(request.tools) for request in server.requests] == [True, False, False]
    [told] = log.named("model_takes_no_tools")
    assert told["why"] == REFUSALS[kind][1]
    [fault] = (await house.status())["faults"]
    assert "gpt-test takes no tools" in fault


@pytest.mark.parametrize(
    "words",
    [
        "Invalid schema for function 'search': 'object' is not of type 'string'",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
        "messages: Input should be a valid list",
        "model does not support image input",
    ],
)
async def test_r01_what_is_refused_for_another_reason_keeps_its_tools(
    furnish: ModelHouse, server: ModelServer, words: str
) -> None:
    refuses(server, 400, words)
    house = await furnish(limits={"retries": 0})
    await house.ask("please")
    assert is_notice(house.seen()[0], "model_rejected")
    assert [bool(request.tools) for request in server.requests] == [True]


async def test_r01_tools_false_offers_none_from_the_start(furnish: ModelHouse, server: ModelServer) -> None:
    refuses(server, 400, "no")
    house = await furnish(tools=False)
    await house.ask("please")
    assert house.seen() == ["re: please"]
    assert [request.tools for request in server.requests] == [()]
    assert "tool_choice" not in server.requests[0].body


async def test_r01_a_model_with_tools_behind_one_without_keeps_them(furnish: ModelHouse, server: ModelServer) -> None:
    refuses(server, 400, "gpt-test does not support tools", model="gpt-test")
    server.on(lambda request: request.model == "gpt-test" and not request.tools, Fail("overloaded"))
    house = await furnish(fallbacks=["openai:second"])
    await house.ask("please")
    assert house.seen() == ["re: please"]
    told = [(request.model, bool(request.tools)) for request in server.requests]
    assert told == [("gpt-test", True), ("gpt-test", False), ("second", True)]


async def test_r01_what_tools_gave_before_is_told_in_words(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("when", Steps(Call("current_time"), Say("Noon.")))
    house = await furnish(models=["openai:plain"], desk={"access": {"allow": ["telegram:7"]}})
    await house.ask("when?")
    refuses(server, 400, "plain does not support tools", model="plain")
    await house.ask("/model openai:plain")
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"
    shown = server.requests[-1]
    assert not _names_tools(shown)
    assert "result of the tool current_time" in json.dumps(shown.body["messages"])


def _names_tools(request: Request) -> bool:
    return any(
        "tool_calls" in json.dumps(one) or '"tool"' in json.dumps(one) for one in as_list(request.body["messages"])
    )


def settings_of(server: ModelServer, **more: object) -> Configured:
    given = {name: value for name, value in agent_of(server).items() if name != "api_key"}
    made = ModelAgentSettings(**{**given, "api_key": Secret(server.key), **more})  # type: ignore[arg-type]
    return Configured(name="default", digest="d", settings=made)


async def test_r01_the_probe_asks_as_a_turn_asks(house: House, server: ModelServer) -> None:
    await house.ask("please")
    assert await ask_model(settings_of(server), "openai:gpt-test") == ""
    turn, probe = server.requests
    assert probe.tools == turn.tools
    assert probe.body["tools"] == turn.body["tools"]


async def test_r01_the_probe_says_that_a_model_takes_no_tools(server: ModelServer) -> None:
    refuses(server, 400, "gemma does not support tools")
    assert await ask_model(settings_of(server), "openai:gpt-test") == "gemma does not support tools"
