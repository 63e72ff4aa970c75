"""The HTTP server: uvicorn, without its hands on our process. Imported on a thread once the desk is ready."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

import uvicorn
import uvicorn.lifespan.off  # else it would be imported by name, on the main loop
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from config.settings import ListenSettings
from core.ports import AsgiApp, AsgiMessage, AsgiReceive, AsgiSend

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

MOST_CONNECTIONS = 512
"""Half of the files that a process may have open by default. A new one beyond them takes the place of one that waits
for its client."""
REQUEST_S = 10.0
"""From its first byte on, or from the connection on, a request's head must be here within so long; and an answer must
be taken within so long after the connection was given up."""
KEEP_ALIVE_S = 15
"""Whoever asks again within so long needs no new connection."""
END_S = 0.3
"""What is being answered when the daemon ends has so long."""
TICK_S = 1.0
REFUSALS = frozenset({400, 401, 403, 408, 413, 415, 421})
"""Who gets one of these has to connect anew."""
OWN_PROXY = ("127.0.0.1", "::1")
"""Whom `behind_proxy` trusts where nobody is named: a proxy on this machine."""


_NUMBERS = itertools.count()


class Connection(H11Protocol):
    """A client that sends slowly, or nothing, or takes nothing is cut; where there are too many, the first of these."""

    _late: asyncio.TimerHandle | None = None
    _waits_since = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waits_since = next(_NUMBERS)
        self._expect_request()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

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

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._waits_since = next(_NUMBERS)
        if self.transport.is_closing():  # its answer may never be taken
            self._expect_request()

    def _make_room(self) -> None:
        """Cut the one that has waited longest for its client, of the address that has the most connections. Behind a
        proxy all have one address: a request that comes whole is still served before those that don't."""
        here = [one for one in cast("set[Connection]", self.connections) if not one.transport.is_closing()]
        if len(here) > MOST_CONNECTIONS:
            of = Counter(one._peer for one in here)
            idle = (one for one in here if one._waits_for_client)
            max(idle, key=lambda one: (of[one._peer], -one._waits_since), default=self).transport.abort()

    @property
    def _peer(self) -> str:
        return self.client[0] if self.client is not None else ""

    @property
    def _waits_for_client(self) -> bool:
        """For its request, the rest of it, or that the answer is taken."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

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


class _Requests:
    """An application whose requests may be cancelled: uvicorn would log that as a fault of theirs. A connection is
    closed after an answer that refuses its client, or that was given before the request had come whole."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        whole = not _has_body(scope)

        async def hear() -> AsgiMessage:
            nonlocal whole
            message = await receive()
            whole = whole or not message.get("more_body")
            return message

        async def say(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start" and (not whole or message["status"] in REFUSALS):
                headers = message.get("headers", ())
                message = {**message, "headers": [*(headers if isinstance(headers, Iterable) else ()), CLOSE_HEADER]}
            await send(message)

        with contextlib.suppress(asyncio.CancelledError):
            await self._app(scope, hear, say)


def _has_body(scope: AsgiMessage) -> bool:
    headers = scope["headers"]
    pairs = headers if isinstance(headers, Iterable) else ()
    return any(name == b"transfer-encoding" or (name == b"content-length" and value != b"0") for name, value in pairs)


class Server(uvicorn.Server):
    """Serves one application on sockets that are bound already. Signals stay the daemon's."""

    def __init__(self, app: AsgiApp, settings: ListenSettings) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # below are clients' faults, and how it starts
        config = uvicorn.Config(
            cast("ASGI3Application", _Requests(app)),
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
