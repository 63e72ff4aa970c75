"""Another configuration for agents that a model answers for: what is the same stays open, the rest ends with its last
turn."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.models import Call, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.fakes.tools.journal import Called, Exited, Journal, Started
from tests.flow.reloading import Reloaded
from tests.models.conftest import ModelHouse, agent_of
from tests.models.test_tools import over_stdio


async def test_what_a_model_is_asked_changes_with_the_next_message(furnish: ModelHouse, server: ModelServer) -> None:
    house = await furnish(instructions="Be brief.")
    place = Reloaded(house)
    await house.ask("one")
    await place.to(agents={"default": agent_of(server, instructions="Be kind.", settings={"temperature": 0.5})})
    await house.ask("two")
    first, second = server.requests
    assert (first.messages[0].text, second.messages[0].text) == ("Be brief.", "Be kind.")
    assert second.body["temperature"] == 0.5
    assert second.messages[1] == first.messages[1]


async def test_an_agent_that_stays_keeps_its_tool_server_and_its_connection(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    options = agent_of(server, mcp=[over_stdio(journal)])
    house = await furnish(mcp=[over_stdio(journal)])
    place = Reloaded(house)
    await house.ask("one")
    await place.to(agents={"default": options, "more": agent_of(server, model="openai:gpt-more")})
    await house.ask("two")
    assert len(journal.of(Started)) == 1
    assert server.connections == 1
    assert house.core.cache.hits == 1


async def test_a_turn_that_runs_keeps_its_tool_server_to_its_end(
    furnish: ModelHouse, server: ModelServer, journal: Journal, tmp_path: Path
) -> None:
    gate, other = tmp_path / "gate", Journal(tmp_path / "other")
    house = await furnish(mcp=[over_stdio(journal)])
    place = Reloaded(house)
    server.on("use", Steps(Call("t_slow", {"gate_file": str(gate)}), Say("used")))
    said = await house.offer(house.message("use it"))
    await journal.until(lambda now: bool(now.of(Called)))
    await place.to(agents={"default": agent_of(server, mcp=[over_stdio(other)])})
    assert journal.of(Exited) == ()
    gate.touch()
    await house.ended(said)
    assert house.seen() == ["used"]
    await journal.until(lambda now: len(now.of(Exited)) == 1)
    await house.ask("and now?")
    assert len(other.of(Started)) == 1
    assert other.of(Exited) == ()


async def test_an_agent_that_is_configured_no_more_ends_with_its_servers_and_connections(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal)])
    place = Reloaded(house)
    await house.ask("one")
    await house.until(lambda: [one.state for one in house.core.agents.tool_servers()] == ["up"])
    await place.to(agents={"default": {"backend": "offline"}})
    await journal.until(lambda now: len(now.of(Exited)) == 1)
    assert house.core.agents.tool_servers() == []
    await house.ask("two")
    assert "No model is connected" in house.seen()[-1]
    await place.to(agents={"default": agent_of(server)})
    await house.ask("three")
    assert house.seen()[-1] == "re: three"


async def test_a_model_is_brought_into_a_desk_that_had_none(furnish: ModelHouse, server: ModelServer) -> None:
    house = await furnish(desk={"agents": {"default": {"backend": "offline"}}})
    place = Reloaded(house)
    await house.ask("one")
    await place.to(agents={"default": agent_of(server)})
    await house.ask("two")
    assert house.seen()[-1] == "re: two"


async def test_a_model_that_can_t_be_made_is_refused_before_anything_changes(
    furnish: ModelHouse, server: ModelServer
) -> None:
    house = await furnish()
    place = Reloaded(house)
    await house.ask("one")
    house.options = {**house.options, "agents": {"default": agent_of(server, model="nonsense:gpt")}}
    state = await place.reload_.reload()
    assert "nonsense" in state.faults[0]
    house.options = {**house.options, "agents": {"default": agent_of(server)}}
    await house.ask("two")
    assert house.seen()[-1] == "re: two"
    assert house.core.cache.hits == 1
