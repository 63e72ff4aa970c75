"""An agent for the installed desk: `backend = "sleeper:make"`, a file of its own there, with nothing of the tests'.

"block SECONDS" stops the whole event loop, the first time that it is said; "wait SECONDS" only its own turn, each time.
All is answered by "done: " and what was said.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

from core.agents.agent import Agent, AgentSpec, TurnContext
from core.vocabulary import TextDelta

BLOCKED = Path(os.environ.get("STATE_DIRECTORY", "."), "blocked")
"""Outlives the process, so that the next one does not block as well."""


def block_once(seconds: float) -> None:
    if not BLOCKED.exists():
        BLOCKED.touch()
        time.sleep(seconds)


class Sleeper:
    async def run(self, turn: TurnContext) -> AsyncIterator[TextDelta]:
        verb, _, seconds = turn.message.text.partition(" ")
        if verb == "block":
            block_once(float(seconds))
        if verb == "wait":
            yield TextDelta(text="waiting, ")
            await asyncio.sleep(float(seconds))
        yield TextDelta(text=f"done: {turn.message.text}")


def make(spec: AgentSpec) -> Agent:
    return Sleeper()
