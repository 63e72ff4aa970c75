"""Agents that a benchmark can look into: `backend = "tests.bench.agents:..."`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping

from core.agents.agent import Agent, AgentEvent, AgentSpec, Responded, TurnContext
from core.store.entries import Json
from core.vocabulary import TextDelta
from tests.fakes.agents_crash import closing

ASKED_S: list[float] = []
COMPLETE_S: list[float] = []
SHOWN: list[int] = []
"""Messages that the agent of each turn was shown, the new one among them."""

SLOW_S = 6.0

ANSWER = "Take the boat; the wind is fair."
RESPONSE: Mapping[str, Json] = {
    "parts": [{"part_kind": "text"}],
    "usage": {
        "input_tokens": 5, "cache_write_tokens": 0, "cache_write_1h_tokens": 0, "cache_read_tokens": 0,
        "output_tokens": 8, "output_reasoning_tokens": 0, "input_audio_tokens": 0, "cache_audio_read_tokens": 0,
        "output_audio_tokens": 0, "audio_seconds": 0.0,
        "details": {
            "accepted_prediction_tokens": 0, "audio_tokens": 0, "reasoning_tokens": 0, "rejected_prediction_tokens": 0,
        },
    },
    "model_name": "bench-at-once", "model_id": "openai:bench-at-once", "timestamp": "2026-06-01T12:00:01.314041Z",
    "provider_name": "openai", "provider_url": "http://127.0.0.1:38807/v1/", "canonical_system": "openai",
    "provider_details": {
        "timestamp": "2026-06-01T12:00:01Z", "service_tier": "default", "finish_reason": "stop",
    },
    "provider_response_id": "chatcmpl-79dda1bc85a0334ec7ee978a", "finish_reason": "stop", "state": "complete",
}  # fmt: skip
"""What a model agent stores with an answer: taken from the entry of one that an OpenAI model gave."""


class StampingAgent:
    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        ASKED_S.append(time.perf_counter())
        SHOWN.append(len(turn.history) + 1)
        yield TextDelta(text=ANSWER)
        COMPLETE_S.append(time.perf_counter())


class SlowAgent:
    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await asyncio.sleep(SLOW_S)
        yield TextDelta(text=ANSWER)


class TellingAgent:
    """Leaves entries as a model agent does, without a model."""

    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text=ANSWER)
        yield Responded(data=RESPONSE)


class ClosingAgent:
    """Ends its answer with the mark of the message, its last word, as the crash agent does."""

    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text=f"{ANSWER} {closing(turn.message.text.rpartition(' ')[2])}")


def with_marks(spec: AgentSpec) -> Agent:
    return ClosingAgent()


def telling(spec: AgentSpec) -> Agent:
    return TellingAgent()


def stamping(spec: AgentSpec) -> Agent:
    return StampingAgent()


def slow(spec: AgentSpec) -> Agent:
    return SlowAgent()
