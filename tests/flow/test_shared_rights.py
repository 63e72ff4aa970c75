"""Among others, what one person began is not another's to change."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.agents.agent import AgentEvent, TurnContext
from core.vocabulary import ChatId, TextDelta, UserId
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, OWNER, House

ADA, BOB, BOSS = "7", "8", "9"
NOT_YOURS = "Only the person who asked"


async def slow(house: House) -> None:
    """Ada's turn runs in the group, which Boss runs."""
    house.bot.admins.add((ChatId(GROUP), UserId(BOSS)))
    house.stage.on("slow", house.stage.waits())
    await house.say_in_group("slow", user=ADA)


async def finish(house: House) -> None:
    house.stage.gate().set()
    await house.idle()


async def test_s16_nobody_steers_what_another_began(house: House) -> None:
    await slow(house)
    his = await house.say_in_group("/steer rather this", user=BOB)
    assert house.seen(GROUP)[-1].startswith(NOT_YOURS)
    await finish(house)
    assert await house.fate(his) == "answered"
    assert house.stage.steered == []
    assert [asked.text for asked in house.stage.asked] == ["slow"]


@pytest.mark.parametrize("user", [ADA, BOSS, OWNER])
async def test_s16_who_asked_who_runs_the_group_and_owners_steer(house: House, user: str) -> None:
    await slow(house)
    await house.say_in_group("/steer rather this", user=user)
    await finish(house)
    assert house.stage.steered == ["rather this"]


async def test_s16_where_nothing_runs_a_steer_is_anybodys_message(house: House) -> None:
    await house.say_in_group("hello", user=ADA)
    await house.say_in_group("/steer and this", user=BOB)
    assert [asked.text for asked in house.stage.asked] == ["hello", "and this"]


async def test_s16_a_steer_that_waited_behind_another_person_is_a_message(house: House) -> None:
    """Ada's turn took no steering, and Bob was answered before her words came to their turn."""

    async def deaf(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await house.stage.gate().wait()
        yield TextDelta(text="done")

    house.stage.on("slow", deaf)
    await house.say_in_group("slow", user=ADA)
    await house.say_in_group("his", user=BOB)
    await house.say_in_group("/steer hers", user=ADA)
    await finish(house)
    assert [asked.text for asked in house.stage.asked] == ["slow", "his", "hers"]


@pytest.mark.parametrize("user", [ADA, BOB])
async def test_s16_with_busy_steer_only_ones_own_messages_join_the_turn(furnish: Furnish, user: str) -> None:
    house = await furnish(mailbox={"busy": "steer"})
    await slow(house)
    await house.say_in_group("more", user=user)
    await finish(house)
    assert house.stage.steered == (["more"] if user == ADA else [])
    assert [asked.text for asked in house.stage.asked] == (["slow"] if user == ADA else ["slow", "more"])


async def test_s16_nobody_renames_what_another_began(house: House) -> None:
    house.bot.admins.add((ChatId(GROUP), UserId(BOSS)))
    await house.say_in_group("hello", user=ADA)
    await house.say_in_group("/title mine", user=BOB)
    assert house.seen(GROUP)[-1].startswith(NOT_YOURS)
    await house.say_in_group("/title", user=BOB)
    assert house.seen(GROUP)[-1].startswith("Title: “hello”.")
    for user, name in ((ADA, "hers"), (BOSS, "the boss's"), (OWNER, "the owner's")):
        await house.say_in_group(f"/title {name}", user=user)
        assert (await house.session(f"main/group/{GROUP}")).title == name
