"""The tools of one agent configuration: the desk's own and those of tool servers."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_ai import RunContext
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from config.agents import ModelAgentSettings
from core.agents.agent import TurnContext
from core.agents.crossing import Crossing

FOUND_CHARS = 500
"""Characters of one entry that a search shows."""


@dataclass(frozen=True, slots=True)
class Deps:
    """What a tool of the desk works with."""

    crossing: Crossing


async def current_time(ctx: RunContext[Deps]) -> str:
    """The date, time and zone of this conversation."""

    async def ask(turn: TurnContext) -> str:
        return f"{turn.desk.time():%A %Y-%m-%d %H:%M:%S %Z}"

    return await ctx.deps.crossing.ask(ask)


async def search_conversations(ctx: RunContext[Deps], words: str) -> str:
    """Find earlier messages of the person who asks.

    Args:
        words: Text that a message holds, as it was written; upper and lower case make no difference.
    """
    hits = await ctx.deps.crossing.ask(lambda turn: turn.desk.search(words))
    lines = [f"[{hit.at:%Y-%m-%d %H:%M} UTC, {hit.kind}] {hit.text[:FOUND_CHARS]}" for hit in hits.found]
    if not hits.complete:
        lines.append("(There may be more: the search stopped before it had seen everything.)")
    return "\n\n".join(lines) or "Nothing found."


class Toolbox:
    """Lives on the agents' loop."""

    def __init__(self, settings: ModelAgentSettings) -> None:
        self._settings = settings
        self._desk = FunctionToolset([current_time, search_conversations], id="desk")

    def toolset(self) -> AbstractToolset[Deps]:
        """The tools for one turn."""
        return self._desk

    def is_read_only(self, tool: str) -> bool:
        """May a call of it be made again after a crash?"""
        return tool in self._desk.tools

    async def close(self) -> None:
        """Stop what was started."""
