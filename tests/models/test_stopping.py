"""People stop a model, or the process dies under it: what was said stays, and the provider accepts what is left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest

from core.service.notices import Notices
from core.store.entries import Kind
from core.store.history import CLOSED_BY_KILL, STOPPED
from tests.fakes.models.replies import Call, Gate, Hang, Say, Steps, Think
from tests.fakes.models.server import ModelServer
from tests.flow.house import House, Said
from tests.models.conftest import ModelHouse
from tests.models.holding import Held
from tests.models.test_faults import MODELS
from tests.models.watching import Followed, followed


@asynccontextmanager
async def speaking(house: House, text: str = "long") -> AsyncIterator[tuple[Said, Followed]]:
    """A turn whose model has said "Once upon a time " and waits."""
    said = await house.offer(house.message(text))
    async with followed(house, said) as seen:
        await seen.until_text("Once upon a time ")
        yield said, seen


def tell(server: ModelServer) -> None:
    server.on("long", Think("A tale."), Say("Once upon a time "), Gate("rest"), Say("they lived."))


@pytest.mark.parametrize("command", ["/stop", "/new"])
@pytest.mark.parametrize("model", MODELS)
async def test_a_model_is_stopped_in_the_middle_of_its_answer(
    furnish: ModelHouse, server: ModelServer, model: str, command: str
) -> None:
    tell(server)
    house = await furnish(model=model)
    async with speaking(house) as (said, _):
        session = await house.session()
        stop = await house.offer(house.message(command))
        await server.until(lambda: server.requests[0].disconnected)
        await house.ended(stop)
        await house.ended(said)
    kept = [(entry.kind, entry.text) for entry in await house.entries_of(session.id)]
    assert kept == [(Kind.USER, "long"), (Kind.ASSISTANT, "Once upon a time ")]
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"
    assert (await house.told())[-1] == ("assistant", "re: and now?")


@pytest.mark.parametrize("place", ["connect", "headers", "first_token"])
async def test_a_model_that_has_said_nothing_is_stopped_as_well(house: House, server: ModelServer, place: str) -> None:
    server.on("long", Hang(place))  # type: ignore[arg-type]  # one of its places
    said = await house.offer(house.message("long"))
    await server.until(lambda: server.in_flight == 1)
    await house.offer(house.message("/stop"))
    await server.until(lambda: server.requests[0].disconnected)
    await house.ended(said)
    assert await house.told() == [("user", "long")]
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


# in a tool


SEARCH = Call("search_conversations", {"words": "tale"})


async def searching(house: House, held: Held, text: str = "find") -> Said:
    said = await house.offer(house.message(text))
    async with asyncio.timeout(10):
        await held.reached.wait()
    return said


@pytest.mark.parametrize("command", ["/stop", "/new"])
@pytest.mark.parametrize("model", MODELS)
async def test_a_turn_is_stopped_in_a_tool(
    furnish: ModelHouse, server: ModelServer, held: Held, model: str, command: str
) -> None:
    server.on("find", Steps((Think("Where?"), Say("Let me see."), SEARCH, Call("current_time")), Say("Found.")))
    house = await furnish(model=model)
    said = await searching(house, held)
    session = await house.session()
    await house.ask(command)
    await house.ended(said)
    log = await house.entries_of(session.id)
    assert [entry.kind for entry in log if entry.kind is not Kind.NOTICE] == [
        Kind.USER, Kind.ASSISTANT, Kind.TOOL_CALL, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.TOOL_RESULT,
    ]  # fmt: skip
    assert STOPPED in [entry.text for entry in log]
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"
    if command == "/stop":
        told = [text for role, text in server.requests[-1].talk if role == "tool"]
        assert len(told) == 2
        assert any(STOPPED in text for text in told)


@pytest.mark.parametrize("model", MODELS)
async def test_c02_a_call_without_a_result_is_closed_after_a_kill(
    furnish: ModelHouse, server: ModelServer, held: Held, model: str
) -> None:
    """A call that may be made again: the turn is attempted again, and the call is made again."""
    server.on("find", Steps((Say("Let me see."), SEARCH), Say("Found.")))
    house = await furnish(model=model)
    said = await searching(house, held)
    await house.die()
    held.go.set()
    await house.open()
    await house.ended(said)
    assert house.seen() == ["Let me see.\n\nFound."]
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"
    shown = [role for role, _ in server.requests[-1].talk if role != "system"]
    assert shown == ["user", "assistant", "tool", "assistant", "user"]


@pytest.mark.parametrize("model", MODELS)
async def test_c02_a_call_that_may_have_done_something_is_told_as_interrupted(
    furnish: ModelHouse, server: ModelServer, held: Held, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """The turn is not attempted again; the next one is shown the call with an interrupted result."""
    monkeypatch.setattr("core.agents.toolbox.Toolbox.is_read_only", lambda *_: False)
    server.on("find", Steps((Think("Where?"), SEARCH, Call("current_time")), Say("Found.")))
    house = await furnish(model=model)
    await searching(house, held)
    await house.restart()
    assert house.seen()[-1] == Notices("en").say("interrupted")
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"
    assert CLOSED_BY_KILL in "".join(text for role, text in server.requests[-1].talk if role == "tool")
    assert server.requests[-1].status == 200


# killed


async def test_a_killed_turn_is_answered_once_by_another_attempt(house: House, server: ModelServer) -> None:
    tell(server)
    async with speaking_until_killed(house) as said:
        await house.die()
    await server.until(lambda: server.requests[0].disconnected)
    server.gate("rest").set()
    await house.open()
    await house.ended(said)
    assert house.seen() == ["Once upon a time they lived."]
    assert [(kind, text) for kind, text in await house.told() if kind != "rewind"] == [
        ("user", "long"), ("assistant", "Once upon a time they lived."),
    ]  # fmt: skip
    assert len(server.requests) == 2


@asynccontextmanager
async def speaking_until_killed(house: House) -> AsyncIterator[Said]:
    said = await house.offer(house.message("long"))
    events = house.desk.follow(said.row)
    assert isinstance(events, AsyncGenerator)
    async with asyncio.timeout(10):
        await anext(events)
    yield said
    await events.aclose()


@pytest.mark.parametrize("moment", ["idle", "streaming", "in a tool", "loading"])
async def test_no_thread_is_left_behind(house: House, server: ModelServer, held: Held, moment: str) -> None:
    tell(server)
    server.on("find", Steps(SEARCH, Say("Found.")))
    if moment == "idle":
        await house.ask("hello")
        await house.die()
    elif moment == "streaming":
        async with speaking_until_killed(house):
            await house.die()
    elif moment == "in a tool":
        await searching(house, held)
        await house.die()
    else:
        house.core.agents.warm()
        await house.die()
        await house.until(lambda: not _of_agents())
    assert _of_agents() == []
    await house.open()


def _of_agents() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "agents"]
