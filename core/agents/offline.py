"""The agent that needs no model: it says so, and shows that the message reached the right session."""

from __future__ import annotations

from collections.abc import AsyncIterator

from core.agents.agent import Agent, AgentEvent, AgentSpec, TurnContext
from core.vocabulary import TextDelta

EXCERPT = 600
"""Characters of a message that are quoted."""


def quote(text: str) -> str:
    """The text as Markdown that shows it literally."""
    shown = text if len(text) <= EXCERPT else f"{text[:EXCERPT]}… ({len(text)} characters)"
    return "\n".join(f"> {line}" if line.strip() else ">" for line in shown.splitlines())


class OfflineAgent:
    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        answer = (
            f"No model is connected, so this is only the desk speaking. "
            f"Message {turn.number} of session {turn.session}:\n\n{quote(turn.message.text)}"
        )
        for line in answer.splitlines(keepends=True):
            yield TextDelta(text=line)
        for steered in await turn.steering():
            yield TextDelta(text=f"\n\nAnd then:\n\n{quote(steered.text)}")


def make(spec: AgentSpec) -> Agent:
    return OfflineAgent()
