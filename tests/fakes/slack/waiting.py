"""Waiting for a change of the platform or for its clock, on the server's loop."""

import asyncio
import time

from tests.fakes.slack.platform import Platform

LOOK_S = 0.005  # how often a wait looks at a clock that is not the real one


class Waiting:
    """`wake` may be called from any thread."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiters: set[asyncio.Event] = set()

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._platform.listen(self.wake)

    def stop(self) -> None:
        self._platform.unlisten(self.wake)
        self.wake_here()

    def wake(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.wake_here)

    def wake_here(self) -> None:
        for waiter in self._waiters:
            waiter.set()

    def waiter(self) -> asyncio.Event:
        """To be taken before one looks, so that no change in between is missed; give it back to `pause`."""
        changed = asyncio.Event()
        self._waiters.add(changed)
        return changed

    async def pause(self, changed: asyncio.Event, until: float | None) -> None:
        """Until something changes, or (perhaps too early) the time has come."""
        timeout_s = LOOK_S
        if self._platform.clock is time.time:
            timeout_s = 1.0 if until is None else max(0.0, min(1.0, until - time.time()))
        elif until is None:
            timeout_s = 1.0
        try:
            async with asyncio.timeout(timeout_s):
                await changed.wait()
        except TimeoutError:
            return
        finally:
            self._waiters.discard(changed)
