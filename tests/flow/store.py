"""A real store that a test can fill up, or lose its process with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

from core.errors import StoreFull
from core.store.engine import Connection, Store, Unit
from core.store.files import FILES, Files
from core.store.open import DATABASE_FILE, prepare, take_lock
from core.store.sql import Tx
from core.store.sqlite import SqliteDatabase
from core.store.sqlite_driver import sqlite

T = TypeVar("T")


class QuickDatabase(SqliteDatabase):
    """No power fails in these tests, so commits need not wait for the disk."""

    def connect(self, *, readonly: bool) -> Connection:
        connection = super().connect(readonly=readonly)
        if not readonly:
            connection.cursor().execute("PRAGMA synchronous=OFF", {})
        return connection


class WatchedFiles(Files):
    """On a disk that a test fills up. `disk`: its free bytes and all; None: what the machine has."""

    disk: tuple[int, int] | None = None

    def room(self) -> tuple[int, int]:
        return super().room() if self.disk is None else self.disk


class WatchedStore(Store):
    """Counts what is under way. `full`: every write fails as on a full disk. With `last_write` set, the process dies
    at that many writes from now: with `heard=False` after it, so that nobody hears of it, else before it."""

    full = False
    begun = 0
    under_way = 0
    writes = 0
    dead = False
    dies_at: int | None = None
    dies_before = False
    hears: asyncio.Event | None = None
    """Until it is set, nobody hears of a commit."""

    async def write(self, unit: Unit[T]) -> T:
        if self.full and not self.dead:
            await asyncio.sleep(0)
            raise StoreFull("the store can't grow: disk is full")
        self.writes += 1
        last = self.dies_at is not None and self.writes >= self.dies_at
        if self.dead or (last and self.dies_before):
            self.dead = True
            return await self._never(unit)
        if last:
            self.dead = True
            await self._watch(super().write(unit))
            return await self._never(unit)
        done = await self._watch(super().write(unit))
        if self.hears is not None:
            await self.hears.wait()
        return done

    async def read(self, unit: Unit[T]) -> T:
        if self.dead:
            return await self._never(unit)
        return await self._watch(super().read(unit))

    async def _never(self, unit: Unit[T]) -> T:
        never: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        return await never

    async def _watch(self, work: Awaitable[T]) -> T:
        self.begun += 1
        self.under_way += 1
        try:
            return await work
        finally:
            self.under_way -= 1

    async def flushed(self) -> None:
        """Return once all that was handed over before is done, also what nobody waits for any more."""
        await super().write(_nothing)
        await super().read(_nothing)


def _nothing(tx: Tx) -> None:
    return None


def open_watched(state: Path) -> WatchedStore:
    """As `open_store`."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = QuickDatabase(state / DATABASE_FILE)
    lock = take_lock(database, state)
    try:
        prepare(database, state)
        return WatchedStore(database, WatchedFiles(state / FILES), lock=lock)
    except BaseException:
        lock.release()
        raise


def corrupting(state: Path, statement: str) -> None:
    """Something outside writes into the file."""
    connection = sqlite.connect(str(state / DATABASE_FILE))
    try:
        connection.execute(statement)
        connection.commit()
    finally:
        connection.close()
