"""A server of tools (https://modelcontextprotocol.io): started, watched, and started again when it died.

One task owns the connection; runs of agents use it and never enter it, so that none of them keeps a dead one alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Generic, TextIO, TypeVar

import httpx2
import structlog
from fastmcp.client.transports import StdioTransport
from mcp.shared.exceptions import MCPError
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.toolsets.abstract import AbstractToolset, ToolsetTool

from config.mcp import McpSettings
from core.agents.tls import context as tls
from core.agents.tool_names import distinct, renamed, told
from core.agents.tool_status import ToolServerStatus
from core.backoff import backoff_s
from core.errors import AgentError
from core.faultpoints import faultpoint

log = structlog.get_logger("frontdesk.tools")

D = TypeVar("D")

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
STEADY_S = 60.0
"""A server that was up for this long is started again at once when it dies."""
PING_S = 5.0
SAID_CHARS = 500
"""Of a line on a server's stderr that is logged."""
_FAULTS = (MCPError, ModelRetry, RuntimeError, ValueError, httpx2.HTTPError, OSError, TimeoutError)
"""What calls and lists raise where the server fails or says what it may not."""


class ToolServer(Generic[D]):
    """Lives on the agents' loop. `start` before anything else."""

    def __init__(self, settings: McpSettings, agent: str, proxy: str | None) -> None:
        self.settings = settings
        self._agent = agent
        self._proxy = proxy
        self._state = "starting"
        self._detail = ""
        self._toolset: MCPToolset[D] | None = None
        self._known: dict[str, ToolsetTool[D]] = {}
        """By the names that the model knows, as listed last."""
        self._listed: dict[str, ToolsetTool[D]] = {}
        """By their own names, as listed last."""
        self._renamed: dict[str, str] = {}
        self._tried = asyncio.Event()
        self._broken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def status(self) -> ToolServerStatus:
        detail = self._detail or told(self._renamed)
        return ToolServerStatus(
            agent=self._agent, name=self.settings.name, state=self._state, detail=detail, tools=len(self._known)
        )  # fmt: skip

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._live(), name=f"tools {self.settings.name}")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _live(self) -> None:
        failures = 0
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                await self._serve()
                self._detail = "it ended"
            except Exception as fault:  # noqa: BLE001  # agent: a server that fails is started again, and seen in status
                self._detail = _words(fault)
            self._state = "failed"
            self._tried.set()
            if loop.time() - began > STEADY_S:
                failures = 0
            wait_s = backoff_s(failures, FIRST_WAIT_S, LONGEST_WAIT_S)
            log.warning("tool_server_failed", server=self.settings.name, why=self._detail, wait_s=wait_s)
            await asyncio.sleep(wait_s)
            failures += 1

    async def _serve(self) -> None:
        self._broken.clear()
        async with self._opened() as toolset:
            await asyncio.wait_for(toolset.list_tools(), self.settings.timeout_s)
            self._toolset, self._state, self._detail = toolset, "up", ""
            self._tried.set()
            log.info("tool_server_up", server=self.settings.name)
            try:
                await self._broken.wait()
            finally:
                self._toolset = None

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[MCPToolset[D]]:
        async with AsyncExitStack() as stack:
            if self.settings.url is not None:
                client = await stack.enter_async_context(self._client())
                toolset = self._toolset_over(self.settings.url.reveal(), client)
                await stack.enter_async_context(toolset)
            else:
                ears, mouth = os.pipe()
                stack.push_async_callback(_end, asyncio.create_task(self._listen(ears), name="tool server's words"))
                with os.fdopen(mouth, "w") as words:
                    toolset = self._toolset_over(self._program(words), None)
                    await stack.enter_async_context(toolset)
            yield toolset

    def _toolset_over(self, way: str | StdioTransport, client: httpx2.AsyncClient | None) -> MCPToolset[D]:
        return MCPToolset(
            way, id=self.settings.name, tool_error_behavior="failed", init_timeout=self.settings.timeout_s,
            http_client=client,
        )  # fmt: skip

    def _program(self, words: TextIO) -> StdioTransport:
        """Of our environment it inherits what finds programs and homes (PATH, HOME, ...), and nothing else."""
        program, *arguments = self.settings.command or ()
        return StdioTransport(
            program, arguments, env={name: value.reveal() for name, value in self.settings.env.items()},
            cwd=str(self.settings.cwd) if self.settings.cwd is not None else None, keep_alive=False, log_file=words,
        )  # fmt: skip

    def _client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers={name: value.reveal() for name, value in self.settings.headers.items()},
            transport=httpx2.AsyncHTTPTransport(verify=tls(), proxy=self._proxy),
            timeout=httpx2.Timeout(self.settings.timeout_s, read=None),
            follow_redirects=True,
        )

    async def _listen(self, ears: int) -> None:
        """Log what the server says on its stderr. The end of it is the end of the server."""
        stream = asyncio.StreamReader(limit=1 << 20)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(ears, "rb", buffering=0)
        )
        with contextlib.closing(transport):
            while line := await _line(stream):
                log.info("tool_server_said", server=self.settings.name, line=line[:SAID_CHARS])
        self._broken.set()

    # for who asks whether it could be had

    async def look(self) -> Sequence[str]:
        """Start one, ask for its tools, and end it, whatever `start` keeps running; the names of those that may be
        used.

        Raises `AgentError` in the server's own words.
        """
        try:
            async with self._opened() as toolset:
                listed = await asyncio.wait_for(toolset.list_tools(), self.settings.timeout_s)
        except Exception as fault:
            raise AgentError(_words(fault)) from fault
        return [tool.name for tool in listed if self._offered(tool.name)]

    # for runs of agents

    async def list_tools(self, ctx: RunContext[D]) -> None:
        """Learn what there is; what there was last stays where it is down just now. Waits for its first start."""
        with contextlib.suppress(TimeoutError):  # it may take as long again to end
            await asyncio.wait_for(self._tried.wait(), self.settings.timeout_s)
        current = self._toolset
        if current is not None:
            try:
                self._listed = await current.get_tools(ctx)
            except _FAULTS as fault:
                await self._doubt(fault)

    def tools(self, toolset: AbstractToolset[D], taken: Collection[str]) -> dict[str, ToolsetTool[D]]:
        """What may be used of it, by the names that the model knows, none of which is `taken`. `toolset` is whose tools
        they are for the run."""
        own = [name for name in self._listed if self._offered(name)]
        named = distinct(self.settings.name, own, taken)
        self._known = {named[name]: self._listed[name] for name in own}
        self._renamed = renamed(self.settings.name, named)
        return {
            name: replace(tool, toolset=toolset, tool_def=replace(tool.tool_def, name=name))
            for name, tool in self._known.items()
        }

    def has(self, name: str) -> bool:
        """Is this a tool of it, by the name that the model knows?"""
        return name in self._known

    async def call(self, name: str, arguments: dict[str, object], ctx: RunContext[D]) -> object:
        """Call a tool by the name that the model knows. Raises `ToolFailed`, in words for the model, for whatever goes
        wrong."""
        faultpoint("tool_call.begun")
        current, tool = self._toolset, self._known.get(name)
        if current is None or tool is None:
            raise ToolFailed(f"The tool server {self.settings.name} does not run at the moment; it is being restarted.")
        try:
            return await current.call_tool(tool.tool_def.name, arguments, ctx, tool)
        except ToolFailed:
            _heed_cancellation()
            raise
        except _FAULTS as fault:
            _heed_cancellation()
            alive = await self._doubt(fault)
            known = "" if alive else " The server died; whether the call did its work is not known."
            raise ToolFailed(f"{_words(fault)}{known}") from fault

    async def _doubt(self, fault: Exception) -> bool:
        """Is it still there after that? If not, it is started again."""
        current = self._toolset
        if current is None:
            return False
        try:
            await asyncio.wait_for(current.client.ping(), PING_S)
        except _FAULTS:
            log.warning("tool_server_gone", server=self.settings.name, why=_words(fault))
            self._broken.set()
            return False
        return True

    def is_read_only(self, name: str) -> bool:
        return self._fits(name, self.settings.read_only)

    def needs_consent(self, name: str) -> bool:
        return self._fits(name, self.settings.consent)

    def _fits(self, name: str, patterns: tuple[str, ...]) -> bool:
        tool = self._known.get(name)
        return tool is not None and _any(tool.tool_def.name, patterns)

    def _offered(self, own_name: str) -> bool:
        allowed = not self.settings.allow or _any(own_name, self.settings.allow)
        return allowed and not _any(own_name, self.settings.deny)


def _heed_cancellation() -> None:
    """fastmcp loses a cancellation that meets the end of its call."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _words(fault: BaseException) -> str:
    """What went wrong, in one bounded line."""
    said = fault.message if isinstance(fault, ModelRetry) else str(fault)
    return " ".join((said or type(fault).__name__).split())[:SAID_CHARS]


async def _line(stream: asyncio.StreamReader) -> str:
    try:
        line = await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as end:
        line = end.partial
    except asyncio.LimitOverrunError as long:
        line = await stream.readexactly(long.consumed)
    return line.decode("utf-8", "replace").rstrip("\n") or ("" if not line else " ")


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
