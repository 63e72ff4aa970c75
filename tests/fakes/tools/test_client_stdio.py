"""What pydantic-ai 2.68.0 with fastmcp-slim 4.2.3 and mcp 2.3.0 does with a server over stdio."""

import asyncio
import json
import logging
import os
import signal
from pathlib import Path

import mcp.client.stdio
import pytest
from fastmcp.client import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, REQUEST_TIMEOUT
from pydantic_ai import ModelRetry, ToolFailed
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import BinaryImage

from tests.fakes.tools.catalogue import TOOLS
from tests.fakes.tools.conftest import OverStdio
from tests.fakes.tools.journal import Cancelled, Exited, Journal, Opened, Started, command_line

ALWAYS_THERE = {"HOME", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}


async def echoed(toolset: MCPToolset[None], text: str = "x") -> object:
    return await toolset.direct_call_tool("echo", {"text": text})


async def leave(toolset: MCPToolset[None]) -> None:
    await toolset.__aexit__(None, None, None)


def code_of(error: pytest.ExceptionInfo[ModelRetry]) -> int:
    assert isinstance(error.value.__cause__, MCPError)
    return error.value.__cause__.code


# --- life


async def test_entering_starts_the_server(over_stdio: OverStdio, journal: Journal) -> None:
    toolset = over_stdio()
    assert not journal.of(Started)
    async with toolset:
        assert [(record.version, record.client) for record in journal.of(Opened)] == [("2025-11-25", "fastmcp")]
        assert toolset.instructions == "Prefer read_note."
        assert [tool.name for tool in await toolset.list_tools()] == list(TOOLS)


async def test_leaving_keeps_the_process_unless_keep_alive_is_false(over_stdio: OverStdio, journal: Journal) -> None:
    async with over_stdio(keep_alive=False) as toolset:
        await echoed(toolset)
    assert [record.why for record in journal.of(Exited)] == ["stdin closed"]
    kept = over_stdio(keep_alive=None)
    for expected in ("1", "2"):
        async with kept:
            assert await kept.direct_call_tool("count", {}) == expected
    assert (len(journal.of(Started)), len(journal.of(Exited))) == (2, 1)
    await kept.client.transport.close()
    assert len(journal.of(Exited)) == 2


