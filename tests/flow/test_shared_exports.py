"""`/export` among others: to whoever took part, what they could have read there."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.agents.agent import AgentEvent, TurnContext
from core.vocabulary import ChatId, TextDelta, UserId
from tests.fakes.agents import call
from tests.flow.conftest import Furnish
from tests.flow.files import FilingBot, bot_of
from tests.flow.house import GROUP, OWNER, House

ADA, BOB, BOSS, EVE = "7", "8", "9", "66"


async def works(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    await call(turn, "1", "raw result", read_only=True)
    yield TextDelta(text="worked")


async def talked(house: House) -> House:
    """Ada let a tool run, then Bob came, then both talked. Boss runs the group, and Eve only reads."""
    house.bot.admins.add((ChatId(GROUP), UserId(BOSS)))
    house.stage.on("work", works)
    for user, text in ((ADA, "please work"), (BOB, "I am Bob"), (ADA, "work again"), (BOB, "thanks")):
        await house.say_in_group(text, user=user)
    return house


async def export(house: House, user: str, **how: str) -> str:
    """What this person gets, alone."""
    before = house.seen(user), house.seen(GROUP)
    await house.say_in_group("/export", user=user)
    assert house.seen(GROUP) == before[1]
    return "\n".join(house.heard_since(before[0], user))


@pytest.mark.parametrize("user", [ADA, BOB, BOSS, OWNER])
async def test_s07_nobody_gets_what_tools_gave(house: House, user: str) -> None:
    await talked(house)
    got = await export(house, user)
    assert "thanks" in got
    assert "worked" in got
    assert "raw result" not in got
    assert "**Tool**" not in got


async def test_s07_who_came_later_gets_what_was_said_since_their_first_message(house: House) -> None:
    await talked(house)
    got = await export(house, BOB)
    assert [text in got for text in ("please work", "I am Bob", "work again", "thanks")] == [False, True, True, True]
    assert "please work" in await export(house, ADA)


async def test_s07_who_runs_the_group_and_owners_get_it_from_the_start(house: House) -> None:
    await talked(house)
    for user in (BOSS, OWNER):
        got = await export(house, user)
        assert all(text in got for text in ("please work", "I am Bob", "work again", "thanks"))


async def test_s07_who_never_took_part_gets_nothing_and_no_file(furnish: Furnish) -> None:
    house = await talked(await furnish(FilingBot()))
    received = len(bot_of(house).received)
    await house.say_in_group("/export", user=EVE)
    assert house.seen(EVE) == ["You can download a conversation here after you took part in it."]
    assert len(bot_of(house).received) == received
    await house.say_in_group("/status", user=EVE)
    await house.say_in_group("/export", user=EVE)
    assert "please work" not in "".join(house.seen(EVE))


async def test_s07_having_taken_part_is_of_one_session(house: House) -> None:
    await talked(house)
    await house.say_in_group("/reset", user=OWNER)
    await house.say_in_group("something new", user=ADA)
    assert "something new" not in await export(house, BOB)


async def test_s07_what_joined_a_turn_of_one_s_own_begins_it_no_later(furnish: Furnish) -> None:
    """A turn is known by the last message that it answers."""
    house = await furnish(mailbox={"busy": "steer"})
    house.stage.on("slow", house.stage.waits())
    await house.say_in_group("slow", user=ADA)
    await house.say_in_group("more", user=ADA)
    house.stage.gate().set()
    await house.idle()
    got = await export(house, ADA)
    assert "slow" in got.split("\n", 2)[2]
    assert "more" in got


async def test_s07_where_each_has_a_conversation_and_in_private_all_is_one_s_own(furnish: Furnish) -> None:
    house = await furnish(session={"group_scope": "user"})
    house.stage.on("work", works)
    await house.say_in_group("please work", user=ADA)
    assert "raw result" in await export(house, ADA)
    await house.say("please work")
    await house.say("/export")
    assert "raw result" in house.seen()[-1]
