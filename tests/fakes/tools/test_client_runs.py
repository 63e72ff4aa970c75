"""What runs of pydantic-ai's agents do with a toolset that they share, and with its errors."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator

import pytest
from fastmcp.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from pydantic_ai import Agent
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import BinaryImage, FunctionToolResultEvent, ModelMessage, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.tools import ToolDefinition

from tests.fakes.tools.catalogue import TOOLS
from tests.fakes.tools.conftest import OverStdio
from tests.fakes.tools.front import HttpToolServer
from tests.fakes.tools.journal import Cancelled, Exited, Journal, Opened, Started
from tests.fakes.tools.test_client_stdio import leave


class Caller:
    """A model that calls one tool so many times and is content with whatever comes back."""

    def __init__(self, tool: str, times: int = 1, **arguments: object) -> None:
        self.definitions: dict[str, ToolDefinition] = {}
        self._tool = tool
        self._arguments = json.dumps(arguments)
        self._times = times

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        self.definitions = {definition.name: definition for definition in info.function_tools}
        asked = len(messages) // 2
        if asked < self._times:
            yield {0: DeltaToolCall(name=self._tool, json_args=self._arguments, tool_call_id=f"call-{asked}")}
        else:
            yield "done"

    async def run(self, toolset: MCPToolset[None]) -> list[ToolReturnPart]:
        """What the calls were answered."""
        agent = Agent(FunctionModel(stream_function=self.stream), deps_type=type(None), toolsets=[toolset])
        results = []
        async with agent.run_stream_events("go") as events:
            async for event in events:
                if isinstance(event, FunctionToolResultEvent):
                    assert isinstance(event.part, ToolReturnPart)
                    results.append(event.part)
        return results


class Owner:
    """A task that is inside a toolset."""

    def __init__(self, toolset: MCPToolset[None]) -> None:
        self._toolset = toolset
        self._inside = asyncio.Event()
        self._enough = asyncio.Event()
        self.task = asyncio.create_task(self._own())

    async def _own(self) -> None:
        async with self._toolset:
            self._inside.set()
            await self._enough.wait()

    async def inside(self) -> None:
        await self._inside.wait()

    async def leave(self) -> None:
        self._enough.set()
        await self.task


@pytest.fixture(params=["stdio", "http"])
def toolset(request: pytest.FixtureRequest, over_stdio: OverStdio, journal: Journal) -> Iterator[MCPToolset[None]]:
    if request.param == "stdio":
        yield over_stdio()
        return
    with HttpToolServer(journal=journal.path) as server:
        yield MCPToolset[None](server.url)


async def test_annotations_are_in_the_definitions_metadata(over_stdio: OverStdio) -> None:
    caller = Caller("echo", text="x")
    await caller.run(over_stdio())
    assert list(caller.definitions) == list(TOOLS)
    hints = {name: (definition.metadata or {})["annotations"] for name, definition in caller.definitions.items()}
    assert hints["read_note"]["readOnlyHint"] is True
    assert hints["read_note"]["destructiveHint"] is None
    assert hints["delete_everything"]["destructiveHint"] is True
    assert hints["fail"] is None


async def test_a_toolset_that_nobody_entered_starts_a_server_for_each_run(
    over_stdio: OverStdio, journal: Journal
) -> None:
    toolset = over_stdio()
    for _ in range(2):
        assert (await Caller("count").run(toolset))[0].content == "1"
    assert (len(journal.of(Started)), len(journal.of(Exited))) == (2, 2)


async def test_one_task_owns_a_toolset_and_many_runs_share_it(toolset: MCPToolset[None], journal: Journal) -> None:
    owner = Owner(toolset)
    await owner.inside()
    results = await asyncio.gather(*(Caller("echo", text=f"{number}").run(toolset) for number in range(10)))
    assert [result[0].content for result in results] == [str(number) for number in range(10)]
    assert len(journal.of(Opened)) == 1
    await owner.leave()


async def test_a_toolset_can_be_entered_in_one_task_and_left_in_another(toolset: MCPToolset[None]) -> None:
    await asyncio.create_task(toolset.__aenter__())
    assert (await Caller("echo", text="x").run(toolset))[0].content == "x"
    await asyncio.create_task(leave(toolset))
    assert not toolset.client.is_connected()


async def test_a_cancelled_owner_leaves(toolset: MCPToolset[None]) -> None:
    owner = Owner(toolset)
    await owner.inside()
    owner.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await owner.task
    assert not toolset.is_running


async def test_an_owner_that_leaves_does_not_end_the_runs_that_are_inside(
    toolset: MCPToolset[None], journal: Journal
) -> None:
    owner = Owner(toolset)
    await owner.inside()
    run = asyncio.create_task(Caller("slow", gate_file="/none").run(toolset))
    await journal.until(lambda now: bool(now.calls("slow")))
    await owner.leave()
    assert toolset.is_running
    assert not run.done()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert not toolset.is_running


async def test_cancelling_a_run_cancels_its_call_at_the_server_and_no_other(
    toolset: MCPToolset[None], journal: Journal
) -> None:
    async with toolset:
        runs = [asyncio.create_task(Caller("slow", gate_file="/none").run(toolset)) for _ in range(2)]
        await journal.until(lambda now: len(now.calls("slow")) == 2)
        runs[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await runs[0]
        await journal.until(lambda now: len(now.of(Cancelled)) == 1)
        assert not runs[1].done()
        runs[1].cancel()
        await asyncio.wait(runs)


async def test_a_death_reaches_every_run_with_a_call_as_a_retry(toolset: MCPToolset[None], journal: Journal) -> None:
    async with toolset:
        waiting = asyncio.create_task(Caller("slow", gate_file="/none").run(toolset))
        await journal.until(lambda now: bool(now.calls("slow")))
        crashed = await Caller("crash").run(toolset)
        for part in (*crashed, *await waiting):
            assert part.outcome == "retried"
            assert part.content in ("Connection closed", "SSE stream ended without a response")


async def test_pictures_and_structures_reach_the_run(over_stdio: OverStdio) -> None:
    async with over_stdio() as toolset:
        assert isinstance((await Caller("picture").run(toolset))[0].content, BinaryImage)
        assert (await Caller("structured").run(toolset))[0].content == {"town": "Delft", "degrees": 17, "windy": True}


async def test_failed_lets_a_tool_fail_often_and_retry_and_error_end_the_run(over_stdio: OverStdio) -> None:
    async with over_stdio() as toolset:
        with pytest.raises(UnexpectedModelBehavior, match="exceeded max retries count of 1"):
            await Caller("fail", 3, message="no").run(toolset)
        toolset.tool_error_behavior = "failed"
        parts = await Caller("fail", 3, message="no").run(toolset)
        assert [(part.outcome, part.content) for part in parts] == [("failed", "no")] * 3
        toolset.tool_error_behavior = "error"
        with pytest.raises(ToolError, match="no"):
            await Caller("fail", message="no").run(toolset)


async def test_a_dead_server_ends_a_run_at_the_second_call_even_with_failed(
    over_stdio: OverStdio, journal: Journal
) -> None:
    async with over_stdio(tool_error_behavior="failed") as toolset:
        await toolset.list_tools()
        os.kill(journal.of(Started)[0].pid, signal.SIGKILL)
        with pytest.raises(UnexpectedModelBehavior, match="exceeded max retries count of 1"):
            await Caller("echo", 2, text="x").run(toolset)


async def test_a_dead_server_whose_tools_are_not_cached_ends_a_run_at_its_start(
    over_stdio: OverStdio, journal: Journal
) -> None:
    async with over_stdio(tool_error_behavior="failed") as toolset:
        os.kill(journal.of(Started)[0].pid, signal.SIGKILL)
        with pytest.raises(MCPError, match="Connection closed"):
            await Caller("echo", text="x").run(toolset)
