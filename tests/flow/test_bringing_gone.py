"""What was brought goes with its session, and what waits stays; nothing is left open, and a full disk loses nothing."""

from __future__ import annotations

import asyncio
import gc
import os
import tracemalloc
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import select

from core.desk.porter import FETCH_S
from core.errors import StoreFull
from core.store.engine import Unit
from core.store.files import Incoming
from core.store.sql import Sql
from core.store.tables import inbox
from tests.flow.asking import verb
from tests.flow.conftest import Furnish
from tests.flow.files import MIB, FilingBot, attached, bot_of, bring, file, on_disk, parcels, picture, png
from tests.flow.house import House
from tests.flow.reloading import Reloaded
from tests.flow.test_forgetting import forget, holders, settle

T = TypeVar("T")

HERE = "main/dm/7"
SECRET = b"zebra-quartz-9137-lantern"
_ENCLOSED = Sql(select(inbox.c.enclosed))


def age(house: House, hours: float = 2.0) -> None:
    """All files were kept so long ago, by the house's clock."""
    at = house.clock.now().timestamp() - hours * 3600
    for path in on_disk(house):
        os.utime(path, (at, at))


# gone with the session


@pytest.mark.parametrize("how", ["forget", "delete"])
async def test_files_go_with_their_session(filing: House, how: str) -> None:
    bot_of(filing).holds("d", SECRET * 10)
    bot_of(filing).holds("p", png())
    await bring(filing, "keep this", file("d", name=f"{SECRET.decode()}.txt"), picture("p", "cat.png"))
    await filing.say("/export")
    assert len(on_disk(filing)) == 3
    age(filing)
    if how == "forget":
        await forget(filing)
    else:
        await verb(filing, "sessions.delete", key=HERE)
    await filing.chores.files()
    assert on_disk(filing) == []
    assert await attached(filing) == []
    await filing.clock.advance(2 * 86400)
    await filing.chores.tidy()
    await filing.chores.log()
    assert holders(filing) == []


async def test_who_is_forgotten_leaves_no_name_of_a_file(filing: House) -> None:
    bot_of(filing).holds("d", SECRET)
    await bring(filing, "keep this", file("d", name="plan.txt"))
    await filing.say("/export")
    age(filing)
    await forget(filing)
    assert [files for _, files in await parcels(filing) if files is not None] == []
    assert await attached(filing) == []


async def test_who_is_forgotten_while_a_file_comes_leaves_nothing(filing: House) -> None:
    source = bot_of(filing).holds("d", SECRET)
    source.gate = asyncio.Event()
    await filing.say("hello")
    await filing.say("/forget")
    await filing.advance(20)
    said = await bring(filing, "keep this", file("d", name="plan.txt"))
    await filing.say("/forget yes")
    await filing.advance(FETCH_S + 5)
    await settle(filing)
    source.gate.set()
    await filing.idle()
    assert await filing.fate(said) is not None
    assert source.open == 0
    age(filing)
    await filing.chores.files()
    assert on_disk(filing) == []
    assert await attached(filing) == []


async def test_a_file_that_another_session_has_stays(filing: House) -> None:
    bot_of(filing).holds("p", png())
    await bring(filing, "mine", picture("p", "cat.png"))
    await bring(filing, "mine too", picture("p", "cat.png"), user="8")
    age(filing)
    await verb(filing, "sessions.delete", key=HERE)
    await filing.chores.files()
    assert len(on_disk(filing)) == 1
    await verb(filing, "sessions.delete", key="main/dm/8")
    age(filing)
    await filing.chores.files()
    assert on_disk(filing) == []


async def test_a_row_that_is_done_keeps_nothing_of_what_it_brought(filing: House) -> None:
    bot_of(filing).holds("d", SECRET)
    said = await bring(filing, "read", file("d", name=f"{SECRET.decode()}.txt"))
    kept = await filing.store.read(lambda tx: tx.all(_ENCLOSED))
    assert [row.text_or_none("enclosed") for row in kept] == [None]
    assert await filing.fate(said) == "answered"


