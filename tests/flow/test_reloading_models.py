"""Agents that a model answers for, exchanged while their turns run."""

from __future__ import annotations

import asyncio

from tests.fakes.models import Call, Gate, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.fakes.tools.journal import Called, Journal
from tests.flow.house import House, Said
from tests.flow.reloading import Reloaded
from tests.models import conftest as modelled
from tests.models.conftest import ModelHouse, agent_of
from tests.models.test_tools import over_stdio, up

server, furnish, journal = modelled.server, modelled.furnish, modelled.journal
OFFLINE = {"default": {"backend": "offline"}}


async def held(house: House, server: ModelServer, gate: str, user: str) -> Said:
    """A turn whose answer has begun and is held in the middle."""
    server.on(gate, Say("one "), Gate(gate), Say("two"))
    said = await house.offer(house.message(gate, user=user))
    await server.until(lambda: server.gate(gate).waiting == 1)
    return said


async def test_an_agent_that_is_removed_takes_no_connection_from_its_twin(
    furnish: ModelHouse, server: ModelServer
) -> None:
    """Two names, the same settings."""
    house = await furnish(desk={"agents": {"default": agent_of(server), "twin": agent_of(server)}})
    place = Reloaded(house)
    said = await held(house, server, "door", "7")
    await place.to(agents={"default": agent_of(server)})
    server.gate("door").set()
    await house.ended(said)
    assert house.seen() == ["one two"]


async def test_an_agent_that_is_put_back_while_its_old_turn_runs_keeps_its_connections(
    furnish: ModelHouse, server: ModelServer
) -> None:
    """A, then B, then A again; what began under the first A ends while a turn of the second one runs."""
    house = await furnish()
    place = Reloaded(house)
    first = await held(house, server, "first", "7")
    await place.to(agents={"default": agent_of(server, settings={"temperature": 0.5})})
    await place.to(agents={"default": agent_of(server)})
    second = await held(house, server, "second", "8")
    server.gate("first").set()
    await house.ended(first)
    server.gate("second").set()
    await house.ended(second)
    assert house.seen() == ["one two"]
    assert house.seen("8") == ["one two"]


async def test_a_removed_agent_s_turn_ends_as_it_began(furnish: ModelHouse, server: ModelServer) -> None:
    house = await furnish()
    place = Reloaded(house)
    said = await held(house, server, "door", "7")
    await place.to(agents=OFFLINE)
    server.gate("door").set()
    await house.ended(said)
    assert house.seen() == ["one two"]


async def test_a_turn_with_a_tool_between_two_requests_keeps_its_model(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    gate = journal.path.with_name("gate")
    house = await furnish(mcp=[over_stdio(journal)])
    place = Reloaded(house)
    server.on("use", Steps(Call("t_slow", {"gate_file": str(gate)}), Say("used")))
    said = await house.offer(house.message("use it"))
    await journal.until(lambda now: bool(now.of(Called)))
    await place.to(agents=OFFLINE)
    gate.touch()
    await house.ended(said)
    assert house.seen() == ["used"]


async def test_a_tool_server_that_does_not_end_holds_no_reload_up(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    """Bots that changed are silent until then."""
    house = await furnish(mcp=[over_stdio(journal, "--stubborn")])
    place = Reloaded(house)
    house.core.agents.warm()
    await up(house)
    await place.to(agents={"default": agent_of(server)})


async def test_a_call_that_was_allowed_after_its_tool_was_taken_away_is_not_made(
    furnish: ModelHouse, server: ModelServer, journal: Journal
) -> None:
    house = await furnish(mcp=[over_stdio(journal, consent=["echo"])])
    place = Reloaded(house)
    server.on("use", Steps(Call("t_echo", {"text": "hello"}), Say("used")))
    await house.ask("use it")
    assert journal.of(Called) == ()
    await place.to(agents={"default": agent_of(server)})
    await house.ask("/approve")
    assert journal.of(Called) == ()
    assert house.seen()[-1] != ""
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


async def test_a_hundred_messages_while_the_first_model_is_brought_in_are_answered_once(
    furnish: ModelHouse, server: ModelServer
) -> None:
    house = await furnish(desk={"agents": OFFLINE})
    place = Reloaded(house)
    said: list[Said] = []

    async def stream() -> None:
        for number in range(100):
            said.append(await house.offer(house.message(f"message {number}", user=str(100 + number))))
            await asyncio.sleep(0.002)

    streaming = asyncio.create_task(stream())
    await place.to(agents={"default": agent_of(server)})
    await streaming
    for one in said:
        await house.ended(one)
    heard = [house.seen(str(100 + number)) for number in range(100)]
    assert [len(texts) for texts in heard] == [1] * 100
    assert all(texts[0].endswith(f"message {number}") for number, texts in enumerate(heard))
