"""A double to start: on the test's own loop, or on a loop of its own in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Protocol, Self, TypeVar

T = TypeVar("T")


class Front(Protocol):
    """What listens. All calls come from its loop."""

    async def start(self, port: int = 0) -> None: ...
    async def stop(self) -> None: ...
    async def pause(self) -> None: ...
    async def resume(self) -> None: ...
    def cut_connections(self) -> None: ...


class Watched(Protocol):
    """What is known there, and tells of its changes, from any thread."""

    def listen(self, wake: Callable[[], None]) -> None: ...
    def unlisten(self, wake: Callable[[], None]) -> None: ...


class _Serving:
    looks_s: float | None = None
    """How often `until` looks, besides after every change: for what changes elsewhere."""

    @property
    def _listener(self) -> Front:
        raise NotImplementedError

    @property
    def _watched(self) -> Watched:
        raise NotImplementedError


class OnThisLoop(_Serving):
    """`async with ... as server`: listens on 127.0.0.1 on a free port, on the running loop."""

    async def __aenter__(self) -> Self:
        await self._listener.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._listener.stop()

    async def pause(self) -> None:
        """Cuts all connections and stops listening: connections are refused. What is known there stays."""
        await self._listener.pause()

    async def resume(self) -> None:
        """Listens again, on the same port."""
        await self._listener.resume()

    def cut_connections(self) -> None:
        """Cuts all connections, and goes on listening."""
        self._listener.cut_connections()

    async def until(self, holds: Callable[[], bool], *, timeout_s: float = 30.0) -> None:
        """Returns when the condition holds; it is looked at after every change. `TimeoutError` after real seconds."""
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(changed.set)

        self._watched.listen(wake)
        try:
            async with asyncio.timeout(timeout_s):
                while not holds():
                    await _within(self.looks_s, changed)
        finally:
            self._watched.unlisten(wake)


class OnItsThread(_Serving):
    """`with ... as server`: the same double on a loop of its own, controlled synchronously.

    For clients in other processes: it goes on when they are killed.
    """

    _wanted_port = 0
    _loop: asyncio.AbstractEventLoop
    _thread: threading.Thread

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=type(self).__name__, daemon=True)
        self._thread.start()
        self.on_loop(self._listener.start(self._wanted_port))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.on_loop(self._listener.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def pause(self) -> None:
        """Cuts all connections and stops listening: connections are refused. What is known there stays."""
        self.on_loop(self._listener.pause())

    def resume(self) -> None:
        """Listens again, on the same port."""
        self.on_loop(self._listener.resume())

    def cut_connections(self) -> None:
        """Cuts all connections, and goes on listening."""
        self._loop.call_soon_threadsafe(self._listener.cut_connections)

    def until(self, holds: Callable[[], bool], *, timeout_s: float = 30.0) -> None:
        """Blocks until the condition holds; it is looked at after every change. `TimeoutError` after real seconds."""
        changed = threading.Event()
        deadline = time.monotonic() + timeout_s
        self._watched.listen(changed.set)
        try:
            while not holds():
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    raise TimeoutError(f"the condition did not hold within {timeout_s} s")
                changed.wait(left_s if self.looks_s is None else min(left_s, self.looks_s))
                changed.clear()
        finally:
            self._watched.unlisten(changed.set)

    def on_loop(self, work: Coroutine[object, object, T]) -> T:
        """Carry something out where the double lives."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10.0)


async def _within(seconds: float | None, changed: asyncio.Event) -> None:
    """Until the event is set, or the time is over."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(changed.wait(), seconds)
    changed.clear()
