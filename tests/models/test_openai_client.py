"""What is left out of OpenAI's SDK changes no request."""

from __future__ import annotations

import base64

import httpx2
import pytest
from openai import AsyncOpenAI
from pydantic_ai import direct
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from core.agents.openai_client import Client
from tests.fakes.models.server import ModelServer

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TALK: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart("What time is it?")], instructions="Sail."),
    ModelResponse(parts=[ThinkingPart("Hm."), TextPart("Let me see."), ToolCallPart("look", {"at": ["a"]}, "call_1")]),
    ModelRequest(parts=[ToolReturnPart("look", {"noon": True, "none": None}, "call_1")]),
    ModelResponse(parts=[TextPart("Noon.")]),
    ModelRequest(
        parts=[UserPromptPart(["And this, ä?", BinaryContent(PIXEL, media_type="image/png"), ImageUrl("https://a.b/c.png")])]
    ),
]  # fmt: skip
TOOL = ToolDefinition(
    name="look", description="Looks.",
    parameters_json_schema={
        "type": "object", "properties": {"at": {"type": "array", "items": {"type": "string"}}}, "required": ["at"],
        "additionalProperties": False,
    },
)  # fmt: skip


def _model(kind: type[OpenAIChatModel] | type[OpenAIResponsesModel], client: AsyncOpenAI) -> Model:
    return kind("gpt-test", provider=OpenAIProvider(openai_client=client))


async def _ask(model: Model) -> None:
    settings = ModelSettings(
        max_retries=0, temperature=0.5, max_tokens=100, parallel_tool_calls=False, extra_body={"user": "u1"}
    )
    tools = ModelRequestParameters(function_tools=[TOOL], allow_text_output=True)
    async with direct.model_request_stream(
        model, TALK, model_settings=settings, model_request_parameters=tools
    ) as events:
        async for _ in events:
            pass


@pytest.mark.parametrize("kind", [OpenAIChatModel, OpenAIResponsesModel])
async def test_the_same_goes_out(server: ModelServer, kind: type[OpenAIChatModel] | type[OpenAIResponsesModel]) -> None:
    async with httpx2.AsyncClient() as http:
        url = httpx2.URL(server.openai_url)
        await _ask(_model(kind, AsyncOpenAI(base_url=url, api_key=server.key, http_client=http)))
        await _ask(_model(kind, Client(base_url=url, api_key=server.key, http_client=http, max_retries=0)))
    theirs, ours = server.requests
    assert (theirs.status, ours.status) == (200, 200)
    assert ours.body == theirs.body
    assert ours.headers == theirs.headers


def test_it_serves_every_request_itself() -> None:
    client = Client(base_url=httpx2.URL("http://localhost"), api_key="k", max_retries=0)
    assert client.with_options(max_retries=0) is client
    assert client.with_options(max_retries=2).max_retries == 2
