"""A model answers: streaming, history, prefix."""

from __future__ import annotations

from tests.fakes.models.replies import Say
from tests.fakes.models.server import ModelServer
from tests.flow.house import House


async def test_a_model_answers(house: House, server: ModelServer) -> None:
    server.on("hello", Say("Good day to you.", deltas=4))
    await house.ask("hello")
    assert house.seen() == ["Good day to you."]


async def test_in_turn_n_the_model_is_shown_2n_minus_1_messages(house: House, server: ModelServer) -> None:
    for n in range(1, 6):
        await house.ask(f"question {n}")
        talk = [shown for shown in server.requests[-1].talk if shown[0] != "system"]
        assert len(talk) == 2 * n - 1
