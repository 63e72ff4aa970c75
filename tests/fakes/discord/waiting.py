"""Waiting for a change or a moment, on the server's loop."""

import asyncio
import time
from weakref import WeakSet

from tests.fakes.discord.platform import Platform

LOOK_S = 0.005  # how often a wait looks at a clock that is not the real one


class Waiters:
    """Who waits on this loop. `wake` may be called from any thread."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: WeakSet[asyncio.Event] = WeakSet()
        self.stopping = False

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.stopping = False
        self._platform.listen(self.wake)

    def stop(self) -> None:
        self.stopping = True
        self._platform.unlisten(self.wake)
        self.wake_here()

    def wake(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.wake_here)

    def wake_here(self) -> None:
        for waiter in self._waiting:
            waiter.set()

    def waiter(self) -> asyncio.Event:
        """To be taken before the condition is looked at, so that no change is missed; ended by `wait`."""
        changed = asyncio.Event()
        self._waiting.add(changed)
        return changed

    async def wait(self, changed: asyncio.Event, until: float | None) -> None:
        """Until something changes, or (perhaps too early) the time has come."""
        timeout_s = LOOK_S
        if self._platform.clock is time.monotonic:
            timeout_s = 1.0 if until is None else max(0.0, min(1.0, until - time.monotonic()))
        try:
            await asyncio.wait_for(changed.wait(), timeout_s)
        except TimeoutError:
            return
        finally:
            self._waiting.discard(changed)