async def test_a_failed_start_raises_a_closed_connection(over_stdio: OverStdio, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log:
        toolset = over_stdio("--fail-start", "1", log_file=log)
        with pytest.raises(MCPError) as failed:
            await toolset.__aenter__()
        assert failed.value.code == CONNECTION_CLOSED
        assert not toolset.is_running
        async with toolset:
            assert await echoed(toolset) == "x"


async def test_a_command_that_is_not_there_raises_a_runtime_error() -> None:
    toolset = MCPToolset[None](StdioTransport("/no/such/command", [], keep_alive=False))
    with pytest.raises(RuntimeError, match="No such file") as failed:
        await toolset.__aenter__()
    assert isinstance(failed.value.__cause__, FileNotFoundError)


async def test_a_start_that_takes_too_long_raises_a_runtime_error_and_leaves_no_process(
    over_stdio: OverStdio, journal: Journal
) -> None:
    toolset = over_stdio("--slow-start", "400", init_timeout=0.1)
    with pytest.raises(RuntimeError, match="Failed to initialize server session"):
        await toolset.__aenter__()
    assert len(journal.of(Exited)) == 1


async def test_a_start_can_be_cancelled_and_leaves_no_process(over_stdio: OverStdio, journal: Journal) -> None:
    toolset = over_stdio("--slow-start", "300")
    entering = asyncio.create_task(toolset.__aenter__())
    await journal.until(lambda now: bool(now.of(Started)))
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    assert not toolset.is_running
    assert len(journal.of(Exited)) == 1
    async with toolset:
        assert await echoed(toolset) == "x"


async def test_everyone_who_enters_a_failing_server_starts_it_anew_one_after_the_other(
    over_stdio: OverStdio, journal: Journal, tmp_path: Path
) -> None:
    toolset = over_stdio("--fail-start", "2", log_file=tmp_path / "log")
    entered = await asyncio.gather(*(toolset.__aenter__() for _ in range(4)), return_exceptions=True)
    assert [isinstance(one, MCPError) for one in entered] == [True, True, False, False]
    assert len(journal.of(Started)) == 3
    for _ in range(2):
        await leave(toolset)


async def test_a_process_that_does_not_go_is_terminated_after_two_seconds_and_killed_after_two_more(
    over_stdio: OverStdio, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PROCESS_TERMINATION_TIMEOUT", "FORCE_KILL_TIMEOUT"):
        assert getattr(mcp.client.stdio, name) == 2.0
        monkeypatch.setattr(mcp.client.stdio, name, 0.2)
    toolset = over_stdio("--stubborn")
    await toolset.__aenter__()
    await leave(toolset)
    with pytest.raises(ProcessLookupError):
        os.kill(journal.of(Started)[0].pid, 0)
    assert not journal.of(Exited)


async def test_the_client_probes_a_newer_protocol_first_and_a_server_that_ignores_it_needs_the_legacy_mode(
    over_stdio: OverStdio, journal: Journal
) -> None:
    mute = over_stdio("--mute", init_timeout=0.2)
    with pytest.raises(RuntimeError, match="Failed to initialize server session"):
        await mute.__aenter__()
    program, *arguments = command_line(journal.path, "--mute")
    client = Client(StdioTransport(program, arguments, keep_alive=False), mode="legacy", init_timeout=5)
    async with MCPToolset[None](client) as toolset:
        assert await echoed(toolset) == "x"


async def test_a_line_that_is_not_json_is_logged_and_skipped(
    over_stdio: OverStdio, caplog: pytest.LogCaptureFixture
) -> None:
    async with over_stdio("--garbage") as toolset:
        assert await echoed(toolset) == "x"
    assert ("mcp.client.stdio", logging.ERROR) in [(record.name, record.levelno) for record in caplog.records]


# --- what the child is given


@pytest.mark.parametrize("env", [None, {}, {"GIVEN": "1"}])
async def test_the_child_inherits_six_variables_and_what_env_says(
    over_stdio: OverStdio, monkeypatch: pytest.MonkeyPatch, env: dict[str, str] | None
) -> None:
    monkeypatch.setenv("MODEL_API_KEY", "secret")
    monkeypatch.setenv("USER", "desk")
    async with over_stdio(env=env) as toolset:
        names = await toolset.direct_call_tool("environment", {})
    assert {"PATH", "USER"} <= set(names) <= ALWAYS_THERE | {"GIVEN"}
    assert ("GIVEN" in names) == bool(env)


async def test_its_stderr_goes_to_the_log_file(over_stdio: OverStdio, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with over_stdio("--noise", log_file=log) as toolset:
        await echoed(toolset)
    assert log.read_text().startswith("noise: started\n")


async def test_its_stderr_goes_to_that_of_the_parent_by_default(
    over_stdio: OverStdio, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (tmp_path / "stderr").open("w") as stderr:
        monkeypatch.setattr("sys.stderr", stderr)
        async with over_stdio("--noise") as toolset:
            await echoed(toolset)
    assert (tmp_path / "stderr").read_text().startswith("noise: started\n")


async def test_a_pipe_as_log_file_gives_its_lines_and_says_when_it_has_died(
    over_stdio: OverStdio, journal: Journal
) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as log:
        toolset = over_stdio("--noise", log_file=log)
        await toolset.__aenter__()
    loop = asyncio.get_running_loop()
    stream = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(reading, "rb"))
    assert await stream.readline() == b"noise: started\n"
    os.kill(journal.of(Started)[0].pid, signal.SIGKILL)
    async with asyncio.timeout(30):
        await stream.read()
    transport.close()
    await leave(toolset)


# --- calls


async def test_how_results_come_back(over_stdio: OverStdio) -> None:
    async with over_stdio() as toolset:
        picture = await toolset.direct_call_tool("picture", {})
        assert isinstance(picture, BinaryImage)
        assert (picture.media_type, picture.data[:4]) == ("image/png", b"\x89PNG")
        assert await toolset.direct_call_tool("structured", {}) == {"town": "Delft", "degrees": 17, "windy": True}
        assert await echoed(toolset, "[1, 2") == "[1, 2"
        assert await echoed(toolset, json.dumps([1, 2])) == [1, 2], "text that is JSON is parsed"
        assert len(await toolset.direct_call_tool("big", {"chars": 2_000_000})) == 2_000_000


async def test_structured_content_against_its_schema_raises_a_runtime_error(over_stdio: OverStdio) -> None:
    async with over_stdio(tool_error_behavior="failed") as toolset:
        with pytest.raises(RuntimeError, match="Invalid structured content returned by tool misreport"):
            await toolset.direct_call_tool("misreport", {})


async def test_a_tools_error_is_a_retry_a_failure_or_an_error_as_told(over_stdio: OverStdio) -> None:
    async with over_stdio() as toolset:
        with pytest.raises(ModelRetry, match="no") as retry:
            await toolset.direct_call_tool("fail", {"message": "no"})
        assert retry.value.__cause__ is None
        toolset.tool_error_behavior = "failed"
        with pytest.raises(ToolFailed, match="no"):
            await toolset.direct_call_tool("fail", {"message": "no"})
        toolset.tool_error_behavior = "error"
        with pytest.raises(ToolError, match="no"):
            await toolset.direct_call_tool("fail", {"message": "no"})


async def test_a_protocol_error_is_a_retry_even_with_failed(over_stdio: OverStdio) -> None:
    async with over_stdio(tool_error_behavior="failed") as toolset:
        with pytest.raises(ModelRetry, match="Unknown tool: none") as retry:
            await toolset.direct_call_tool("none", {})
        assert code_of(retry) == INVALID_PARAMS
        toolset.tool_error_behavior = "error"
        with pytest.raises(MCPError):
            await toolset.direct_call_tool("none", {})


async def test_a_call_that_takes_too_long_is_cancelled_at_the_server_and_retried(
    over_stdio: OverStdio, journal: Journal
) -> None:
    async with over_stdio(read_timeout=0.2, tool_error_behavior="failed") as toolset:
        with pytest.raises(ModelRetry, match="Request 'tools/call' timed out") as retry:
            await toolset.direct_call_tool("slow", {"gate_file": "/none"})
        assert code_of(retry) == REQUEST_TIMEOUT
        await journal.until(lambda now: bool(now.of(Cancelled)))
        assert await echoed(toolset) == "x"


async def test_cancelling_a_call_cancels_it_at_the_server_and_nothing_else(
    over_stdio: OverStdio, journal: Journal
) -> None:
    async with over_stdio() as toolset:
        calls = [asyncio.create_task(toolset.direct_call_tool("slow", {"gate_file": "/none"})) for _ in range(2)]
        await journal.until(lambda now: len(now.calls("slow")) == 2)
        calls[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await calls[0]
        await journal.until(lambda now: bool(now.of(Cancelled)))
        assert [record.reason for record in journal.of(Cancelled)] == ["caller cancelled"]
        assert await echoed(toolset) == "x"
        assert not calls[1].done()
        calls[1].cancel()
        await asyncio.wait(calls)


# --- death


@pytest.mark.parametrize("behavior", ["retry", "failed"])
async def test_a_death_during_a_call_is_a_retry_and_so_is_every_call_after_it(
    over_stdio: OverStdio, behavior: str
) -> None:
    async with over_stdio(tool_error_behavior=behavior) as toolset:
        with pytest.raises(ModelRetry, match="Connection closed") as retry:
            await toolset.direct_call_tool("crash", {})
        assert code_of(retry) == CONNECTION_CLOSED
        assert toolset.is_running
        assert toolset.client.is_connected()
        with pytest.raises(ModelRetry, match="Connection closed"):
            await echoed(toolset)
        with pytest.raises(MCPError, match="Connection closed"):
            await toolset.list_tools()


async def test_a_death_with_error_raises_the_protocol_error(over_stdio: OverStdio) -> None:
    async with over_stdio(tool_error_behavior="error") as toolset:
        with pytest.raises(MCPError) as died:
            await toolset.direct_call_tool("crash", {})
        assert died.value.code == CONNECTION_CLOSED


async def death_noticed(toolset: MCPToolset[None]) -> None:
    with pytest.raises(MCPError, match="Connection closed"):
        for _ in range(100):
            await toolset.client.ping()
            await asyncio.sleep(0.01)


async def test_a_death_between_calls_is_noticed_by_nobody_but_a_ping(over_stdio: OverStdio, journal: Journal) -> None:
    async with over_stdio() as toolset:
        names = [tool.name for tool in await toolset.list_tools()]
        assert await toolset.client.ping()
        os.kill(journal.of(Started)[0].pid, signal.SIGKILL)
        await death_noticed(toolset)
        assert toolset.is_running
        assert toolset.client.is_connected()
        assert [tool.name for tool in await toolset.list_tools()] == names, "they are cached"


async def test_a_cancellation_that_meets_an_error_is_lost(over_stdio: OverStdio) -> None:
    lost = 0
    async with over_stdio() as toolset:
        with pytest.raises(ModelRetry):
            await toolset.direct_call_tool("crash", {})
        for turns in range(20):
            call = asyncio.create_task(echoed(toolset))
            for _ in range(turns):
                await asyncio.sleep(0)
            was_running = call.cancel()
            await asyncio.wait([call])
            lost += was_running and not call.cancelled() and isinstance(call.exception(), ModelRetry)
    assert lost


async def test_leaving_to_the_last_and_entering_again_starts_it_anew(over_stdio: OverStdio, journal: Journal) -> None:
    toolset = over_stdio()
    async with toolset:
        with pytest.raises(ModelRetry):
            await toolset.direct_call_tool("crash", {})
    async with toolset:
        assert await toolset.direct_call_tool("count", {}) == "1"
    assert len(journal.of(Started)) == 2


async def test_a_dead_session_stays_while_anyone_is_inside_even_if_its_client_is_closed(
    over_stdio: OverStdio, journal: Journal
) -> None:
    toolset = over_stdio()
    await toolset.__aenter__()
    async with toolset:
        with pytest.raises(ModelRetry):
            await toolset.direct_call_tool("crash", {})
    await toolset.__aenter__()
    with pytest.raises(ModelRetry, match="Connection closed"):
        await echoed(toolset)
    await toolset.client.close()  # type: ignore[no-untyped-call]
    async with toolset:
        with pytest.raises(RuntimeError, match="Client is not connected"):
            await echoed(toolset)
    assert len(journal.of(Started)) == 1
    for _ in range(2):
        await leave(toolset)
