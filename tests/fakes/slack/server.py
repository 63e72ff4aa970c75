"""The double to start: on the test's own loop, or on a loop of its own in a thread."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Self, TypeVar, Unpack

from tests.fakes.slack.cast import ServerOptions
from tests.fakes.slack.front import HttpFront
from tests.fakes.slack.record import Control

T = TypeVar("T")

LOOK_S = 0.02


async def _within(seconds: float, changed: asyncio.Event) -> None:
    """Until the event is set, or the time is over."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await changed.wait()
    changed.clear()


class _Listening(Control):
    """A double with an address."""

    def __init__(self, **options: Unpack[ServerOptions]) -> None:
        super().__init__(**options)
        self._front = HttpFront(self.platform)

    @property
    def url(self) -> str:
        """The root, without a slash at its end."""
        return self._front.url

    @property
    def api_base(self) -> str:
        """What the SDK wants as base_url: methods are at {api_base}{method}."""
        return f"{self._front.url}/api/"


class SlackServer(_Listening):
    """`async with SlackServer() as server`: listens on 127.0.0.1 on a free port, on the running loop."""

    async def __aenter__(self) -> Self:
        await self._front.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._front.stop()

    async def pause(self) -> None:
        """Cuts all connections and stops listening: connections are refused. What Slack knows stays."""
        await self._front.pause()

    async def resume(self) -> None:
        """Listens again, on the same port."""
        await self._front.resume()

    def cut_connections(self) -> None:
        """Cuts all connections, and goes on listening."""
        self._front.cut_connections()

    async def until(self, holds: Callable[[], bool], *, timeout_s: float = 5.0) -> None:
        """Returns when the condition holds; it is looked at after every change here, and every 20 ms for what changes
        elsewhere. `TimeoutError` after real seconds."""
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(changed.set)

        self.platform.listen(wake)
        try:
            async with asyncio.timeout(timeout_s):
                while not holds():
                    await _within(LOOK_S, changed)
        finally:
            self.platform.unlisten(wake)


class ThreadedSlackServer(_Listening):
    """`with ThreadedSlackServer() as server`: the same double on a loop of its own, controlled synchronously.

    For clients in other processes: it goes on when they are killed.
    """

    def __init__(self, **options: Unpack[ServerOptions]) -> None:
        super().__init__(**options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="slack-double", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._on_loop(self._front.start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._on_loop(self._front.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def pause(self) -> None:
        self._on_loop(self._front.pause())

    def resume(self) -> None:
        self._on_loop(self._front.resume())

    def cut_connections(self) -> None:
        self._loop.call_soon_threadsafe(self._front.cut_connections)

    def until(self, holds: Callable[[], bool], *, timeout_s: float = 30.0) -> None:
        """Blocks until the condition holds; see `SlackServer.until`."""
        changed = threading.Event()
        deadline = time.monotonic() + timeout_s
        self.platform.listen(changed.set)
        try:
            while not holds():
                if time.monotonic() >= deadline:
                    raise TimeoutError(f"the condition did not hold within {timeout_s} s")
                changed.wait(LOOK_S)
                changed.clear()
        finally:
            self.platform.unlisten(changed.set)

    def _on_loop(self, work: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10.0)
