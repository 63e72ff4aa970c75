"""What pydantic-ai 2.68.0 with fastmcp-slim 4.2.3 and mcp 2.3.0 does with a server over streamable HTTP."""

import asyncio
import contextlib
from pathlib import Path

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_REQUEST
from pydantic_ai import ModelRetry
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import BinaryImage

from tests.fakes.tools.front import HttpToolServer
from tests.fakes.tools.journal import Cancelled, Journal, Opened
from tests.fakes.tools.test_client_stdio import code_of, echoed, leave


async def until_raw(toolset: MCPToolset[None], raw: type[httpx2.TransportError]) -> None:
    """At first a dead session says `ModelRetry`; once its task has ended, the transport's error comes as it is."""
    for _ in range(100):
        with contextlib.suppress(ModelRetry, raw):
            await echoed(toolset)
        await asyncio.sleep(0.01)
        if not toolset.client.is_connected():
            break
    with pytest.raises(raw):
        await echoed(toolset)
    with pytest.raises(raw):
        await leave(toolset)


async def test_entering_probes_and_initializes(server: HttpToolServer) -> None:
    async with MCPToolset[None](server.url) as toolset:
        assert (toolset.id, toolset.client.protocol_version) == ("127.0.0.1", "2025-11-25")
        methods = [(request.message.get("method"), request.status) for request in server.requests]
        assert methods[:2] == [("server/discover", 400), ("initialize", 200)]
    assert ("DELETE", 204) in [(request.verb, request.status) for request in server.requests]
    assert server.sessions == ()


async def test_results_are_the_same_as_over_stdio(server: HttpToolServer) -> None:
    async with MCPToolset[None](server.url) as toolset:
        assert await echoed(toolset) == "x"
        assert isinstance(await toolset.direct_call_tool("picture", {}), BinaryImage)
        assert (await toolset.direct_call_tool("structured", {}))["town"] == "Delft"
        with pytest.raises(ModelRetry, match="no"):
            await toolset.direct_call_tool("fail", {"message": "no"})


async def test_cancelling_a_call_cancels_it_at_the_server(server: HttpToolServer, journal: Journal) -> None:
    async with MCPToolset[None](server.url) as toolset:
        call = asyncio.create_task(toolset.direct_call_tool("slow", {"gate_file": "/none"}))
        await journal.until(lambda now: bool(now.calls("slow")))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await journal.until(lambda now: bool(now.of(Cancelled)))
        assert await echoed(toolset) == "x"


async def test_a_status_of_500_is_a_retry_and_the_session_goes_on(server: HttpToolServer) -> None:
    async with MCPToolset[None](server.url, tool_error_behavior="failed") as toolset:
        server.status = 500
        with pytest.raises(ModelRetry, match="Server returned an error response") as retry:
            await echoed(toolset)
        assert code_of(retry) == INTERNAL_ERROR
        server.status = None
        assert await echoed(toolset) == "x"


@pytest.mark.parametrize("status", [401, 500, 503])
async def test_entering_raises_the_same_error_for_every_status(server: HttpToolServer, status: int) -> None:
    server.status = status
    with pytest.raises(MCPError, match="Server returned an error response") as failed:
        await MCPToolset[None](server.url).__aenter__()
    assert failed.value.code == INTERNAL_ERROR


async def test_auth_is_a_bearer_token_and_headers_are_sent_with_every_request(server: HttpToolServer) -> None:
    server.authorization = "Bearer sesame"
    async with MCPToolset[None](server.url, auth="sesame") as toolset:
        assert await echoed(toolset) == "x"
    sent = {"Authorization": "Bearer sesame", "X-Tenant": "blue"}
    async with MCPToolset[None](server.url, headers=sent) as toolset:
        assert await echoed(toolset) == "x"
        server.authorization = "Bearer changed"
        with pytest.raises(ModelRetry, match="Server returned an error response"):
            await echoed(toolset)
    assert server.requests[-1].headers["x-tenant"] == "blue"


async def test_a_server_that_does_not_listen_raises_a_runtime_error(server: HttpToolServer) -> None:
    toolset = MCPToolset[None](server.url)
    server.pause()
    with pytest.raises(RuntimeError, match="All connection attempts failed") as failed:
        await toolset.__aenter__()
    assert isinstance(failed.value.__cause__, httpx2.ConnectError)
    server.resume()
    async with toolset:
        assert await echoed(toolset) == "x"


async def test_a_refused_connection_ends_the_session_and_the_next_errors_come_raw(server: HttpToolServer) -> None:
    toolset = MCPToolset[None](server.url, tool_error_behavior="failed")
    await toolset.__aenter__()
    assert await echoed(toolset) == "x"
    server.pause()
    with pytest.raises(ModelRetry, match="Connection closed") as retry:
        await echoed(toolset)
    assert code_of(retry) == CONNECTION_CLOSED
    server.resume()
    await until_raw(toolset, httpx2.ConnectError)
    async with toolset:
        assert await echoed(toolset) == "x"


async def test_a_cut_stream_ends_its_call_and_a_cut_body_the_session(
    server: HttpToolServer, journal: Journal, tmp_path: Path
) -> None:
    toolset = MCPToolset[None](server.url)
    await toolset.__aenter__()
    gate = tmp_path / "gate"
    call = asyncio.create_task(toolset.direct_call_tool("slow", {"gate_file": str(gate)}))
    await journal.until(lambda now: bool(now.calls("slow")))
    server.cut_connections()
    with pytest.raises(ModelRetry, match=r"SSE stream ended without a response|Connection closed") as retry:
        await call
    assert code_of(retry) == CONNECTION_CLOSED
    gate.touch()
    if "SSE stream" in str(retry.value):  # it had begun, which the call's arrival at the tool does not say
        assert server.streams
        assert await echoed(toolset) == "x"
        await leave(toolset)
    else:
        await until_raw(toolset, httpx2.RemoteProtocolError)


async def test_a_forgotten_session_is_not_renewed_until_the_last_has_left(
    server: HttpToolServer, journal: Journal
) -> None:
    toolset = MCPToolset[None](server.url, tool_error_behavior="failed")
    async with toolset:
        server.kill()
        server.resume()
        for _ in range(2):
            with pytest.raises(ModelRetry, match="Session terminated") as retry:
                await echoed(toolset)
            assert code_of(retry) == INVALID_REQUEST
        assert toolset.client.is_connected()
    async with toolset:
        assert await echoed(toolset) == "x"
    assert len(journal.of(Opened)) == 2
