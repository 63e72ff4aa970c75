"""Tools whose names would be one are told apart, and all of them work."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from config.mcp import McpSettings
from core.agents.tool_names import DESK_TOOLS, NAME_CHARS, distinct
from core.probing import models
from core.vocabulary import ClientTool
from tests.fakes.models.replies import Call, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.flow.house import House
from tests.models.conftest import ModelHouse
from tests.models.test_tools_optional import settings_of

PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    params = asked.get("params") or {}
    match asked.get("method"):
        case "initialize":
            info = {"name": "named", "version": "1"}
            result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in sys.argv[2:]]}
        case "tools/call":
            result = {"content": [{"type": "text", "text": f"{sys.argv[1]} {params['name']}"}]}
        case _:
            result = {}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
NAMES = st.text(st.sampled_from("ab._-/ é"), min_size=1, max_size=70)


def named(server: str, *tools: str) -> dict[str, object]:
    """A server with tools of these names, each of which says what it is."""
    return {"name": server, "command": [sys.executable, "-c", PROGRAM, server, *tools]}


CLASHING = [
    named("search", "conversations"),
    named("git", "hub_list"),
    named("git_hub", "list"),
    named("f", "a.b", "a_b"),
]


async def use(house: House, server: ModelServer, tool: str) -> str:
    server.forget_rules()
    server.on("use", Steps(Call(tool), Say("used")))
    await house.ask(f"use {tool}")
    return server.requests[-1].tool_results[-1]


async def test_r02_every_tool_has_a_name_of_its_own_and_works(furnish: ModelHouse, server: ModelServer) -> None:
    house = await furnish(mcp=CLASHING)
    await house.ask("hello")
    assert house.seen() == ["re: hello"]
    tools = server.requests[-1].tools
    assert len(set(tools)) == len(tools) == 7
    said = [await use(house, server, tool) for tool in tools if tool not in DESK_TOOLS]
    assert sorted(said) == ["f a.b", "f a_b", "git hub_list", "git_hub list", "search conversations"]
    assert "Nothing found" in await use_search(house, server)
    rows = {row["name"]: row["detail"] for row in (await house.status())["tools"]}
    assert rows["git"] is None
    for name, tool in (("search", "conversations"), ("git_hub", "list"), ("f", "a_b")):
        assert f"{tool} is called {name}_{tool}_" in str(rows[name])


async def use_search(house: House, server: ModelServer) -> str:
    server.forget_rules()
    server.on("find", Steps(Call("search_conversations", {"words": "nowhere"}), Say("used")))
    await house.ask("find it")
    return server.requests[-1].tool_results[-1]


async def test_r02_the_probe_says_which_names_were_changed(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "PATIENCE_S", 120.0)
    agent = settings_of(server, mcp=tuple(McpSettings.model_validate(one, strict=False) for one in CLASHING))
    findings = await models.look_at_tools([agent])
    assert [finding.state for finding in findings] == ["ok"] * 4
    told = [finding.detail.partition("; ")[2] for finding in findings]
    assert told[1] == ""
    assert ["is called" in words for words in told] == [True, False, True, True]


async def test_r02_a_client_s_tool_goes_before_ours_of_the_same_name(house: House, server: ModelServer) -> None:
    server.on("what time", Steps(Call("current_time"), Say("Noon.")))
    tool = ClientTool(
        name="current_time", description="Theirs", schema=json.dumps({"type": "object", "properties": {}})
    )
    said = await house.offer(replace(house.message("what time is it?"), tools=(tool,)))
    await house.ended(said)
    assert list(server.requests[-1].tools).count("current_time") == 1
    assert [kind for kind, _ in await house.told()][:2] == ["user", "tool_call"]


@given(st.lists(NAMES, max_size=8, unique=True), st.sets(NAMES, max_size=3))
def test_r02_names_are_distinct_and_fit(tools: list[str], taken: set[str]) -> None:
    taken |= {f"s_{tool}" for tool in tools[:2]}
    named = distinct("s", tools, taken)
    assert set(named) == set(tools)
    assert len({*named.values(), *taken}) == len(named) + len(taken)
    assert all(
        len(name) <= NAME_CHARS and name.replace("_", "a").replace("-", "a").isalnum() for name in named.values()
    )
    assert distinct("s", tools[::-1], taken) == named