async def test_a_file_that_waits_for_hours_is_not_taken_away(filing: House) -> None:
    filing.stage.on("busy", filing.stage.waits())
    await filing.say("busy")
    await filing.advance(20)
    bot_of(filing).holds("p", png())
    said = await bring(filing, "look", picture("p", "cat.png"))
    age(filing, hours=5)
    await filing.chores.files()
    assert len(on_disk(filing)) == 1
    filing.stage.gate().set()
    await filing.ended(said)
    age(filing, hours=5)
    await filing.chores.files()
    assert len(on_disk(filing)) == 1


async def test_what_was_closed_while_it_waited_is_taken_away(filing: House) -> None:
    filing.stage.on("busy", filing.stage.waits())
    await filing.say("busy")
    await filing.advance(20)
    bot_of(filing).holds("p", png())
    await bring(filing, "look", picture("p", "cat.png"))
    await filing.say("/stop")
    age(filing)
    await filing.chores.files()
    assert on_disk(filing) == []


async def test_what_a_dead_process_had_half_received_goes_and_what_comes_stays(filing: House) -> None:
    source = bot_of(filing).holds("d", bytes(3 * MIB))
    source.gate = asyncio.Event()
    await bring(filing, "read", file("d", name="a.bin"))
    [partial] = on_disk(filing)
    await filing.chores.files()
    assert on_disk(filing) == [partial]
    await filing.die()
    partial.write_bytes(b"left by a process that was killed")
    await filing.open()
    await filing.idle()
    age(filing)
    await filing.chores.files()
    assert partial not in on_disk(filing)
    source.gate.set()
    await filing.idle()


async def test_nothing_is_taken_away_that_somebody_kept_anew_meanwhile(filing: House) -> None:
    """Between the chore's question whether a file is needed and its removal, the same content comes in again."""
    files = filing.store.files
    digest = files.put(png())
    age(filing)
    real = filing.store.read

    async def read(unit: Unit[T]) -> T:
        answer = await real(unit)
        at = filing.clock.now().timestamp()
        files.put(png())
        os.utime(on_disk(filing)[0], (at, at))
        return answer

    filing.store.read = read  # type: ignore[method-assign]
    await filing.chores.files()
    filing.store.read = real  # type: ignore[method-assign]
    assert files.get(digest) == png()


# limits that change


async def test_another_limit_holds_from_the_next_file_on(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), desk={"attachment_mib": 5})
    place = Reloaded(house)
    source = bot_of(house).holds("a", bytes(3 * MIB))
    source.gate = asyncio.Event()
    first = await bring(house, "first", file("a", name="a.bin"))
    await place.to(desk={"attachment_mib": 1})
    source.gate.set()
    await house.ended(first)
    bot_of(house).holds("b", bytes(2 * MIB))
    await house.advance(10)
    await house.ended(await bring(house, "second", file("b", name="b.bin")))
    assert house.stage.texts == ["first\n[file a.bin]", "second\n[file b.bin: not received]"]


# a full disk


async def test_a_store_that_is_full_for_a_while_loses_no_file(filing: House) -> None:
    bot_of(filing).holds("p", png())
    source = bot_of(filing).sources["p"]
    source.gate = asyncio.Event()
    said = await bring(filing, "look", picture("p", "cat.png"))
    filing.store.full = True
    source.gate.set()
    await filing.advance(30)
    assert await filing.fate(said) is None
    filing.store.full = False
    await filing.advance(5)
    await filing.ended(said)
    assert filing.stage.texts == ["look\n[image cat.png]"]


async def test_who_waits_for_a_file_that_finds_no_room_is_told_once(filing: House) -> None:
    bot_of(filing).holds("p", png())
    folder = filing.state / "files"
    folder.rmdir() if folder.exists() else None
    folder.write_text("in the way")
    said = await bring(filing, "look", picture("p", "cat.png"))
    await filing.advance(30)
    told = filing.seen()
    folder.unlink()
    await filing.advance(5)
    await filing.ended(said)
    assert filing.stage.texts == ["look\n[image cat.png]"]
    assert len(told) == 1


