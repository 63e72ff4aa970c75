"""The double to start: on the test's own loop, or on a loop of its own in a thread."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Self, TypeVar, Unpack

from tests.fakes.discord.control import Control, ServerOptions
from tests.fakes.discord.front import HttpFront

T = TypeVar("T")


class _Listening(Control):
    """A double with an address. Everything is below one port, without TLS."""

    def __init__(self, **options: Unpack[ServerOptions]) -> None:
        super().__init__(**options)
        self._front = HttpFront(self.platform)

    @property
    def url(self) -> str:
        """The root, without a slash at its end; attachments are at {url}/cdn/..."""
        return self._front.url

    @property
    def api_base(self) -> str:
        """In place of https://discord.com/api/v10."""
        return f"{self._front.url}/api/v10"

    @property
    def gateway_url(self) -> str:
        """In place of wss://gateway.discord.gg/."""
        return self._front.url.replace("http://", "ws://", 1) + "/gateway"


class DiscordServer(_Listening):
    """`async with DiscordServer() as server`: listens on 127.0.0.1 on a free port, on the running loop."""

    async def __aenter__(self) -> Self:
        await self._front.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._front.stop()

    async def pause(self) -> None:
        """Cuts all connections and stops listening: connections are refused. What Discord knows stays."""
        await self._front.pause()

    async def resume(self) -> None:
        """Listens again, on the same port."""
        await self._front.resume()

    def cut_connections(self) -> None:
        """Cuts all connections, and goes on listening."""
        self._front.cut_connections()

    async def until(self, holds: Callable[[], bool], *, timeout_s: float = 5.0) -> None:
        """Returns when the condition holds; it is looked at after every change. `TimeoutError` after real seconds."""
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(changed.set)

        self.platform.listen(wake)
        try:
            async with asyncio.timeout(timeout_s):
                while not holds():
                    await changed.wait()
                    changed.clear()
        finally:
            self.platform.unlisten(wake)


class ThreadedDiscordServer(_Listening):
    """`with ThreadedDiscordServer() as server`: the same double on a loop of its own, controlled synchronously.

    For clients in other processes: it goes on when they are killed.
    """

    def __init__(self, port: int = 0, **options: Unpack[ServerOptions]) -> None:
        super().__init__(**options)
        self._wanted_port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="discord-double", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._on_loop(self._front.start(self._wanted_port))
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
        """Blocks until the condition holds; it is looked at after every change. `TimeoutError` after real seconds."""
        changed = threading.Event()
        deadline = time.monotonic() + timeout_s
        self.platform.listen(changed.set)
        try:
            while not holds():
                if not changed.wait(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError(f"the condition did not hold within {timeout_s} s")
                changed.clear()
        finally:
            self.platform.unlisten(changed.set)

    def _on_loop(self, work: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10.0)
