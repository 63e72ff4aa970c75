"""Turns that ran when the process died are asked again one after the other, so that a message which kills the process
is found, and no message is blamed for the death that another one caused.

A death counts against the turn that was asked again while no other of these turns ran; `core.store.turns.Retry` is
stored before the agent is asked. Turns that were opened since run meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

from core.desk.retry_queue import Place, RetryQueue
from core.ports import Clock
from core.store import turns
from core.store.engine import Store
from core.store.sql import to_us
from core.store.turns import Retry, Turn

PASSES_S = 2.0
"""How long a turn's first retry holds up the next turn, if it does not end before. After a death that several retries
shared, or that it was blamed for, it holds the next turn up until it has ended: `turn_timeout_s` at most."""


STARTS_S = 10.0
"""How long bots that are not up yet are waited for."""


class CrashRetries:
    """Lives on the main loop."""

    def __init__(
        self, store: Store, clock: Clock, loaded: Callable[[], Awaitable[None]], up: Callable[[], Awaitable[object]]
    ) -> None:
        """`loaded` returns once agents can be asked, `up` once all bots are up: a death before that counts against no
        turn."""
        self._store = store
        self._clock = clock
        self._loaded = loaded
        self._up = up
        self._queue = RetryQueue()
        self._started: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        """Turns that were not asked again yet."""
        return self._queue.waiting

    def join(self, turn: Turn, call: Callable[[], None]) -> Place:
        """Wait for the time to ask this turn's agent again, when `call` is called. The turn with the fewest deaths is
        the first, so that deaths at random do not add up on one."""
        exclusive = turn.retry is not Retry.WAITING
        rank = (int(exclusive), turn.attempt, to_us(turn.opened_at))
        place = Place(name=turn.id, rank=rank, exclusive=exclusive, call=call)
        self._queue.join(place)
        self._begin(self._call_next())
        return place

    async def _call_next(self) -> None:
        if self._started is None:
            self._started = asyncio.create_task(self._start(), name="crash retries start")
        await asyncio.wait([self._started])
        self._queue.call_next()

    async def _start(self) -> None:
        await self._loaded()
        either = [asyncio.ensure_future(self._up()), asyncio.ensure_future(self._clock.sleep(STARTS_S))]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in either:
                one.cancel()

    async def count(self, place: Place) -> None:
        """Store whom a death is to count against from now on: this turn, or nobody while others of these turns run.
        Called before the agent is asked. Raises `StoreError`; then it may be called again."""
        beside = self._queue.beside(place)
        await self._store.write(lambda tx: turns.ask_again(tx, place.name, beside))
        if not place.exclusive:
            self._begin(self._pass_later(place))

    async def _pass_later(self, place: Place) -> None:
        await self._clock.sleep(PASSES_S)
        self._queue.passed(place)
        self._queue.call_next()

    def leave(self, place: Place) -> None:
        """The turn has ended, or is not asked again."""
        self._queue.leave(place)
        self._begin(self._call_next())

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work, name="crash retries")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """The process ends: nothing more is asked."""
        for task in (*self._tasks, *filter(None, [self._started])):
            task.cancel()
