"""Whatever stands in a log, a provider accepts what is made of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai import direct
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from core.agents.transcript import messages_of
from core.store.entries import Kind
from core.store.history import for_model
from tests.fakes.models.server import ThreadedModelServer
from tests.flow.clock import START
from tests.models.making import Log
from tests.models.test_history import OPENAI, check, dumped, store

WITHIN = settings(max_examples=100, deadline=None)
OVER_SOCKETS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@dataclass(frozen=True)
class Wild:
    """A log made by anybody: several providers, agents without responses, kills at any moment."""

    log: Log


IDS = st.sampled_from(["a", "b", "call:1", "x" * 50, "functions.time:0"])
TEXTS = st.sampled_from(["words", "", "\n", "more words"])


@st.composite
def wild(draw: st.DrawFn, own: str) -> Wild:
    log, fresh = Log(), count()
    for n in range(draw(st.integers(1, 4))):
        log.user(f"message {n}", f"t{n}")
        for _ in range(draw(st.integers(0, 3))):
            _step(draw, log, own, fresh, f"t{n}")
        if draw(st.booleans()):
            log.add(Kind.NOTICE, "told", f"t{n}")
        if n and draw(st.integers(0, 3)) == 0:
            starts = [entry.seq for entry in log.entries if entry.kind is Kind.USER]
            log.summary("so far", draw(st.sampled_from(starts)) - 1 or 1, f"t{n}")
        if n and draw(st.integers(0, 5)) == 0:
            starts = [entry.seq for entry in log.entries if entry.kind is Kind.USER]
            log.add(Kind.REWIND, "undo", to=draw(st.sampled_from(starts)))
    log.user("and now?", "last")
    return Wild(log)


def _step(draw: st.DrawFn, log: Log, own: str, fresh: Iterator[int], turn: str) -> None:
    by = draw(st.sampled_from([own, "google", "nobody", "cut"]))
    if by == "cut":
        log.add(Kind.ASSISTANT, draw(TEXTS) or "cut", turn, cut="failed")
        return
    last = f"own_{next(fresh)}"
    ids = [last if by == own else draw(IDS) for _ in range(draw(st.integers(0, 3)))]
    if by == "nobody":
        for one in ids:
            log.call(one, turn=turn)
    else:
        thoughts = [ThinkingPart("hm", signature="c2ln", provider_name="google")] if by != own else []
        text = draw(TEXTS)
        said = [TextPart(text)] if text.strip() or by != own else []
        calls = [ToolCallPart("current_time", "{}", one) for one in ids]
        store(log, ModelResponse(parts=[*thoughts, *said, *calls], provider_name=by, timestamp=START), turn)
    for one in ids:
        if draw(st.integers(0, 3)):
            log.result(one, draw(TEXTS), turn)
    if draw(st.integers(0, 4)) == 0:
        log.user("steered", turn)


@WITHIN
@given(wild("openai"))
def test_whatever_the_log_the_messages_keep_the_rules(one: Wild) -> None:
    shown = for_model(one.log.entries)
    check(messages_of(shown, OPENAI).messages)
    check(messages_of(shown, frozenset({"google"})).messages)


@WITHIN
@given(wild("openai"))
def test_a_log_that_grew_begins_with_the_same_messages(one: Wild) -> None:
    """The prefix that providers cache: what follows changes nothing before it."""
    shown = for_model(one.log.entries)
    messages = messages_of(shown, OPENAI).messages
    log = Log()
    log.entries = [*shown]
    log.add(Kind.ASSISTANT, "an answer")
    log.user("and then?")
    grown = messages_of(log.entries, OPENAI).messages
    assert dumped(*_timeless(grown[: len(messages)])) == dumped(*_timeless(messages))


def _timeless(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Requests, and results that were made up, carry the time of their making, which no provider is told."""
    timeless: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            parts = [replace(one, timestamp=START) if isinstance(one, ToolReturnPart) else one for one in message.parts]
            timeless.append(replace(message, parts=parts, timestamp=START))
        else:
            timeless.append(message)
    return timeless


@pytest.fixture(scope="module")
def provider() -> Iterator[ThreadedModelServer]:
    with ThreadedModelServer() as server:
        yield server


def _model(server: ThreadedModelServer, api: str, client: httpx2.AsyncClient) -> Model:
    if api == "messages":
        anthropic = AnthropicProvider(base_url=server.anthropic_url, api_key=server.key, http_client=client)
        return AnthropicModel("claude-sonnet-4-6", provider=anthropic)
    openai = OpenAIProvider(base_url=server.openai_url, api_key=server.key, http_client=client)
    kind = OpenAIChatModel if api == "chat" else OpenAIResponsesModel
    return kind("gpt-test", provider=openai)


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_whatever_the_log_a_strict_provider_accepts_it(provider: ThreadedModelServer, api: str) -> None:
    async def ask(messages: list[ModelMessage]) -> None:
        response = await direct.model_request(model, messages)
        assert response.text == "re: and now?"

    with asyncio.Runner() as runner:
        client = httpx2.AsyncClient()
        model = _model(provider, api, client)

        @OVER_SOCKETS
        @given(wild(model.system))
        def accepted(one: Wild) -> None:
            runner.run(ask(messages_of(for_model(one.log.entries), frozenset({model.system})).messages))

        accepted()
        runner.run(client.aclose())
