"""The store: units of work on worker threads, and on SQLite many units in one commit.

A unit is a plain function of a `Tx`. It runs in one transaction, may run again (after a serialization failure, or when
a neighbour in its group failed), so it has no side effect but its statements, and takes under 20 ms.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar, cast

from core.backoff import backoff_s
from core.clock import SystemClock
from core.errors import StoreCorrupt, StoreError, StoreFull, StoreUncertain
from core.ports import Clock
from core.store.files import Files
from core.store.lock import NoLock, ProcessLock
from core.store.sql import Cursor, Tx
from core.store.told_faults import StoreFaults
from core.tally import Tally

T = TypeVar("T")
Unit = Callable[[Tx], T]

RETRIES = 5
"""How often a unit is run again after the database asked for it, or the connection broke before its commit."""
RETRY_S = 0.05
"""The wait before the first retry; it doubles, so that a database that restarts is waited for, 1.6 s in all."""


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
        """Raises the driver's error, or `StoreError` where trying again is of no use."""

    def begin(self, cursor: Cursor, *, readonly: bool) -> None: ...

    def translate(self, error: Exception) -> StoreError | None:
        """The driver's error in our words; None where it is no driver's error."""

    def again(self, error: Exception) -> bool:
        """Did the database ask to run the unit again?"""

    def broken(self, error: Exception) -> bool:
        """Is the connection lost, so that it takes a new one?"""

    def is_gone(self) -> bool:
        """Is what the connections work on no longer where the next start would look for it?"""

    def empty_log(self) -> bool:
        """Write the log back, if there is one of ours, and leave nothing in it. False: it is in use just now. Raises
        the driver's error."""


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


class _Stage(Enum):
    """How far a transaction is."""

    OPENING = auto()
    WORKING = auto()
    COMMITTING = auto()


class _Worker(threading.Thread):
    """One connection on one thread."""

    def __init__(
        self, database: Database, jobs: SimpleQueue[_Job | None], tally: Tally, clock: Clock, *, readonly: bool
    ) -> None:
        super().__init__(name="store-reader" if readonly else "store-writer", daemon=True)
        self._database = database
        self._jobs = jobs
        self._tally = tally
        self._clock = clock
        self._readonly = readonly
        self._group = 1 if readonly else database.group
        self._connection: Connection | None = None
        self._stage = _Stage.OPENING

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
        """All in one transaction; if a unit fails, none of them happened and each gets its own."""
        for attempt in range(RETRIES + 1):
            try:
                results = self._transaction(group)
            except Exception as error:  # noqa: BLE001  # group commit: every error goes to the one who awaits the unit
                if attempt < RETRIES and self._may_retry(error):
                    time.sleep(backoff_s(attempt, RETRY_S))
                    continue
                if len(group) > 1 and self._stage is not _Stage.OPENING:
                    return [done for job in group for done in self._commit([job])]
                return [_Done(job, error=self._in_our_words(error)) for job in group]
            return [_Done(job, result) for job, result in zip(group, results, strict=True)]
        raise AssertionError("unreachable")

    def _may_retry(self, error: Exception) -> bool:
        """A connection that broke in the commit may have committed: running the units again could double them."""
        if self._database.again(error):
            return True
        return self._stage is not _Stage.COMMITTING and self._database.broken(error)

    def _in_our_words(self, error: Exception) -> Exception:
        if self._stage is _Stage.COMMITTING and not self._readonly and self._database.broken(error):
            ours: StoreError | None = StoreUncertain("the connection broke during a commit, which may have happened")
        else:
            ours = self._database.translate(error)
        if ours is None:
            # A future can't carry StopIteration.
            ours = StoreError("a unit ran out of an iterator") if isinstance(error, StopIteration) else None
        if ours is None:
            return error
        ours.__cause__ = error
        if not self._readonly and self._is_the_databases(error, ours):
            self._tally.write_failed(ours)
        return ours

    def _is_the_databases(self, error: Exception, ours: StoreError) -> bool:
        """No unit would have fared better."""
        lost = self._stage is _Stage.OPENING or self._database.broken(error)
        return lost or isinstance(ours, StoreFull | StoreCorrupt | StoreUncertain)

    def _transaction(self, group: list[_Job]) -> list[object]:
        self._stage = _Stage.OPENING
        if self._connection is None:
            self._connection = self._database.connect(readonly=self._readonly)
        connection = self._connection
        began_s = self._clock.monotonic()
        try:
            cursor = connection.cursor()
            self._database.begin(cursor, readonly=self._readonly)
            self._stage = _Stage.WORKING
            tx = Tx(cursor, self._database.dialect)
            results = [job.unit(tx) for job in group]
            cursor.close()
            self._stage = _Stage.COMMITTING
            connection.commit()
        except BaseException as error:
            self._undo(connection, error)
            raise
        if not self._readonly:
            self._tally.committed(len(group), self._clock.monotonic() - began_s)
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
        if one.job.future.done():  # whoever asked has left
            continue
        if one.error is None:
            one.job.future.set_result(one.result)
        else:
            one.job.future.set_exception(one.error)


class Store:
    """Runs units of work; the only way to the database. Reads and writes are awaited on any event loop."""

    def __init__(self, database: Database, files: Files, *, readers: int = 2, lock: ProcessLock | None = None) -> None:
        """`lock` is given back when the store is closed. `tally` begins with the store, since commits do."""
        self.database = database
        self.tally = Tally()
        self.faults = StoreFaults()
        """What whoever has something to write says of its faults, for the log."""
        self.files = files
        self.lock = lock or NoLock()
        self._door = threading.Lock()
        self._closed = False
        self._writes: SimpleQueue[_Job | None] = SimpleQueue()
        self._reads: SimpleQueue[_Job | None] = SimpleQueue()
        clock = SystemClock()
        self._writers = [
            _Worker(database, self._writes, self.tally, clock, readonly=False) for _ in range(database.writers)
        ]
        self._readers = [_Worker(database, self._reads, self.tally, clock, readonly=True) for _ in range(readers)]
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

    async def empty_log(self) -> bool:
        """Take out of the write-ahead log what was deleted meanwhile; False: somebody reads, so try again later. Holds
        others up for `sqlite.LOG_S` and the writing at most. Raises `StoreError`."""
        try:
            return await asyncio.to_thread(self.database.empty_log)
        except Exception as error:
            raise self.database.translate(error) or error from error

    async def _ask(self, jobs: SimpleQueue[_Job | None], unit: Unit[T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[object] = loop.create_future()
        with self._door:
            if self._closed:
                raise StoreError("the store is closed")
            jobs.put(_Job(cast("Unit[object]", unit), future, loop))
        return cast("T", await future)

    def close(self) -> None:
        """Finish what is queued, end the threads and give the lock back. Blocking; a second call does nothing."""
        with self._door:
            if self._closed:
                return
            self._closed = True
            for _ in self._writers:
                self._writes.put(None)
            for _ in self._readers:
                self._reads.put(None)
        for worker in (*self._readers, *self._writers):
            worker.join()
        self.lock.release()
