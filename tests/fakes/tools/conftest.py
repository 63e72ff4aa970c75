"""Real clients of the tool server, over both transports."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, TextIO

import pytest
from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset

from tests.fakes.tools.front import HttpToolServer
from tests.fakes.tools.journal import Journal, command_line


class OverStdio(Protocol):
    def __call__(
        self,
        *options: str,
        env: dict[str, str] | None = None,
        keep_alive: bool | None = False,
        log_file: Path | TextIO | None = None,
        **toolset: Any,
    ) -> MCPToolset[None]: ...


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client over HTTP takes its proxy from the environment."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


@pytest.fixture
def over_stdio(journal: Journal) -> OverStdio:
    """Makes a toolset whose server is started with these options when it is entered."""

    def make(
        *options: str,
        env: dict[str, str] | None = None,
        keep_alive: bool | None = False,
        log_file: Path | TextIO | None = None,
        **toolset: Any,
    ) -> MCPToolset[None]:
        program, *arguments = command_line(journal.path, *options)
        transport = StdioTransport(program, arguments, env=env, keep_alive=keep_alive, log_file=log_file)
        return MCPToolset(transport, **toolset)

    return make


@pytest.fixture(params=[True, False], ids=["streams", "bodies"])
def server(request: pytest.FixtureRequest, journal: Journal) -> Iterator[HttpToolServer]:
    with HttpToolServer(journal=journal.path, streams=request.param) as running:
        yield running
