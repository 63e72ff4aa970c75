"""What keeps one person from taking more than their share, and how that is told."""

from __future__ import annotations

import pytest

from tests.flow.asking import verb
from tests.flow.conftest import Furnish
from tests.flow.house import OWNER, House

ALLOWED: dict[str, object] = {"access": {"allow": ["telegram:7"]}}


async def opens(house: House, number: int, *, user: str = "7", text: str = "slow") -> None:
    """Each in a thread of its own in a group."""
    await house.say_in_group(f"{text} {user}.{number}", user=user, thread=f"{user}-{number}")


def running(house: House, user: str) -> int:
    return sum(text.startswith(f"slow {user}.") for text in house.stage.texts)


async def limits(house: House) -> dict[str, int]:
    """As `frontdesk status` has them."""
    return {one["name"]: one["count"] for one in (await house.status())["limits"]}


async def explained(house: House, row: int) -> str:
    told = await verb(house, "explain", id=str(row))
    return " ".join(one["sentence"] for one in told["findings"])


# turns at once


@pytest.mark.parametrize("who", [{}, ALLOWED])
async def test_s04_one_person_has_at_most_a_quarter_of_the_turns(furnish: Furnish, who: dict[str, object]) -> None:
    house = await furnish(desk={"max_turns": 8}, **who)
    house.stage.on("slow", house.stage.waits())
    for number in range(10):
        await opens(house, number)
    assert running(house, "7") == 2
    await house.say("hello", user="8")
    assert house.seen("8") == ["re: hello"]
    assert (await limits(house))["turns_at_once"] == 8
    house.stage.gate().set()
    await house.idle()
    assert running(house, "7") == 10
    assert (house.core.slots.taken, house.core.slots.waiting) == (0, 0)


async def test_s04_a_free_turn_goes_to_whoever_has_the_fewest(furnish: Furnish) -> None:
    house = await furnish(desk={"max_turns": 4})
    for user in ("6", "7", "8", "9"):
        house.stage.on(f"slow {user}", house.stage.waits(user))
        await opens(house, 0, user=user)
    for number in range(1, 6):
        await opens(house, number, user="7")
    await opens(house, 0, user="5")
    house.stage.gate("6").set()
    await house.idle()
    assert running(house, "5") == 1
    assert running(house, "7") == 1
    for user in ("7", "8", "9"):
        house.stage.gate(user).set()
    await house.idle()
    assert running(house, "7") == 6


async def test_s04_owners_are_not_counted(furnish: Furnish) -> None:
    house = await furnish(desk={"max_turns": 4})
    house.stage.on("slow", house.stage.waits())
    for number in range(4):
        await opens(house, number, user=OWNER)
    assert running(house, OWNER) == 4
    house.stage.gate().set()
    await house.idle()


async def test_s04_who_waits_for_their_own_turns_is_told_so(furnish: Furnish) -> None:
    house = await furnish(desk={"max_turns": 4})
    house.stage.on("slow", house.stage.waits())
    await house.say("slow 7.0")
    await opens(house, 1)
    await house.advance(6)
    assert house.seen("-100") == ["I'm already working on 1 message of yours. This one comes as soon as one is done."]
    house.stage.gate().set()
    await house.idle()


async def test_s04_a_turn_that_is_asked_again_counts_for_its_author(furnish: Furnish) -> None:
    house = await furnish(desk={"max_turns": 8})
    house.stage.on("slow", house.stage.waits())
    for number in range(2):
        await opens(house, number)
    await house.stop()
    await house.open()
    await house.idle()
    await opens(house, 2)
    assert house.core.slots.waiting == 1
    house.stage.gate().set()
    await house.idle()
    assert house.core.slots.taken == 0


# conversations


async def test_s04_a_guest_begins_so_many_conversations_in_an_hour(furnish: Furnish) -> None:
    house = await furnish(access={"guests": {"conversations_per_hour": 3}})
    for number in range(3):
        await opens(house, number, text="hello")
    refused = [await house.say_in_group("and here?", thread=f"more {number}") for number in range(4)]
    told = "You've started 3 conversations within an hour, so I can't start another one yet. Please go on in one of "
    assert [text for text in house.seen("-100") if text.startswith("You've")] == [f"{told}them, or try again later."]
    assert [await house.fate(said) for said in refused] == ["refused"] * 4
    assert await limits(house) == {"conversations_per_hour": 4}
    assert "[access.guests] conversations_per_hour" in await explained(house, refused[0].row)
    await opens(house, 1, text="goes on")
    assert house.seen("-100")[-1] == "re: goes on 7.1"
    await house.redeliver(refused[0])
    assert (await limits(house))["conversations_per_hour"] == 4
    await house.clock.leap(3601)
    await opens(house, 9, text="later")
    assert house.seen("-100")[-1] == "re: later 7.9"


async def test_s04_others_begin_theirs_meanwhile_and_who_was_let_in_as_many_as_they_like(furnish: Furnish) -> None:
    house = await furnish(access={"guests": {"conversations_per_hour": 2}, "allow": ["telegram:8"]})
    for user in ("7", "8", OWNER):
        for number in range(5):
            await opens(house, number, user=user, text="hello")
    await opens(house, 0, user="9", text="hello")
    texts = house.stage.texts
    assert [sum(f" {user}." in text for text in texts) for user in ("7", "8", OWNER, "9")] == [2, 5, 5, 1]


async def test_s04_thirty_conversations_is_what_a_guest_has_by_default(house: House) -> None:
    for number in range(31):
        await opens(house, number, text="hello")
    assert len(house.stage.texts) == 30


async def test_s04_a_commit_of_which_nobody_heard_counts_once(furnish: Furnish) -> None:
    house = await furnish(access={"guests": {"conversations_per_hour": 2}})
    first = house.group_message("one", thread="a")
    await house.receive(first, first)
    await house.receive(first)
    await opens(house, 2, text="two")
    assert len(house.stage.texts) == 2


# how it is told


async def test_s04_status_says_how_often_a_limit_was_met_and_when_last(furnish: Furnish) -> None:
    house = await furnish(access={"guests": {"conversations_per_hour": 1}})
    assert (await house.status())["limits"] == []
    for number in range(2):
        await opens(house, number, text="hello")
    await house.clock.leap(60)
    await opens(house, 3, text="hello")
    [met] = (await house.status())["limits"]
    assert met == {"name": "conversations_per_hour", "count": 2, "last_at": "2026-03-02T12:01:00Z"}
