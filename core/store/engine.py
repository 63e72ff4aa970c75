"""The store: units of work on worker threads, and on SQLite many units in one commit.

A unit is a plain function of a `Tx`. It runs in one transaction, may run again (after a serialization failure, or when
a neighbour in its group failed), so it has no side effect but its statements, and takes under 20 ms.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar, cast

from core.errors import StoreError
from core.store.sql import Cursor, Tx

T = TypeVar("T")
Unit = Callable[[Tx], T]

RETRIES = 5
"""How often a unit is run again after the database asked for it."""


class Connection(Protocol):
    """What we use of a DBAPI connection (PEP 249)."""

    def cursor(self) -> Cursor: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def close(self) -> None: ...


class Database(Protocol):
    """How the two databases differ. Called on worker threads."""

    @property
    def dialect(self) -> str: ...
    @property
    def writers(self) -> int:
        """How many units may write at the same time."""

    @property
    def group(self) -> int:
        """How many waiting units share one commit."""

    def connect(self, *, readonly: bool) -> Connection:
        """Raises `StoreError`."""

    def begin(self, cursor: Cursor, *, readonly: bool) -> None: ...

    def translate(self, error: Exception) -> StoreError | None:
        """The driver's error in our words; None where it is no driver's error."""

    def again(self, error: Exception) -> bool:
        """Did the database ask to run the unit again?"""

    def broken(self, error: Exception) -> bool:
        """Is the connection lost?"""


@dataclass(slots=True)
class _Job:
    unit: Unit[object]
    future: asyncio.Future[object]
    loop: asyncio.AbstractEventLoop


@dataclass(slots=True)
class _Done:
    job: _Job
    result: object = None
    error: BaseException | None = None


class _Worker(threading.Thread):
    """One connection on one thread."""

    def __init__(self, database: Database, jobs: SimpleQueue[_Job | None], *, readonly: bool) -> None:
        super().__init__(name="store-reader" if readonly else "store-writer", daemon=True)
        self._database = database
        self._jobs = jobs
        self._readonly = readonly
        self._group = 1 if readonly else database.group
        self._connection: Connection | None = None

    def run(self) -> None:
        while (first := self._jobs.get()) is not None:
            group, last = self._gather(first)
            _hand_back(self._commit(group))
            if last:
                break
        self._drop()

    def _gather(self, first: _Job) -> tuple[list[_Job], bool]:
        group = [first]
        while len(group) < self._group:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is None:
                return group, True
            group.append(job)
        return group, False

    def _commit(self, group: list[_Job]) -> list[_Done]:
        """All in one transaction; if one fails, none of them happened and each gets its own."""
        if len(group) == 1:
            return [self._commit_one(group[0])]
        try:
            results = self._transaction(group)
        except Exception:  # noqa: BLE001  # group commit: the culprit is found and told when each runs by itself
            return [self._commit_one(job) for job in group]
        return [_Done(job, result) for job, result in zip(group, results, strict=True)]

    def _commit_one(self, job: _Job) -> _Done:
        for attempt in range(RETRIES + 1):
            try:
                return _Done(job, self._transaction([job])[0])
            except Exception as error:  # noqa: BLE001  # group commit: every error goes to the one who awaits the unit
                if attempt == RETRIES or not self._database.again(error):
                    return _Done(job, error=self._in_our_words(error))
        raise AssertionError("unreachable")

    def _in_our_words(self, error: Exception) -> Exception:
        ours = self._database.translate(error)
        if ours is None:
            return error
        ours.__cause__ = error
        return ours

    def _transaction(self, group: list[_Job]) -> list[object]:
        if self._connection is None:
            self._connection = self._database.connect(readonly=self._readonly)
        connection = self._connection
        try:
            cursor = connection.cursor()
            self._database.begin(cursor, readonly=self._readonly)
            tx = Tx(cursor, self._database.dialect)
            results = [job.unit(tx) for job in group]
            connection.commit()
        except BaseException as error:
            self._undo(connection, error)
            raise
        return results

    def _undo(self, connection: Connection, error: BaseException) -> None:
        if isinstance(error, Exception) and self._database.broken(error):
            self._drop()
            return
        try:
            connection.rollback()
        except Exception:  # noqa: BLE001  # group commit: the first error is the one that is told
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.close()


def _hand_back(done: list[_Done]) -> None:
    """Wake the loop once for the whole group. A loop that is gone needs no answer."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Done]] = {}
    for one in done:
        by_loop.setdefault(one.job.loop, []).append(one)
    for loop, some in by_loop.items():
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, some)


def _resolve(done: list[_Done]) -> None:
    for one in done:
        if one.job.future.done():
            continue
        if one.error is None:
            one.job.future.set_result(one.result)
        else:
            one.job.future.set_exception(one.error)


class Store:
    """Runs units of work; the only way to the database. Reads and writes are awaited on any event loop."""

    def __init__(self, database: Database, *, readers: int = 2) -> None:
        self.database = database
        self._writes: SimpleQueue[_Job | None] = SimpleQueue()
        self._reads: SimpleQueue[_Job | None] = SimpleQueue()
        self._writers = [_Worker(database, self._writes, readonly=False) for _ in range(database.writers)]
        self._readers = [_Worker(database, self._reads, readonly=True) for _ in range(readers)]
        for worker in (*self._writers, *self._readers):
            worker.start()

    async def write(self, unit: Unit[T]) -> T:
        """Run the unit in a transaction and return once it is durable.

        A caller that is cancelled meanwhile takes nothing back: the unit still runs. Raises what the unit raises, or
        `StoreError`; then nothing of it happened.
        """
        return await self._ask(self._writes, unit)

    async def read(self, unit: Unit[T]) -> T:
        """Run the unit on a snapshot; it can't write."""
        return await self._ask(self._reads, unit)

    async def _ask(self, jobs: SimpleQueue[_Job | None], unit: Unit[T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[object] = loop.create_future()
        jobs.put(_Job(cast("Unit[object]", unit), future, loop))
        return cast("T", await asyncio.shield(future))

    def close(self) -> None:
        """Finish what is queued and end the threads."""
        for _ in self._writers:
            self._writes.put(None)
        for _ in self._readers:
            self._reads.put(None)
        for worker in (*self._writers, *self._readers):
            worker.join()
