"""Whether the desk is ready: what the store, the recovery, the loop and the end of the process have to say."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from core.errors import StoreError, StoreFull
from core.service import readiness
from core.service.lateness import EVERY_S, KEPT, Lateness
from core.service.readiness import FAULT_S, FRESH_S, StoreProbe
from core.store import facts
from core.store.engine import Store
from core.store.open import DATABASE_FILE, open_store
from core.store.sql import Tx
from core.tally import Tally
from tests.clock import DeskClock
from tests.flow.clock import START

ENOUGH = "x" * 200_000


class Counting:
    """How often the store was read."""

    def __init__(self, store: Store) -> None:
        self.reads = 0
        self._read = store.read
        store.read = self._counted  # type: ignore[method-assign, assignment]

    async def _counted(self, unit: Callable[[Tx], object]) -> object:
        self.reads += 1
        return await self._read(unit)


def allow_pages(store: Store, pages: int) -> Awaitable[object]:
    """A disk with room for so many pages of the database."""
    return store.write(lambda tx: tx._cursor.execute(f"PRAGMA max_page_count={pages}", {}))


async def fill(store: Store) -> None:
    await allow_pages(store, 1)
    with pytest.raises(StoreFull):
        await store.write(lambda tx: facts.put(tx, "much", ENOUGH))


async def test_a_store_that_reads_is_well(sqlite_store: Store) -> None:
    assert await StoreProbe(sqlite_store, DeskClock(START)).look() == readiness.FINE


async def test_many_probes_within_a_second_cost_one_read(sqlite_store: Store) -> None:
    clock, counting = DeskClock(START), Counting(sqlite_store)
    probe = StoreProbe(sqlite_store, clock)
    await asyncio.gather(*(probe.look() for _ in range(50)))
    await probe.look()
    assert counting.reads == 1
    await clock.advance(FRESH_S)
    await probe.look()
    assert counting.reads == 2


async def test_a_store_that_hangs_is_asked_once_and_told_of(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "STORE_S", 0.05)
    clock, counting, gate = DeskClock(START), Counting(sqlite_store), threading.Event()
    busy = [asyncio.create_task(counting._read(lambda tx: gate.wait(30))) for _ in sqlite_store._readers]
    await asyncio.sleep(0)
    probe = StoreProbe(sqlite_store, clock)
    for _ in range(3):
        part = await probe.look()
        assert not part.ok
        assert "does not answer" in part.detail
        await clock.advance(2)
    assert counting.reads == 1
    gate.set()
    await asyncio.gather(*busy)
    while not (await probe.look()).ok:
        await clock.advance(2)


async def test_a_closed_store_is_not_well(sqlite_state: Path) -> None:
    store = open_store(None, sqlite_state)
    store.close()
    part = await StoreProbe(store, DeskClock(START)).look()
    assert (part.ok, part.detail) == (False, "it takes nothing (StoreError); the log says why")


async def test_a_full_disk_is_told_of_until_a_write_goes_through_again(sqlite_store: Store) -> None:
    clock = DeskClock(START)
    probe = StoreProbe(sqlite_store, clock)
    await fill(sqlite_store)
    part = await probe.look()
    assert not part.ok
    assert "disk is full" in part.detail
    await allow_pages(sqlite_store, 1_000_000)
    await clock.advance(FAULT_S / 2)
    assert not (await probe.look()).ok, "a small write may go through where a larger one does not"
    await clock.advance(FAULT_S)
    assert (await probe.look()).ok
    await clock.advance(FAULT_S)
    assert (await probe.look()).ok


async def test_after_a_fault_it_has_to_be_shown_that_writes_work(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = DeskClock(START)
    probe = StoreProbe(sqlite_store, clock)
    await fill(sqlite_store)
    assert not (await probe.look()).ok

    async def fails(unit: object) -> None:
        raise StoreFull("the store can't grow")

    monkeypatch.setattr(sqlite_store, "write", fails)
    for _ in range(3):
        await clock.advance(2 * FAULT_S)
        assert not (await probe.look()).ok
    monkeypatch.undo()
    await allow_pages(sqlite_store, 1_000_000)
    await clock.advance(2 * FAULT_S)
    assert (await probe.look()).ok


async def test_a_unit_s_own_fault_says_nothing_of_the_store(sqlite_store: Store) -> None:
    with pytest.raises(StoreError):
        await sqlite_store.write(lambda tx: tx._cursor.execute("INSERT INTO facts (name) VALUES (NULL)", {}))
    assert sqlite_store.tally.last_write_fault is None
    assert (await StoreProbe(sqlite_store, DeskClock(START)).look()).ok


async def test_a_database_that_was_moved_away_is_told_of(sqlite_store: Store, sqlite_state: Path) -> None:
    clock, file, away = DeskClock(START), sqlite_state / DATABASE_FILE, sqlite_state / "away"
    probe = StoreProbe(sqlite_store, clock)
    assert (await probe.look()).ok
    os.rename(file, away)
    await clock.advance(FRESH_S)
    part = await probe.look()
    assert not part.ok
    assert "not where it was" in part.detail
    assert str(sqlite_state) not in part.detail
    os.rename(away, file)
    await clock.advance(FRESH_S)
    assert (await probe.look()).ok


async def test_a_loop_that_was_held_up_is_late_until_it_kept_up_for_a_while() -> None:
    clock, tally = DeskClock(START), Tally()
    lateness = Lateness(clock, tally)
    watching = asyncio.create_task(lateness.watch())
    await asyncio.sleep(0)

    async def woken() -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    clock.settle = woken
    await clock.advance(EVERY_S)
    assert lateness.last_s == pytest.approx(0)
    await clock.leap(6.0)
    assert lateness.worst_s == pytest.approx(6.0 - EVERY_S)
    await clock.advance((KEPT + 1) * EVERY_S)
    assert lateness.worst_s == pytest.approx(0)
    assert tally.late_s.read().count == KEPT + 3
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_no_empty_database_is_made_where_one_was_moved_away(sqlite_store: Store, sqlite_state: Path) -> None:
    await sqlite_store.write(lambda tx: facts.put(tx, "here", "yes"))
    file, away = sqlite_state / DATABASE_FILE, sqlite_state / "away"
    os.rename(file, away)
    with pytest.raises(StoreError, match="is not where it was"):
        sqlite_store.database.connect(readonly=False)
    assert not file.exists()
    os.rename(away, file)
    sqlite_store.database.connect(readonly=True).close()
