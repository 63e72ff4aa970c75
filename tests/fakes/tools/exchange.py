"""One HTTP request after the other on a connection, and who listens for connections."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final

from tests.fakes.tools.recorder import JsonObject, JsonValue
from tests.fakes.tools.session import VERSIONS, Crashed, Session

if TYPE_CHECKING:
    from tests.fakes.tools.front import HttpToolServer

PATH: Final = "/mcp"
SESSION: Final = "Mcp-Session-Id"
PATIENCE_S: Final = 2.0  # for the threads of connections that were cut


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpRequest:
    """One request and what became of it."""

    verb: str
    headers: dict[str, str]
    """With names in small letters."""
    message: JsonObject
    """Empty if there was no body, or none that is an object."""
    status: int
    """Of the answer; it may have been cut off after that."""


class Listener(ThreadingHTTPServer):
    """The socket of one life of the server; a `resume` makes another."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, front: HttpToolServer, port: int) -> None:
        super().__init__(("127.0.0.1", port), Exchange)
        self.front = front
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), name="tools-double", daemon=True)

    def start(self) -> int:
        """The port."""
        self._thread.start()
        return int(self.server_address[1])

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()
        self.cut_connections()

    def join(self) -> None:
        """Waits for the threads of its connections; to be called after `stop`, when no call is running."""
        with self._guard:
            threads = list(self._connections.values())
        for thread in threads:
            thread.join(PATIENCE_S)

    def cut_connections(self) -> None:
        with self._guard:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def process_request_thread(self, request: socket.socket, client_address: object) -> None:  # type: ignore[override]
        with self._guard:
            self._connections[request] = threading.current_thread()
        try:
            with contextlib.suppress(OSError):
                self.finish_request(request, client_address)
        finally:
            with self._guard:
                del self._connections[request]
            self.shutdown_request(request)


class Exchange(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: 40 ms for each answer otherwise
    server: Listener
    message: JsonValue = None

    def log_message(self, format: str, *args: object) -> None:
        """Tests read `requests`."""

    def do_GET(self) -> None:
        self.message = None
        self._refuse_or(405)

    def do_DELETE(self) -> None:
        self.message = None
        if self._refuse_or(None):
            self.server.front.end_session(self.headers[SESSION])
            self._say(204)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        try:
            self.message = json.loads(body)
        except ValueError:
            self.message = None
        if not self._refuse_or(None):
            return
        front = self.server.front
        session = front.session(self.headers.get(SESSION, "")) or front.begin_session()
        try:
            self._answer(session)
        except Crashed:
            self.close_connection = True
            front.crash()

    def _answer(self, session: Session) -> None:
        call = session.begin(self.message)
        if call is None:
            answer = session.answer(self.message)
            self._say(202 if answer is None else 200, answer, {SESSION: session.name} if self._opens else {})
        elif self.server.front.streams:
            self._stream_head()
            self._stream_event(session.run(call))
        else:
            answer = session.run(call)
            self._say(202 if answer is None else 200, answer)

    @property
    def _opens(self) -> bool:
        return isinstance(self.message, dict) and self.message.get("method") == "initialize"

    def _refuse_or(self, status: int | None) -> bool:
        """Whether the request may be answered; it has been, if not."""
        refusal = self._refusal() or status
        if refusal is not None:
            self._say(refusal)
        return refusal is None

    def _refusal(self) -> int | None:
        front, headers = self.server.front, self.headers
        if front.status is not None:
            return front.status
        if front.authorization is not None and headers.get("Authorization") != front.authorization:
            return 401
        if self.path != PATH:
            return 404
        accepted = headers.get("Accept", "")
        if self.command == "POST" and not ("application/json" in accepted and "text/event-stream" in accepted):
            return 406
        if self._opens:
            return None
        if headers.get("MCP-Protocol-Version", VERSIONS[0]) not in VERSIONS or SESSION not in headers:
            return 400
        return None if front.session(headers[SESSION]) else 404

    def _record(self, status: int) -> None:
        message: JsonObject = self.message if isinstance(self.message, dict) else {}
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.front.record(HttpRequest(verb=self.command, headers=headers, message=message, status=status))

    def _say(self, status: int, answer: JsonObject | None = None, headers: dict[str, str] | None = None) -> None:
        body = b"" if answer is None else json.dumps(answer).encode()
        self._record(status)
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if body:
            self.send_header("Content-Type", "application/json")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream_head(self) -> None:
        self._record(200)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _stream_event(self, answer: JsonObject | None) -> None:
        """The end of the stream, after the answer if there is one."""
        event = b"" if answer is None else b"event: message\ndata: " + json.dumps(answer).encode() + b"\n\n"
        if event:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")
