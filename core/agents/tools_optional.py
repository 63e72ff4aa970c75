"""A model that may turn out to take no tools. Ollama, llama.cpp and vLLM refuse every request that offers one where the
model, or the way the server was started, has no use for them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import structlog
from pydantic_ai import ModelSettings, RunContext
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel

from core.agents.provider_words import sentence

log = structlog.get_logger("frontdesk.agents")

_STATUSES = frozenset({400, 404, 405, 422, 500, 501})
"""404 is OpenRouter's, 500 that of llama.cpp of 2024."""
_TOOLS = r"(?:tools?\b|tool[ _-]?(?:use|calls?|calling|choice)\b|functions?\b|function[ _-]?(?:calls?|calling)\b)"
_REFUSALS = (
    rf"(?:not|n't|cannot|never|no \w+ found that) support\w*\b[^.;]{{0,40}}\b{_TOOLS}",
    rf"\b{_TOOLS}[^.;]{{0,40}}\b(?:not|n't) (?:\w+ )?(?:support\w*|enabled|available|allowed)",
    rf"\bunsupported\b[^.;]{{0,30}}\b{_TOOLS}",
    rf"\b{_TOOLS}[^.;]{{0,30}}\b(?:unsupported|disabled)",
    rf"\b{_TOOLS}[^.;]{{0,30}}\brequires? --?\w",
)
_REFUSES = re.compile("|".join(_REFUSALS), re.IGNORECASE)
"""Of Ollama ("MODEL does not support tools"), llama.cpp ("Unsupported param: tools", "tools param requires --jinja
flag"), vLLM ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'), Mistral
("Function calling is not enabled for this model"), OpenRouter ("No endpoints found that support tool use"), DeepSeek
("does not support Function Calling"). What is said of one tool alone ("Invalid schema for function") is none."""
_NO_ENDPOINTS = re.compile(r"\bno endpoints found that support tool use", re.IGNORECASE)


def refusal(fault: ModelAPIError) -> str:
    """The provider's sentence where it refuses tools as such; else ""."""
    if isinstance(fault, ModelHTTPError) and fault.status_code not in _STATUSES:
        return ""
    said = sentence(fault.body)
    return said if _REFUSES.search(said) or _NO_ENDPOINTS.search(said) else ""


class ToolsOptional(WrapperModel):
    """Offers tools until the provider refuses them as such, and asks without them from then on. `refused` is what the
    provider said then; "" until then. Lives as long as the configuration that it was made for."""

    def __init__(self, wrapped: Model) -> None:
        super().__init__(wrapped)
        self.refused = ""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        if not self.refused:
            try:
                return await self.wrapped.request(messages, model_settings, model_request_parameters)
            except ModelAPIError as fault:
                if not self._heed(fault, model_request_parameters):
                    raise
        bare = without_tools(messages), model_settings, _bare(model_request_parameters)
        return await self.wrapped.request(*bare)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[object] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        async with AsyncExitStack() as stack:
            yield await self._opened(stack, messages, model_settings, model_request_parameters, run_context)

    async def _opened(
        self,
        stack: AsyncExitStack,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        context: RunContext[object] | None,
    ) -> StreamedResponse:
        if not self.refused:
            try:
                return await stack.enter_async_context(
                    self.wrapped.request_stream(messages, settings, parameters, context)
                )
            except ModelAPIError as fault:
                if not self._heed(fault, parameters):
                    raise
        return await stack.enter_async_context(
            self.wrapped.request_stream(without_tools(messages), settings, _bare(parameters), context)
        )

    def _heed(self, fault: ModelAPIError, parameters: ModelRequestParameters) -> bool:
        """Is it to be asked again without tools?"""
        if not parameters.function_tools:
            return False
        self.refused = refusal(fault)
        if self.refused:
            log.warning("model_takes_no_tools", model=self.model_name, why=self.refused)
        return bool(self.refused)


def _bare(parameters: ModelRequestParameters) -> ModelRequestParameters:
    return replace(parameters, function_tools=[])


def without_tools(messages: list[ModelMessage]) -> list[ModelMessage]:
    """The same conversation for a model that knows no tools: calls and their results, which another model made, are
    told in words."""
    return [_without_tools(one) for one in messages]


def _without_tools(message: ModelMessage) -> ModelMessage:
    if isinstance(message, ModelResponse):
        if not message.tool_calls:
            return message
        said: list[ModelResponsePart] = [
            TextPart(f"(used the tool {one.tool_name})") if isinstance(one, ToolCallPart) else one
            for one in message.parts
        ]
        return replace(message, parts=said)
    if not any(isinstance(one, ToolReturnPart) for one in message.parts):
        return message
    results = [one for one in message.parts if isinstance(one, ToolReturnPart)]
    told = "\n\n".join(f"(result of the tool {one.tool_name})\n{one.model_response_str()}" for one in results)
    first = UserPromptPart(told, timestamp=results[0].timestamp)
    asked: list[ModelRequestPart] = [one for one in message.parts if not isinstance(one, ToolReturnPart)]
    return ModelRequest(parts=[first, *asked], instructions=message.instructions, timestamp=message.timestamp)
