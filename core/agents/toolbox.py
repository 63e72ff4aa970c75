"""The tools of one agent configuration: the desk's own, those of tool servers, and those that a client brought."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from pydantic_ai import RunContext, ToolDefinition
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, ExternalToolset, FunctionToolset, WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import to_json

from config.agents import ModelAgentSettings
from core.agents.agent import TurnContext
from core.agents.configured import Configured
from core.agents.crossing import Crossing
from core.agents.tool_names import DESK_TOOLS
from core.agents.tool_status import ToolServerStatus
from core.errors import FileRefused, StoreFull
from core.store.conversations import SessionId
from core.vocabulary import ClientTool

if TYPE_CHECKING:
    from core.agents.tool_server import ToolServer

FOUND_CHARS = 500
"""Characters of one entry that a search shows."""
_READ_ONLY = frozenset({"current_time", "search_conversations"})
OWN_IDLE_S = 900.0
"""How long a session's own tool server runs after its last turn."""


class Deps(Struct, frozen=True):
    """What a tool of the desk works with. `roots`: the folders from which files may be sent."""

    crossing: Crossing
    roots: tuple[Path, ...] = ()


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


async def send_files(ctx: RunContext[Deps], paths: list[str], caption: str = "") -> str:
    """Send files to the person who asks, as one message; they arrive before your answer does.

    Args:
        paths: One or more files in the folders from which files may be sent.
        caption: What stands under them.
    """
    roots = ctx.deps.roots

    async def hand_over(turn: TurnContext) -> tuple[Sequence[str], str]:
        try:
            return await turn.desk.hand_over(paths, caption, roots), ""
        except (FileRefused, StoreFull) as why:  # for the model; what `ask` raises would end the turn
            return (), str(why)

    names, refused = await ctx.deps.crossing.ask(hand_over)
    if refused:
        raise ToolFailed(refused)
    return f"Sent: {', '.join(names)}"


class _Served(AbstractToolset[Deps]):
    """The tools of all servers, for one run. The first server keeps its names where two would have one name."""

    def __init__(self, servers: Sequence[ToolServer[Deps]]) -> None:
        self._servers = servers

    @property
    def id(self) -> str:
        return "servers"

    async def get_tools(self, ctx: RunContext[Deps]) -> dict[str, ToolsetTool[Deps]]:
        await asyncio.gather(*(server.list_tools(ctx) for server in self._servers))
        found: dict[str, ToolsetTool[Deps]] = {}
        for server in self._servers:
            found |= server.tools(self, {*DESK_TOOLS, *found})
        return found

    async def call_tool(
        self, name: str, tool_args: dict[str, object], ctx: RunContext[Deps], tool: ToolsetTool[Deps]
    ) -> object:
        server = next((one for one in self._servers if one.has(name)), None)
        if server is None:
            raise ToolFailed("There is no such tool any more.")
        return await server.call(name, tool_args, ctx)


@dataclass
class _Bounded(WrapperToolset[Deps]):
    """A call takes no longer, and gives no more, than it may; the model is told what was cut."""

    most_s: float
    most_chars: int

    async def call_tool(
        self, name: str, tool_args: dict[str, object], ctx: RunContext[Deps], tool: ToolsetTool[Deps]
    ) -> object:
        try:
            async with asyncio.timeout(self.most_s):
                result = await super().call_tool(name, tool_args, ctx, tool)
        except TimeoutError:
            raise ToolFailed(f"The tool did not answer within {self.most_s:g} s.") from None
        except ToolFailed as failed:
            raise ToolFailed(bound(failed.message, self.most_chars)) from failed
        return bounded(result, self.most_chars)


def bound(text: str, most: int) -> str:
    """The text, or its beginning with a word on what was cut."""
    return text if len(text) <= most else f"{text[:most]}\n[Cut: these are the first {most} of {len(text)} characters.]"


