"""The same tools over streamable HTTP, inside the test's process, on threads of its own.

Each answer to a call is an event stream that begins before the tool runs, as with most servers, or one JSON body. There
is no stream for GET: the server says nothing unasked.
Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.fakes.tools.exchange import PATH, HttpRequest, Listener
from tests.fakes.tools.recorder import Recorder
from tests.fakes.tools.session import Session
from tests.secrets import keep

__all__ = ["HttpRequest", "HttpToolServer"]


class HttpToolServer:
    """`with HttpToolServer() as server`: listens on 127.0.0.1 on a free port. To be used from any thread or loop.

    `journal`: where what happens is written, to be read by `Journal`. `file`: where `append_line` writes if it is given
    no path. `authorization`: what the header of that name must be. `streams`: calls are answered with event streams.
    """

    def __init__(
        self,
        *,
        journal: Path | None = None,
        file: Path | None = None,
        authorization: str | None = None,
        streams: bool = True,
    ) -> None:
        self.authorization = keep(authorization) if authorization is not None else None
        self.streams = streams
        self.status: int | None = None
        """While it is set, every request is answered with this status."""
        self._file = None if file is None else str(file)
        self._recorder = Recorder(None if journal is None else str(journal))
        self._requests: list[HttpRequest] = []
        self._sessions: dict[str, Session] = {}
        self._made = 0
        self._lock = threading.Lock()
        self._listener: Listener | None = None
        self._stopped: list[Listener] = []
        self._port = 0

    @property
    def url(self) -> str:
        """The same after `resume`."""
        return f"http://127.0.0.1:{self._port}{PATH}"

    @property
    def requests(self) -> tuple[HttpRequest, ...]:
        """In the order they were answered; one that waits for its tool is here once its stream has begun."""
        with self._lock:
            return tuple(self._requests)

    @property
    def sessions(self) -> tuple[str, ...]:
        """Those that are open."""
        with self._lock:
            return tuple(self._sessions)

    def __enter__(self) -> Self:
        self.resume()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._recorder.close()

    def pause(self) -> None:
        """Cuts all connections and stops listening: connections are refused. Sessions stay, running calls go on."""
        if self._listener is not None:
            self._listener.stop()
            self._stopped.append(self._listener)
            self._listener = None

    def kill(self) -> None:
        """`pause`, and sessions are forgotten: what a restart of a server does."""
        with self._lock:
            sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.end()
        self.pause()
        for listener in self._stopped:
            listener.join()
        self._stopped.clear()

    def resume(self) -> None:
        """Listens again, on the same port."""
        self._listener = Listener(self, self._port)
        self._port = self._listener.start()

    def cut_connections(self) -> None:
        """Cuts all connections, and goes on listening. Sessions stay, running calls go on."""
        if self._listener is not None:
            self._listener.cut_connections()

    # what an exchange asks

    def record(self, request: HttpRequest) -> None:
        with self._lock:
            self._requests.append(request)

    def begin_session(self) -> Session:
        with self._lock:
            self._made += 1
            session = Session(self._recorder, name=f"session-{self._made}", file=self._file)
            self._sessions[session.name] = session
            return session

    def session(self, name: str) -> Session | None:
        with self._lock:
            return self._sessions.get(name)

    def end_session(self, name: str) -> None:
        with self._lock:
            session = self._sessions.pop(name, None)
        if session is not None:
            session.end()

    def crash(self) -> None:
        """What `crash` does here: all sessions are forgotten and all connections cut; the next request is heard."""
        for name in self.sessions:
            self.end_session(name)
        self.cut_connections()
