"""The life of tool servers: slow, failing, talkative, and in status."""

from __future__ import annotations

import logging

import pydantic_ai
import pytest
import structlog

from core.agents import tool_server
from core.agents.quiet import quieten
from tests.fakes.models.server import ModelServer
from tests.fakes.tools.journal import Journal
from tests.models.conftest import ModelHouse
from tests.models.test_tools import over_stdio


async def test_status_shows_every_tool_server(furnish: ModelHouse, server: ModelServer, journal: Journal) -> None:
    house = await furnish(mcp=[over_stdio(journal), {"name": "gone", "command": ["/no/such/program"]}])
    await house.ask("hello")
    shown = await house.status()
    tools = {server["name"]: server for server in shown["tools"]}
    assert (tools["t"]["state"], tools["t"]["agent"], tools["t"]["detail"]) == ("up", "default", None)
    assert tools["gone"]["state"] == "failed"
    assert "No such file" in tools["gone"]["detail"]


async def test_a_server_that_hangs_at_its_start_delays_the_first_answer_once(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    mcp = [over_stdio(journal, "--slow-start", "60000", "--stubborn", timeout_s=0.2)]
    house = await furnish(mcp=mcp)
    await house.ask("hello")
    assert house.seen() == ["re: hello"]
    [status] = house.core.agents.tool_servers()
    assert status.state != "up"


def test_a_tool_server_s_words_are_not_quoted_by_the_library() -> None:
    quieten()
    with structlog.testing.capture_logs() as logs:
        logging.getLogger("mcp.client.stdio").error("Failed to parse %s", "ghp_0123456789secret")
        logging.getLogger("fastmcp.anything.new").warning("ghp_0123456789secret")
    assert [line["event"] for line in logs] == ["tool_server_misspoke"] * 2
    assert "ghp_" not in str(logs)
    assert pydantic_ai.BANNER_ENABLED is False


async def test_a_server_that_keeps_failing_is_started_ever_more_rarely(
    furnish: ModelHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_server, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(tool_server, "LONGEST_WAIT_S", 0.04)
    with structlog.testing.capture_logs() as logs:
        house = await furnish(mcp=[{"name": "gone", "command": ["/no/such/program"]}])
        house.core.agents.warm()
        await house.until(lambda: sum(line["event"] == "tool_server_failed" for line in logs) >= 5)
    waits = [line["wait_s"] for line in logs if line["event"] == "tool_server_failed"]
    assert waits[:5] == [0.01, 0.02, 0.04, 0.04, 0.04]
