"""The double as Pydantic AI sees it: each of its models, with a tool call and reasoning, over two turns."""

from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import TypeAlias

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent, AgentStreamEvent, ModelHTTPError, RunContext
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings, AnthropicStaleThinkingBlockWarning
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tests.fakes.models import Call, Fail, ModelServer, Say, Steps, Think

Making: TypeAlias = Callable[[AsyncOpenAI, AsyncAnthropic], Model]


def chat(openai: AsyncOpenAI, _: AsyncAnthropic) -> Model:
    return OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=openai))


def stored_responses(openai: AsyncOpenAI, _: AsyncAnthropic) -> Model:
    settings = OpenAIResponsesModelSettings(openai_reasoning_effort="low", openai_reasoning_summary="auto")
    return OpenAIResponsesModel("gpt-5.2", provider=OpenAIProvider(openai_client=openai), settings=settings)


def unstored_responses(openai: AsyncOpenAI, _: AsyncAnthropic) -> Model:
    settings = OpenAIResponsesModelSettings(openai_reasoning_summary="auto", openai_store=False)
    return OpenAIResponsesModel("gpt-5.2", provider=OpenAIProvider(openai_client=openai), settings=settings)


def messages(_: AsyncOpenAI, anthropic: AsyncAnthropic) -> Model:
    settings = AnthropicModelSettings(anthropic_thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=4096)
    return AnthropicModel("claude-haiku-4-5", provider=AnthropicProvider(anthropic_client=anthropic), settings=settings)


def binding_messages(_: AsyncOpenAI, anthropic: AsyncAnthropic) -> Model:
    provider = AnthropicProvider(anthropic_client=anthropic)
    return AnthropicModel("claude-opus-5-5", provider=provider, settings=AnthropicModelSettings(max_tokens=4096))


EVERY = [chat, stored_responses, unstored_responses, messages, binding_messages]


@pytest.fixture
def agent() -> Agent:
    made = Agent(instructions="Be kind.")

    @made.tool_plain
    def weather(city: str) -> str:
        """The weather there."""
        return f"sunny in {city}"

    return made


@pytest.fixture(params=EVERY, ids=lambda making: making.__name__)
async def model(request: pytest.FixtureRequest, openai: AsyncOpenAI, anthropic: AsyncAnthropic) -> AsyncIterator[Model]:
    making: Making = request.param
    yield making(openai, anthropic)


@pytest.mark.parametrize("streamed", [True, False])
async def test_two_turns_with_a_tool_and_reasoning(
    server: ModelServer, agent: Agent, model: Model, streamed: bool
) -> None:
    looking = (Think("hm hm"), Say("Looking."), Call("weather", {"city": "Ghent"}))
    server.on("weather", Steps(looking, (Think("aha"), Say("Sunny."))))

    async def watch(_: RunContext[object], events: AsyncIterable[AgentStreamEvent]) -> None:
        async for _event in events:
            continue

    watching = watch if streamed else None
    first = await agent.run("weather please", model=model, event_stream_handler=watching)
    assert first.output == "Sunny."
    second = await agent.run("thanks", model=model, message_history=first.all_messages(), event_stream_handler=watching)
    assert second.output == "re: thanks"
    assert server.requests[-1].talk == (
        ("system", "Be kind."),
        ("user", "weather please"),
        ("assistant", 'Looking.\nweather({"city":"Ghent"})'),
        ("tool", "sunny in Ghent"),
        ("assistant", "Sunny."),
        ("user", "thanks"),
    )
    assert [(request.status, request.stream) for request in server.requests] == [(200, streamed)] * 3
    assert server.requests[-1].tools == ("weather",)


async def test_failures_come_with_their_status(server: ModelServer, agent: Agent, model: Model) -> None:
    server.on("fail", Fail("rate_limit"))
    with pytest.raises(ModelHTTPError) as failure:
        await agent.run("fail", model=model)
    assert failure.value.status_code == 429
    with pytest.raises(ModelHTTPError):
        async with agent.run_stream("fail", model=model):
            pass


async def test_a_changed_instruction_costs_a_binding_model_its_thinking(
    server: ModelServer, openai: AsyncOpenAI, anthropic: AsyncAnthropic
) -> None:
    server.on("think", Think("hm"), Say("so"))
    model = binding_messages(openai, anthropic)
    first = await Agent(model, instructions="It is 10 o'clock.").run("think")
    later = Agent(model, instructions="It is 11 o'clock.")
    with pytest.warns(AnthropicStaleThinkingBlockWarning):
        second = await later.run("go on", message_history=first.all_messages())
    await later.run("and on", message_history=second.all_messages())
    assert [request.status for request in server.requests] == [200, 400, 200, 200]
    assert [request.dropped for request in server.requests][2:] == [("messages.1.content.0",)] * 2


async def test_the_newest_version_takes_no_temperature_which_pydantic_ai_still_sends(anthropic: AsyncAnthropic) -> None:
    model = AnthropicModel("claude-haiku-4-5", provider=AnthropicProvider(anthropic_client=anthropic))
    with pytest.raises(ModelHTTPError, match="`temperature` is not supported in API version 2026-10-21"):
        await Agent(model).run("hello", model_settings={"temperature": 0.3, "max_tokens": 4096})
