"""Socket Mode: tickets, `hello`, envelopes, acknowledgements, pings, goodbyes.

Source: https://docs.slack.dev/apis/events-api/using-socket-mode.
"""

import asyncio
import contextlib
import json
from dataclasses import dataclass, field
from typing import TypeAlias

from aiohttp import WSMsgType, web

from tests.fakes.slack.delivery import Attempt, Delivery
from tests.fakes.slack.model import JsonObject, JsonValue
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Ticket
from tests.fakes.slack.responding import take_answer

MAX_SOCKETS = 10  # the source above: "up to 10 open WebSocket connections at the same time"
TICKET_S = 30.0
CONNECTION_S = 18_060
PING_S = 10.0  # Slack's SDKs take a server that was silent for 30 s for dead; it pings more often than that


@dataclass(frozen=True)
class Close:
    """The server ends the connection: with a closing handshake, or without (a reset)."""

    abort: bool = False


@dataclass(frozen=True)
class Ping:
    text: str


Frame: TypeAlias = JsonObject | Close | Ping


@dataclass
class Socket:
    """One connection. While `silent` nothing goes out, and what comes in is lost (a half-dead connection)."""

    id: str
    app_id: str
    opened_at: float
    loop: asyncio.AbstractEventLoop
    silent: bool = False
    leaving: bool = False
    pings: int = 0
    pongs: int = 0
    acked: int = 0
    pinged_at: float = 0.0
    _queue: asyncio.Queue[Frame] = field(default_factory=asyncio.Queue)

    def put(self, frame: Frame) -> None:
        """From any thread."""
        self.loop.call_soon_threadsafe(self._queue.put_nowait, frame)

    async def next(self) -> Frame:
        return await self._queue.get()


def live_sockets(platform: Platform, app_id: str) -> list[Socket]:
    return [one for one in platform.sockets.values() if one.app_id == app_id and not one.leaving]


def ping_sockets(platform: Platform) -> float | None:
    """Slack's ping frames, where they are due. Returns when the next one is."""
    now = platform.clock()
    for socket in platform.sockets.values():
        if now - max(socket.pinged_at, socket.opened_at) >= PING_S:
            socket.pinged_at = now
            socket.put(Ping("Ping from applink-test"))
    times = [max(one.pinged_at, one.opened_at) + PING_S for one in platform.sockets.values()]
    return min(times, default=None)


def send_envelope(socket: Socket, delivery: Delivery, attempt: Attempt) -> None:
    body: JsonObject = {
        "envelope_id": attempt.envelope_id,
        "type": delivery.kind,
        "accepts_response_payload": delivery.accepts_payload,
        "payload": delivery.payload,
    }
    if delivery.kind == "events_api":
        body |= {"retry_attempt": attempt.number, "retry_reason": delivery.reason or ""}
    socket.put(body)


def goodbye(socket: Socket, reason: str) -> None:
    """The `disconnect` message; closing the connection is another step. No envelope goes there any more."""
    socket.leaving = reason != "warning"
    socket.put({"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-test"}})


