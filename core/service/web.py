"""The HTTP server: uvicorn, without its hands on our process. Imported on a thread once the desk is ready."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import uvicorn
import uvicorn.lifespan.off  # else it would be imported by name, on the main loop
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from config.settings import ListenSettings
from core.ports import AsgiApp, AsgiMessage, AsgiReceive, AsgiSend

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

MOST_CONNECTIONS = 512
"""Half of the files that a process may have open by default; more are cut as they come."""
REQUEST_S = 10.0
"""From its first byte on, or from the connection on, a request's head must be here within so long; and an answer must
be taken within so long after the connection was given up."""
KEEP_ALIVE_S = 15
"""Whoever asks again within so long needs no new connection."""
END_S = 0.3
"""What is being answered when the daemon ends has so long."""
TICK_S = 1.0
OWN_PROXY = ("127.0.0.1", "::1")
"""Whom `behind_proxy` trusts where nobody is named: a proxy on this machine."""


class Connection(H11Protocol):
    """A client that sends slowly, or nothing, or takes nothing is cut."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_complete:
            self._expect_nothing()
        else:
            self._expect_request()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._expect_request()  # it is closed once its answer is taken, which may be never

    def _expect_request(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(REQUEST_S, self.transport.abort)

    def _expect_nothing(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Cuttable:
    """An application whose requests may be cancelled: uvicorn would log that as a fault of theirs."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await self._app(scope, receive, send)


class Server(uvicorn.Server):
    """Serves one application on sockets that are bound already. Signals stay the daemon's."""

    def __init__(self, app: AsgiApp, settings: ListenSettings) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # below are clients' faults, and how it starts
        config = uvicorn.Config(
            cast("ASGI3Application", _Cuttable(app)),
            http=Connection,
            ws="none",
            loop="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=settings.behind_proxy,
            forwarded_allow_ips="*" if "*" in settings.trusted_proxies else list(settings.trusted_proxies or OWN_PROXY),
            timeout_keep_alive=KEEP_ALIVE_S,
        )
        super().__init__(config)
        self._leaving = asyncio.Event()
        self._gone = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGTERM drains the desk first; what uvicorn would do with it comes last."""
        yield

    def leave(self) -> None:
        """Take nothing more; what is being answered is answered, in `END_S` at most."""
        self._leaving.set()

    async def stop(self) -> None:
        """Leave, and return once every connection is gone."""
        self.leave()
        await self._gone.wait()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Until it is told to leave. Raises `OSError` if the sockets can't be used."""
        try:
            await super().serve(sockets)
        finally:
            self._gone.set()

    async def main_loop(self) -> None:
        """In place of ten looks a second: one, for the Date header."""
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += 10  # uvicorn counts tenths
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._leaving.wait()
            if self._leaving.is_set():
                return

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """No new connections, idle ones are closed, busy ones end what they are at; then all are cut."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=END_S)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # they hear that their clients are gone before they are cancelled
        left = list(self.server_state.tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