async def test_a_file_that_finds_no_room_comes_when_there_is_some(filing: House) -> None:
    source = bot_of(filing).holds("p", png())
    folder = filing.state / "files"
    folder.write_text("in the way")
    said = await bring(filing, "look", picture("p", "cat.png"))
    await filing.advance(30)
    assert filing.stage.texts == []
    folder.unlink()
    await filing.advance(5)
    await filing.ended(said)
    assert filing.stage.texts == ["look\n[image cat.png]"]
    assert source.open == 0


async def test_files_beside_one_that_finds_no_room_are_not_fetched_at_the_same_time_twice(filing: House) -> None:
    bot = bot_of(filing)
    bot.holds("a", png())
    other = bot.holds("b", png(seed=1))
    other.gate = asyncio.Event()
    real = filing.store.files.receive
    turns = iter(range(1000))

    def receive() -> Incoming:
        if next(turns) == 0:
            raise StoreFull("no room")
        return real()

    filing.store.files.receive = receive  # type: ignore[method-assign]
    said = await bring(filing, "look", picture("a", "a.png"), picture("b", "b.png"))
    await filing.advance(5)
    other.gate.set()
    await filing.ended(said)
    assert filing.stage.texts == ["look\n[image a.png]\n[image b.png]"]
    assert (other.most_open, other.fetches) == (1, 1)


# nothing is left


def descriptors(house: House) -> list[str]:
    """What is open of files that are kept or come in."""
    return [
        str(path)
        for path in map(Path.resolve, Path("/proc/self/fd").iterdir())
        if house.state / "files" in path.parents
    ]


async def _rounds(house: House, count: int) -> None:
    bot = bot_of(house)
    for number in range(count):
        bot.holds("p", png(seed=number % 50))
        bot.holds("d", b"words")
        bot.sources["d"].faults.append(ConnectionError("cut"))
        bot.holds("big").endless = True
        hangs = bot.holds("h")
        hangs.gate = asyncio.Event()
        await house.ended(await bring(house, "look", picture("p", "a.png"), file("d", name="d.txt"), file("big")))
        await house.advance(10)
        await bring(house, "hangs", file("h"))
        await house.say("/reset")
        await house.advance(10)


async def test_descriptors_memory_and_tasks_stay_flat(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), desk={"attachment_mib": 1})
    bot_of(house).clock = house.clock
    await _rounds(house, 3)
    gc.collect()
    tasks = len(asyncio.all_tasks())
    tracemalloc.start()
    before = tracemalloc.take_snapshot()
    await _rounds(house, 20)
    gc.collect()
    after = tracemalloc.take_snapshot()
    tracemalloc.stop()
    ours = [tracemalloc.Filter(True, "*/core/*")]
    grown = sum(stat.size_diff for stat in after.filter_traces(ours).compare_to(before.filter_traces(ours), "lineno"))
    assert descriptors(house) == []
    assert len(asyncio.all_tasks()) <= tasks
    assert bot_of(house).open_fetches == 0
    assert grown < 256 * 1024
    assert not list((house.state / "files" / "partial").glob("*"))


async def test_a_fetch_that_hangs_at_the_end_of_the_process_is_closed(filing: House) -> None:
    source = bot_of(filing).holds("h")
    source.gate = asyncio.Event()
    await bring(filing, "hangs", file("h"))
    await filing.die()
    await asyncio.sleep(0)
    assert source.open == 0
    assert on_disk(filing) == []
    await filing.open()
    await filing.idle()


async def test_a_fetch_that_ends_as_it_begins_leaves_nothing(filing: House) -> None:
    bot_of(filing).holds("p", png())
    real, begun = filing.store.files.receive, []

    def receive() -> Incoming:
        begun.append(real())
        for task in asyncio.all_tasks():
            if task.get_name() == "porter":
                task.cancel()
        return begun[-1]

    filing.store.files.receive = receive  # type: ignore[method-assign]
    await bring(filing, "look", picture("p", "a.png"))
    left = on_disk(filing)
    for one in begun:
        one.drop()
    assert left == []
