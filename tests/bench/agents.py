"""Agents that a benchmark can look into: `backend = "tests.bench.agents:..."`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from core.agents.agent import Agent, AgentEvent, AgentSpec, TurnContext
from core.vocabulary import TextDelta

ASKED_S: list[float] = []
COMPLETE_S: list[float] = []
SHOWN: list[int] = []
"""Messages that the agent of each turn was shown, the new one among them."""

SLOW_S = 6.0


class StampingAgent:
    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        ASKED_S.append(time.perf_counter())
        SHOWN.append(len(turn.history) + 1)
        yield TextDelta(text="Take the boat; the wind is fair.")
        COMPLETE_S.append(time.perf_counter())


class SlowAgent:
    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await asyncio.sleep(SLOW_S)
        yield TextDelta(text="Take the boat; the wind is fair.")


def stamping(spec: AgentSpec) -> Agent:
    return StampingAgent()


def slow(spec: AgentSpec) -> Agent:
    return SlowAgent()
