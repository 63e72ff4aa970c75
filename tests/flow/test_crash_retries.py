"""A death is counted against the turn that caused it: turns that ran then are asked again one after the other."""

from __future__ import annotations

import pytest

from core.agents.registry import Agents
from core.desk.crash_retries import PASSES_S
from tests.flow.asking import verb
from tests.flow.conftest import Furnish
from tests.flow.house import House

PEOPLE = ("7", "8", "9")
POISON = "three times in a row"


async def all_ask(house: House, *people: str) -> None:
    """Each says something that is answered once the gate is open."""
    house.stage.on("wait", house.stage.waits())
    for user in people:
        await house.say(f"wait {user}", user=user)


def asked_since(house: House, before: int) -> list[str]:
    return [text.removeprefix("wait ") for text in house.stage.texts[before:]]


async def attempts(house: House, *people: str) -> list[int]:
    found = [(await verb(house, "explain", id=f"main/dm/{user}"))["findings"] for user in people]
    turns = [next(one["turn_id"] for one in of if one["what"] == "message") for of in found]
    return [(await verb(house, "explain", id=turn))["findings"][0]["attempt"] for turn in turns]


async def test_turns_that_ran_together_are_asked_again_one_after_the_other(house: House) -> None:
    await all_ask(house, *PEOPLE)
    await house.restart()
    assert asked_since(house, 3) == ["7"]
    await house.advance(PASSES_S)
    assert asked_since(house, 3) == ["7", "8"]
    await house.advance(PASSES_S)
    assert asked_since(house, 3) == ["7", "8", "9"]
    house.stage.gate().set()
    await house.idle()
    assert [house.seen(user) for user in PEOPLE] == [["done"]] * 3
    assert await attempts(house, *PEOPLE) == [1, 1, 1]


async def test_the_end_of_one_lets_the_next_begin(house: House) -> None:
    await all_ask(house, *PEOPLE)
    await house.die()
    house.stage.gate().set()
    await house.open()
    await house.idle()
    assert asked_since(house, 3) == ["7", "8", "9"]
    assert [house.seen(user) for user in PEOPLE] == [["done"]] * 3


async def test_others_are_answered_while_some_wait(house: House) -> None:
    await all_ask(house, *PEOPLE)
    await house.restart()
    await house.say("hello", user="10")
    assert house.seen("10") == ["re: hello"]
    assert asked_since(house, 3)[0] == "7"
    assert "8" not in asked_since(house, 3)


async def test_only_the_one_that_was_asked_alone_is_blamed_and_comes_last_then(house: House) -> None:
    await all_ask(house, *PEOPLE)
    await house.restart()
    await house.restart()
    assert asked_since(house, 3) == ["7", "8"]
    assert await attempts(house, *PEOPLE) == [2, 1, 1]
    await house.restart()
    assert asked_since(house, 5) == ["9"]
    await house.restart()
    assert asked_since(house, 6) == ["7"]
    assert await attempts(house, *PEOPLE) == [2, 2, 2]


async def test_a_death_that_several_retries_share_counts_against_none_and_then_each_is_alone(house: House) -> None:
    await all_ask(house, *PEOPLE)
    await house.restart()
    await house.advance(2 * PASSES_S)
    await house.restart()
    assert asked_since(house, 6) == ["7"]
    await house.clock.leap(10 * PASSES_S)
    assert asked_since(house, 6) == ["7"]
    assert await attempts(house, *PEOPLE) == [1, 1, 1]
    house.stage.gate().set()
    await house.idle()
    assert [house.seen(user) for user in PEOPLE] == [["done"]] * 3


async def test_one_that_takes_for_ever_holds_the_others_up_until_its_time_is_over(furnish: Furnish) -> None:
    house = await furnish(desk={"turn_timeout_s": 60.0})
    await all_ask(house, *PEOPLE)
    await house.restart()
    await house.advance(2 * PASSES_S)
    await house.restart()
    await house.clock.leap(59)
    assert asked_since(house, 6) == ["7"]
    await house.advance(3)
    assert asked_since(house, 6) == ["7", "8"]