class SocketDoor:
    """The handshake and the life of each connection. On the server's loop."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def on_link(self, request: web.Request, ticket: Ticket | None) -> web.StreamResponse:
        """The whole life of one connection. Without a good ticket there is none."""
        if ticket is None:
            return web.Response(status=403, text="invalid or used ticket")
        connection = web.WebSocketResponse(autoping=False)
        await connection.prepare(request)
        with self._platform.lock:
            socket = Socket(
                self._platform.new_id("L"), ticket.app_id, self._platform.clock(), asyncio.get_running_loop()
            )
            self._welcome(socket)
        writer = asyncio.create_task(_write(socket, connection, request.transport))
        try:
            await self._read(socket, connection)
        finally:
            with self._platform.lock:
                self._platform.sockets.pop(socket.id, None)
            self._platform.changed()
            writer.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await writer
        return connection

    def redeem(self, value: str) -> Ticket | None:
        ticket = self._platform.tickets.get(value)
        if ticket is None or ticket.used or self._platform.clock() - ticket.at > TICKET_S:
            self._platform.journal.problem("ticket", "socket", "unknown, used or too old")
            return None
        ticket.used = True
        return ticket

    def _welcome(self, socket: Socket) -> None:
        others = [one for one in self._platform.sockets.values() if one.app_id == socket.app_id]
        if len(others) >= MAX_SOCKETS:
            self._platform.journal.problem("too_many_websockets", "socket", f"{len(others)} are open")
            goodbye(socket, "too_many_websockets")
            socket.put(Close())
            return
        debug: JsonObject = {
            "host": "applink-test",
            "build_number": 1,
            "approximate_connection_time": CONNECTION_S,
        }
        socket.put(
            {
                "type": "hello",
                "num_connections": len(others) + 1,
                "debug_info": debug,
                "connection_info": {"app_id": socket.app_id},
            }
        )
        self._platform.sockets[socket.id] = socket
        self._platform.changed()

    async def _read(self, socket: Socket, connection: web.WebSocketResponse) -> None:
        while not connection.closed:
            message = await connection.receive()
            if message.type in {WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR}:
                return
            if socket.silent:
                continue
            if message.type is WSMsgType.PING:
                await connection.pong(message.data)
                socket.pings += 1
            elif message.type is WSMsgType.PONG:
                socket.pongs += 1
            elif message.type is WSMsgType.TEXT:
                self._heard(socket, message.data)
            else:
                self._broken("frame", f"{message.type.name} is not understood")
            self._platform.changed()

    def _heard(self, socket: Socket, text: str) -> None:
        try:
            body: JsonValue = json.loads(text)
        except ValueError:
            self._broken("frame", "no JSON")
            return
        envelope_id = body.get("envelope_id") if isinstance(body, dict) else None
        if not isinstance(body, dict) or not isinstance(envelope_id, str):
            self._broken("frame", "no envelope_id")
            return
        with self._platform.lock:
            self._acknowledged(socket, envelope_id, body)

    def _acknowledged(self, socket: Socket, envelope_id: str, body: JsonObject) -> None:
        if self._platform.acks_lost:
            return
        found = self._platform.courier.find(envelope_id)
        if found is None or found[0].app_id != socket.app_id:
            self._broken("unknown_envelope", envelope_id)
            return
        delivery, attempt = found
        if attempt.via != socket.id and not self._platform.cross_socket_acks:
            return
        if attempt.answered_at is not None:
            self._broken("acked_twice", envelope_id)
            return
        if unknown := body.keys() - {"envelope_id", "payload"}:
            self._broken("frame", f"unknown fields {sorted(unknown)}")
        payload = body.get("payload")
        if payload and not delivery.accepts_payload:
            self._broken("payload_not_accepted", delivery.kind)
        if self._platform.courier.answered(delivery, attempt, payload):
            socket.acked += 1
            take_answer(self._platform, delivery, payload)
        else:
            self._broken("late_ack", f"{delivery.kind} after {attempt.delay_s:.1f} s")

    def _broken(self, rule: str, detail: str) -> None:
        with self._platform.lock:
            self._platform.journal.problem(rule, "socket", detail)


async def _write(socket: Socket, connection: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
    while True:
        frame = await socket.next()
        if isinstance(frame, Close) and frame.abort and transport is not None:
            transport.abort()
        elif not socket.silent or isinstance(frame, Close):
            with contextlib.suppress(ConnectionError):
                await _write_one(frame, connection)


async def _write_one(frame: Frame, connection: web.WebSocketResponse) -> None:
    if isinstance(frame, Ping):
        await connection.ping(frame.text.encode())
    elif isinstance(frame, Close):
        await connection.close()
    else:
        await connection.send_str(json.dumps(frame))
