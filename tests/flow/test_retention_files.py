"""What was brought into a session goes from the disk with it once it is too old; what a younger one has as well
stays."""

from __future__ import annotations

import os

from tests.flow.conftest import Furnish
from tests.flow.files import FilingBot, attached, bot_of, bring, file, on_disk, picture, png
from tests.flow.house import House
from tests.flow.test_retention import KEEP_A_WEEK, live

LETTER, CAT = b"an old letter", png()


def contents(house: House) -> list[bytes]:
    return sorted(path.read_bytes() for path in on_disk(house))


async def days_pass(house: House, days: int) -> None:
    """Days with all that is done from time to time. Nobody has touched a file since the last time."""
    at = house.clock.now().timestamp()
    for path in on_disk(house):
        os.utime(path, (at, at))
    await live(house, days)
    await house.chores.files()


async def test_files_of_old_sessions_go_from_the_disk_and_those_that_a_younger_one_has_stay(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), **KEEP_A_WEEK)
    bot_of(house).holds("letter", LETTER)
    bot_of(house).holds("cat", CAT)
    await house.chores.heartbeat()
    await bring(house, "look", file("letter", name="letter.txt"), picture("cat", "cat.png"))
    await house.say("/reset")
    await days_pass(house, 5)
    assert contents(house) == sorted((LETTER, CAT))
    await bring(house, "the cat again", picture("cat", "cat.png"))
    await house.say("/reset")
    await days_pass(house, 4)
    assert await attached(house) == [("cat.png", len(CAT))]
    assert contents(house) == [CAT]
    await days_pass(house, 4)
    assert (await attached(house), on_disk(house)) == ([], [])


async def test_files_of_the_session_that_people_are_in_stay_however_old(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), **KEEP_A_WEEK)
    bot_of(house).holds("letter", LETTER)
    await house.chores.heartbeat()
    await bring(house, "look", file("letter", name="letter.txt"))
    await days_pass(house, 30)
    assert contents(house) == [LETTER]