async def test_one_that_kills_is_left_after_three_deaths_of_its_own_and_all_others_are_answered(house: House) -> None:
    people = [str(user) for user in range(20, 30)]
    house.stage.on("kill", house.stage.waits("never"))
    await all_ask(house, *people[:5])
    said = await house.say("kill")
    await all_ask(house, *people[5:])
    deaths = 1
    await house.die()
    house.stage.gate().set()
    await house.open()
    await house.idle()
    while house.seen() == []:
        deaths += 1
        await house.restart()
        assert deaths < 10
    assert deaths == 4
    assert house.stage.texts.count("kill") == 4
    assert [POISON in text for text in house.seen()] == [True]
    assert await house.fate(said) == "answered"
    assert [house.seen(user) for user in people] == [["done"]] * 10
    assert await attempts(house, *people) == [1] * 10


async def test_one_that_kills_late_is_found_as_well(house: House) -> None:
    """It kills a minute after it was asked; the others take longer than that."""
    house.stage.on("kill", house.stage.waits("never", before=["fine so far"]))
    await all_ask(house, "7")
    await house.say("kill", user="8")
    await all_ask(house, "9")
    deaths, asked = 0, 0
    while not house.seen("8"):
        await house.clock.leap(60)
        if "kill" in house.stage.texts[asked:]:
            deaths, asked = deaths + 1, len(house.stage.asked)
            await house.restart()
        else:
            house.stage.gate().set()
            await house.idle()
    assert deaths <= 5
    assert [POISON in text for text in house.seen("8")] == [True]
    assert [house.seen(user) for user in ("7", "9")] == [["done"]] * 2
    assert await attempts(house, "7", "9") == [1, 1]


async def test_one_that_waits_for_a_slot_is_not_blamed(furnish: Furnish) -> None:
    house = await furnish(desk={"max_turns": 1})
    await all_ask(house, "7", "8")
    assert asked_since(house, 0) == ["7"]
    for _ in range(3):
        await house.restart()
    for user in ("7", "8"):
        assert (await attempts(house, user))[0] <= 1 + asked_since(house, 0).count(user)
    house.stage.gate().set()
    await house.idle()
    assert [house.seen(user) for user in ("7", "8")] == [["done"]] * 2


async def test_one_that_waits_for_what_agents_load_is_not_blamed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    await all_ask(house, "7", "8")
    with monkeypatch.context() as patch:
        patch.setattr(Agents, "loaded", lambda agents: house.stage.gate("loaded").wait())
        for _ in range(5):
            await house.restart()
        assert asked_since(house, 2) == []
        house.stage.gate("loaded").set()
        await house.idle()
    assert asked_since(house, 2) == ["7"]
    assert await attempts(house, "7", "8") == [1, 1]


async def test_a_stop_that_somebody_asked_for_counts_against_none(house: House) -> None:
    await all_ask(house, *PEOPLE)
    for _ in range(5):
        await house.stop()
        await house.open()
        await house.idle()
    assert sorted(asked_since(house, 0)) == sorted([*PEOPLE] * 6)
    assert await attempts(house, *PEOPLE) == [1, 1, 1]


async def test_what_waits_to_be_asked_again_waits_on_over_a_stop(house: House) -> None:
    await all_ask(house, *PEOPLE)
    await house.restart()
    for _ in range(5):
        await house.stop()
        await house.open()
        await house.idle()
    assert asked_since(house, 3) == ["7"] * 6
    assert await attempts(house, *PEOPLE) == [1, 1, 1]


@pytest.mark.parametrize("command", ["/stop", "/reset"])
async def test_a_command_ends_what_waits_to_be_asked_again(house: House, command: str) -> None:
    await all_ask(house, *PEOPLE)
    await house.restart()
    await house.say(command, user="8")
    assert len(house.seen("8")) == 1
    await house.say("fresh", user="8")
    assert house.seen("8")[-1] == "re: fresh"
    assert asked_since(house, 3) == ["7", "fresh"]
    await house.say(command, user="7")
    assert asked_since(house, 3) == ["7", "fresh", "9"]


async def test_status_and_explain_tell_of_what_waits(house: House) -> None:
    await all_ask(house, *PEOPLE)
    await house.restart()
    assert (await house.status())["turns"] == {"running": 1, "waiting": 2, "suspended": 0}
    found = (await verb(house, "explain", id="main/dm/9"))["findings"]
    sentence = next(one["sentence"] for one in found if one["what"] == "message")
    assert "waits to be tried again: the desk was killed while it ran" in sentence
    found = (await verb(house, "explain", id="main/dm/7"))["findings"]
    assert any("which runs" in one["sentence"] for one in found)
