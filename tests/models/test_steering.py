"""People speak to a running turn: the model hears it at its next boundary, and the log says where."""

from __future__ import annotations

import asyncio

import pytest

from core.store.entries import Kind
from tests.fakes.models.replies import Call, Gate, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.flow.house import House
from tests.models.conftest import ModelHouse
from tests.models.holding import Held
from tests.models.test_faults import MODELS
from tests.models.test_prefix import all_grow
from tests.models.test_stopping import SEARCH
from tests.models.watching import followed

STEER = {"mailbox": {"busy": "steer"}}


async def kinds(house: House) -> list[Kind]:
    return [entry.kind for entry in await house.log()]


@pytest.mark.parametrize("words", ["/steer look in the cellar", "look in the cellar"])
@pytest.mark.parametrize("model", MODELS)
async def test_a_model_hears_it_behind_the_results_of_its_calls(
    furnish: ModelHouse, server: ModelServer, held: Held, model: str, words: str
) -> None:
    server.on("find", Steps((Say("Let me see."), SEARCH, Call("current_time")), Say("Never said.")))
    server.on("cellar", Say("Found in the cellar."))
    house = await furnish(model=model, desk=STEER)
    said = await house.offer(house.message("find"))
    async with asyncio.timeout(10):
        await held.reached.wait()
    steer = await house.say(words)
    held.go.set()
    await house.ended(said)
    assert await house.fate(steer) == "merged"
    assert await kinds(house) == [
        Kind.USER, Kind.ASSISTANT, Kind.TOOL_CALL, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.TOOL_RESULT, Kind.USER,
        Kind.ASSISTANT,
    ]  # fmt: skip
    shown = [role for role, _ in server.requests[-1].talk if role != "system"]
    assert shown == ["user", "assistant", "tool", "tool", "user"]
    assert "look in the cellar" in server.requests[-1].last_user
    assert house.seen()[-1].endswith("Found in the cellar.")
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"
    all_grow(server)


@pytest.mark.parametrize("model", MODELS)
async def test_an_answer_that_seemed_the_last_is_followed_by_another(
    furnish: ModelHouse, server: ModelServer, model: str
) -> None:
    server.on("tell", Say("Once upon a time "), Gate("rest"), Say("they lived."))
    server.on("shorter", Say("They lived."))
    house = await furnish(model=model)
    said = await house.offer(house.message("tell"))
    async with followed(house, said) as seen:
        await seen.until_text("Once upon a time ")
        steer = await house.say("/steer shorter")
        server.gate("rest").set()
        await house.ended(said)
    assert await house.fate(steer) == "merged"
    assert [(kind, text) for kind, text in await house.told()] == [
        ("user", "tell"), ("assistant", "Once upon a time they lived."), ("user", "shorter"),
        ("assistant", "They lived."),
    ]  # fmt: skip
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"
    all_grow(server)
