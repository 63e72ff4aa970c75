"""An agent that sends the file that it is asked for, from anywhere: `backend = "tests.wire.handing_agent:make"`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from core.agents.agent import Agent, AgentEvent, AgentSpec, TurnContext
from core.errors import FileRefused
from core.vocabulary import TextDelta


class HandingAgent:
    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        try:
            [name] = await turn.desk.hand_over([turn.message.text], "", [Path("/")])
        except FileRefused as refusal:
            yield TextDelta(text=f"refused: {refusal}")
        else:
            yield TextDelta(text=f"sent: {name}")


def make(spec: AgentSpec) -> Agent:
    return HandingAgent()
