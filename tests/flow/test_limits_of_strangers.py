"""Many strangers at once shut out nobody: on this bot the oldest code goes, other bots are not concerned."""

from __future__ import annotations

import pytest

from core.desk.intake import MOST_PAIRINGS
from core.store import people
from core.vocabulary import BotName
from tests.flow.asking import verb
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.house import OWNER, House
from tests.flow.pressing_bot import ButtonBot, button_bot, press
from tests.flow.test_letting_in import PAIRING, with_owner
from tests.flow.test_limits import explained, limits


async def crowd(house: House, count: int, first: int = 1000) -> None:
    for user in range(first, first + count):
        await house.offer(house.message("hello", user=f"{user}"))
    await house.idle()


def questions(house: House) -> list[str]:
    return [text for text in house.seen(OWNER) if "would like to talk to me" in text]


async def waiting(house: House, bot: str = "main") -> list[str]:
    found = await house.store.read(lambda tx: people.waiting(tx, house.clock.now()))
    return [one.identity for one in found if one.bot == BotName(bot)]


async def test_s10_whoever_comes_after_two_hundred_gets_a_code_and_the_oldest_goes(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    await house.say("hello", user="1000")
    await house.clock.leap(1)
    await crowd(house, MOST_PAIRINGS - 1, first=1001)
    said = await house.say("hello", user="7")
    code = house.seen("7")[0].split("Your code is ")[1].split(",")[0]
    left = await waiting(house)
    assert len(left) == MOST_PAIRINGS
    assert "telegram:7" in left
    assert "telegram:1000" not in left
    assert await limits(house) == {"pairing_codes": 1}
    assert "they were sent a code" in await explained(house, said.row)
    await verb(house, "people.approve", code=code)
    await house.say("hello?", user="7")
    assert house.seen("7")[-1] == "re: hello?"


async def test_s10_whose_code_went_gets_another_when_they_write_again(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    await house.say("hello", user="7")
    await house.clock.leap(1)
    await crowd(house, MOST_PAIRINGS)
    assert "telegram:7" not in await waiting(house)
    await house.say("hello?", user="7")
    codes = [text.split("Your code is ")[1].split(",")[0] for text in house.seen("7")]
    assert len(set(codes)) == 2
    assert "telegram:7" in await waiting(house)


async def test_s10_a_crowd_on_one_bot_takes_no_code_of_another(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), AdminBot("other"), **PAIRING)
    await house.say("hello", user="7", bot="other")
    await crowd(house, MOST_PAIRINGS + 30)
    assert await waiting(house, "other") == ["telegram:7"]
    await house.say("hello", user="8", bot="other")
    assert len(await waiting(house, "other")) == 2


async def test_s10_after_ten_strangers_the_owner_is_asked_about_one_from_time_to_time(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    await crowd(house, 30)
    assert len(questions(house)) == 10
    assert [text for text in house.seen(OWNER) if "people are waiting" in text] == [
        "11 people are waiting to be let in. I'll ask you about some of them only; "
        "frontdesk people list shows them all."
    ]
    await house.clock.leap(901)
    await house.say("hello", user="7")
    assert questions(house)[-1].startswith("user 7 (telegram:7)")
    assert (await press(house, button_bot(house).button("Let in", OWNER), user=OWNER)).reason == "let_in"
    await crowd(house, 30, first=2000)
    assert len(questions(house)) == 11


async def test_s10_strangers_who_never_stop_coming_do_not_keep_the_button_away(furnish: Furnish) -> None:
    """The same flood every five minutes, for five hours."""
    house = await with_owner(furnish)
    asked = []
    for round_ in range(60):
        before = len(house.seen(OWNER))
        await crowd(house, 5, first=10_000 + 5 * round_)
        asked.append(len(house.seen(OWNER)) - before)
        await house.clock.leap(300)
    assert all(any(asked[n : n + 4]) for n in range(0, 60, 4))
    assert sum(asked) < 60 * 5 / 2


async def test_s10_explain_tells_who_was_told_nothing_and_why(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    first = await house.say("hello", user="7")
    again = await house.say("hello?", user="7")
    assert len(house.seen("7")) == 1
    assert "they were sent a code" in await explained(house, first.row)
    assert "had been sent a code before that was still good" in await explained(house, again.row)


@pytest.mark.parametrize("bot", [ButtonBot, AdminBot])
async def test_s10_a_stranger_whose_code_expired_gets_a_new_one(furnish: Furnish, bot: type[AdminBot]) -> None:
    house = await furnish(bot(), **PAIRING)
    await house.say("hello", user="7")
    await house.clock.leap(3601)
    said = await house.say("hello?", user="7")
    assert len(house.seen("7")) == 2
    assert "they were sent a code" in await explained(house, said.row)
