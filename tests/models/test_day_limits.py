"""Tokens of a day: of guests by default, counted before the model is asked and between its requests."""

from __future__ import annotations

import asyncio

import pytest

from core.agents.compaction import CHARS_PER_TOKEN
from tests.fakes.models.replies import Call, Gate, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.flow.house import OWNER
from tests.flow.test_limits import explained, limits
from tests.models.conftest import ModelHouse
from tests.models.test_faults import is_notice

LITTLE: dict[str, object] = {"access": {"guests": {"tokens_per_day": 1000}, "allow": ["telegram:8"]}}


async def test_s11_a_guest_has_a_day_and_who_was_let_in_has_not(furnish: ModelHouse, server: ModelServer) -> None:
    house = await furnish(desk=LITTLE)
    for user in ("7", "8", OWNER):
        for number in range(9):
            await house.ask(f"{number} " + "word " * 100, user=user)
    asked = {user: sum(text.startswith("re: ") for text in house.seen(user)) for user in ("7", "8", OWNER)}
    assert asked["8"] == asked[OWNER] == 9
    assert 0 < asked["7"] < 4
    assert (await limits(house))["tokens_per_day"] == 9 - asked["7"]


async def test_s11_a_message_that_is_far_too_long_for_what_is_left_is_not_asked(
    furnish: ModelHouse, server: ModelServer
) -> None:
    house = await furnish(desk=LITTLE)
    said = await house.ask("a" * 1100 * CHARS_PER_TOKEN)
    assert server.requests == ()
    assert is_notice(house.seen()[-1], "day_limit_ahead")
    assert "[access.guests] tokens_per_day" in await explained(house, said.row)
    await house.say("/reset")
    await house.ask("short")
    assert house.seen()[-1] == "re: short"


async def test_s11_the_same_holds_for_everybody_whose_agent_has_a_limit(
    furnish: ModelHouse, server: ModelServer
) -> None:
    house = await furnish(limits={"person_day_tokens": 1000})
    await house.ask("a" * 1100 * CHARS_PER_TOKEN, user=OWNER)
    assert server.requests == ()
    assert is_notice(house.seen(OWNER)[-1], "day_limit_ahead")


@pytest.mark.parametrize(("own", "most"), [(500, 500), (5000, 1000)])
async def test_s11_of_two_limits_the_smaller_one_holds(
    furnish: ModelHouse, server: ModelServer, own: int, most: int
) -> None:
    house = await furnish(desk=LITTLE, limits={"person_day_tokens": own})
    await house.ask("a" * (most + 20) * CHARS_PER_TOKEN)
    assert server.requests == ()
    await house.say("/reset")
    await house.ask("a" * (most - 100) * CHARS_PER_TOKEN)
    assert len(server.requests) == 1


async def test_s11_a_turn_that_calls_tools_ends_when_the_day_is_used_up(
    furnish: ModelHouse, server: ModelServer
) -> None:
    server.on("please", Steps(*[(Say("words " * 100), Call("current_time"))] * 40))
    house = await furnish(desk=LITTLE)
    said = await house.ask("please")
    assert 1 < len(server.requests) < 10
    assert sum(request.tokens for request in server.requests) < 2000
    assert is_notice(house.seen()[-1], "day_limit_ahead") or is_notice(house.seen()[-1], "day_limit")
    assert "tokens_per_day" in await explained(house, said.row)


async def test_s11_turns_at_once_share_the_day(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("wait", Gate("open"), Say("done"))
    house = await furnish(desk={**LITTLE, "desk": {"max_turns": 64}})
    words = "wait " + "a" * 300 * CHARS_PER_TOKEN
    said = [await house.offer(house.group_message(words, thread=f"t{number}")) for number in range(8)]
    await house.until(lambda: sum(is_notice(text, "day_limit_ahead") for text in house.seen("-100")) == 5)
    await house.until(lambda: len(server.requests) == 3)
    server.gate("open").set()
    await asyncio.gather(*(house.desk.settled(one.row) for one in said))
    await house.idle()
    assert house.core.expected == {}


async def test_s11_what_a_turn_expected_is_forgotten_with_it(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("wait", Gate("never"))
    house = await furnish(desk=LITTLE)
    said = await house.offer(house.message("wait " + "a" * 800 * CHARS_PER_TOKEN))
    await house.until(lambda: len(server.requests) == 1)
    await house.say("/stop")
    await house.ended(said)
    assert house.core.expected == {}
    await house.say("/reset")
    await house.ask("a" * 500 * CHARS_PER_TOKEN)
    assert len(server.requests) == 2
