"""How much of the disk guests may fill, and for how long."""

from __future__ import annotations

import os

import pytest
from msgspec.structs import replace

from core.errors import NotSent
from core.store import checks, facts
from core.vocabulary import BotName, Message
from tests.flow.conftest import Furnish
from tests.flow.files import FilingBot, attached, bot_of, bring, file, on_disk, picture, png
from tests.flow.house import OWNER, House
from tests.flow.store import WatchedFiles
from tests.flow.test_limits import explained, limits
from tests.flow.test_retention import live

MIB = 1024 * 1024
SMALL: dict[str, object] = {"access": {"guests": {"file_mib_per_day": 1}, "allow": ["telegram:8"]}}
QUOTA = "You've reached my limit of 1 MiB of files a day, so I skipped {}. Try again tomorrow."


async def sends(house: House, name: str, size: int, *, told: bool = True, text: str = "look", user: str = "7") -> int:
    """Somebody sends a file of so many bytes, whose size the platform tells beforehand or not; the row."""
    bot_of(house).holds(name, name.encode() * (size // len(name)))
    said = await bring(house, text, file(name, name=f"{name}.bin", size=size if told else None), user=user)
    return said.row


@pytest.mark.parametrize("told", [True, False])
async def test_s05_a_guest_sends_so_many_bytes_in_a_day(furnish: Furnish, *, told: bool) -> None:
    house = await furnish(FilingBot(), **SMALL)
    await sends(house, "a", 700_000, told=told)
    row = await sends(house, "b", 700_000, told=told)
    alone = await sends(house, "c", 700_000, told=told, text="")
    assert [text for text in house.seen() if "limit" in text] == [QUOTA.format("b.bin"), QUOTA.format("c.bin")]
    assert house.stage.texts == ["look\n[file a.bin]", "look\n[file b.bin: not received]"]
    assert [size for _, size in await attached(house)] == [700_000]
    assert sum(path.stat().st_size for path in on_disk(house)) == 700_000
    assert bot_of(house).sources["b"].given < 700_000
    assert await limits(house) == {"file_mib_per_day": 2}
    for one in (row, alone):
        assert "[access.guests] file_mib_per_day" in await explained(house, one)
    await house.clock.leap(86_401)
    await sends(house, "d", 700_000, told=told)
    assert house.stage.texts[-1] == "look\n[file d.bin]"


async def test_s05_who_was_let_in_sends_as_much_as_they_like_and_each_guest_has_their_own(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), **SMALL)
    for user in ("7", "8", "9", OWNER):
        for number in range(3):
            await sends(house, f"{user}{number}", 500_000, user=user)
    got = [sum(text == f"look\n[file {user}{n}.bin]" for text in house.stage.texts for n in range(3))
           for user in ("7", "8", "9", OWNER)]  # fmt: skip
    assert got == [2, 3, 2, 3]


async def test_s05_a_file_that_has_to_be_fetched_again_counts_as_often(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), **SMALL)
    source = bot_of(house).holds("a", b"a" * 600_000)
    source.faults.append(NotSent("it broke"))
    source.broken_at = 590_000
    await bring(house, "look", file("a", name="a.bin", size=600_000))
    await house.advance(10)
    assert house.seen()[0] == QUOTA.format("a.bin")


@pytest.mark.parametrize(("free", "whole"), [(9 * MIB, 100 * MIB), (5000 * MIB, 1_000_000 * MIB)])
async def test_s05_nothing_is_fetched_onto_a_disk_that_is_nearly_full(furnish: Furnish, free: int, whole: int) -> None:
    house = await furnish(FilingBot())
    assert isinstance(house.store.files, WatchedFiles)
    house.store.files.disk = (free, whole)
    for user in ("7", OWNER):
        row = await sends(house, f"a{user}", 1000, user=user)
        assert house.seen(user) == [
            f"I'm almost out of disk space, so I skipped a{user}.bin. Please send it again later.",
            f"re: look\n[file a{user}.bin: not received]",
        ]
        assert "the disk was almost full" in await explained(house, row)
    assert on_disk(house) == []
    assert await limits(house) == {"disk_free": 2}
    house.store.files.disk = (free * 2, whole)
    await sends(house, "b", 1000)
    assert house.stage.texts[-1] == "look\n[file b.bin]"


# how long they stay


async def weeks_pass(house: House, days: int) -> None:
    at = house.clock.now().timestamp()
    for path in on_disk(house):
        os.utime(path, (at, at))
    await live(house, days)
    await house.chores.files()


async def test_s05_files_of_guests_go_after_thirty_days_and_what_was_said_stays(furnish: Furnish) -> None:
    house = await furnish(FilingBot())
    bot_of(house).holds("cat", png())
    await house.chores.heartbeat()
    await bring(house, "look", picture("cat", "cat.png"))
    await weeks_pass(house, 29)
    assert len(await attached(house)) == len(on_disk(house)) == 1
    await weeks_pass(house, 2)
    assert (await attached(house), on_disk(house)) == ([], [])
    assert ("user", "look\n[image cat.png]") in await house.told()
    await house.say("/retry")
    assert house.stage.texts[-1] == "look\n[image cat.png]"
    report = await house.store.read(checks.check)
    assert (report, await attached(house)) == ([], [])


@pytest.mark.parametrize("who", [{"access": {"allow": ["telegram:7"]}}, {"access": {"owners": ["telegram:7"]}}, None])
async def test_s05_files_of_who_was_let_in_stay(furnish: Furnish, who: dict[str, object] | None) -> None:
    house = await furnish(FilingBot(), **(who or {}))
    bot_of(house).holds("cat", png())
    await house.chores.heartbeat()
    await house.say_in_group("hello")
    if who is None:
        await house.say_in_group("I am the owner", user=OWNER)
    await house.receive(_shared(house))
    await house.idle()
    await weeks_pass(house, 40)
    assert len(await attached(house)) == len(on_disk(house)) == 1


def _shared(house: House) -> Message:
    return replace(house.group_message("look"), attachments=(picture("cat", "cat.png"),))


async def test_s05_files_of_a_bot_that_is_gone_stay(furnish: Furnish) -> None:
    house = await furnish(FilingBot())
    bot_of(house).holds("cat", png())
    await house.chores.heartbeat()
    await bring(house, "look", picture("cat", "cat.png"))
    del house.core.access.bots[BotName("main")]
    await weeks_pass(house, 40)
    assert len(on_disk(house)) == 1


async def test_s05_no_file_goes_after_a_jump_of_the_clock(furnish: Furnish) -> None:
    house = await furnish(FilingBot())
    bot_of(house).holds("cat", png())
    await bring(house, "look", picture("cat", "cat.png"))
    await house.chores.heartbeat()
    assert await house.store.read(lambda tx: facts.get(tx, "heartbeat")) is not None
    await house.clock.leap(60 * 86_400)
    await house.chores.heartbeat()
    assert len(await attached(house)) == 1