def bounded(result: object, most: int) -> object:
    """A tool's result: text and JSON bounded, files left as they are."""
    match result:
        case str():
            return bound(result, most)
        case list() if any(not isinstance(item, str | int | float | bool | dict | list | None) for item in result):
            return [bounded(item, most) for item in result]
        case dict() | list():
            dumped = to_json(result, fallback=str).decode()
            return result if len(dumped) <= most else bound(dumped, most)
        case _:
            return result


def desk_tools(settings: ModelAgentSettings) -> FunctionToolset[Deps]:
    """The desk's own, as far as an agent has them."""
    if not settings.tools:
        return FunctionToolset(id="desk")
    hands = [send_files] if settings.files else []
    return FunctionToolset([current_time, search_conversations, *hands], id="desk")


class Toolbox:
    """Lives on the agents' loop."""

    def __init__(self, agent: Configured) -> None:
        self._limits = agent.settings.limits
        self._mcp = agent.settings.mcp
        self._agent = agent
        self._desk = desk_tools(agent.settings)
        self._shared: list[ToolServer[Deps]] = []
        self._own: dict[tuple[str, SessionId], tuple[ToolServer[Deps], float]] = {}

    def start(self) -> None:
        """Start the servers that all sessions share."""
        self._shared = [self._open(i) for i, server in enumerate(self._mcp) if not server.per_session]

    def _open(self, index: int) -> ToolServer[Deps]:
        from core.agents.tool_server import ToolServer  # only those who use one wait the second that its import takes

        server: ToolServer[Deps] = ToolServer(self._mcp[index], self._agent.name, self._agent.proxy_url)
        server.start()
        return server

    def servers(self, session: SessionId) -> Sequence[ToolServer[Deps]]:
        """Those that all share, and the session's own, which start with its first turn."""
        now = asyncio.get_running_loop().time()
        own: list[ToolServer[Deps]] = []
        for index, settings in enumerate(self._mcp):
            if settings.per_session:
                key = (settings.name, session)
                server = self._own[key][0] if key in self._own else self._open(index)
                self._own[key] = (server, now)
                own.append(server)
        return [*self._shared, *own]

    def toolset(self, servers: Sequence[ToolServer[Deps]], brought: Sequence[ClientTool]) -> AbstractToolset[Deps]:
        """The tools for one turn. Those that a client brought go before ours of the same name."""
        if not self._agent.settings.tools:
            return self._desk
        sets: list[AbstractToolset[Deps]] = [self._desk, *([_Served(servers)] if servers else [])]
        whole = _Bounded(CombinedToolset(sets), most_s=self._limits.tool_s, most_chars=self._limits.tool_output_chars)
        asking = whole.approval_required(lambda _, tool, __: _needs_consent(servers, tool.name))
        if not brought:
            return asking
        client = ExternalToolset[Deps]([_definition(tool) for tool in brought], id="client")
        theirs = {tool.name for tool in brought}
        return CombinedToolset([asking.filtered(lambda _, tool: tool.name not in theirs), client])

    def is_read_only(self, servers: Sequence[ToolServer[Deps]], tool: str) -> bool:
        """May a call of it be made again after a crash?"""
        return tool in _READ_ONLY or any(server.is_read_only(tool) for server in servers)

    async def tidy(self) -> None:
        """Stop the servers of sessions that rest."""
        before = asyncio.get_running_loop().time() - OWN_IDLE_S
        for key in [key for key, (_, used) in self._own.items() if used < before]:
            server, _ = self._own.pop(key)
            await server.close()

    def status(self) -> list[ToolServerStatus]:
        """Of every server that runs."""
        return [server.status for server in (*self._shared, *(server for server, _ in self._own.values()))]

    async def close(self) -> None:
        """Stop what was started."""
        for server in (*self._shared, *(server for server, _ in self._own.values())):
            await server.close()


def _needs_consent(servers: Sequence[ToolServer[Deps]], tool: str) -> bool:
    return any(server.needs_consent(tool) for server in servers)


def _definition(tool: ClientTool) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name, description=tool.description, parameters_json_schema=json.loads(tool.schema)
    )  # fmt: skip
