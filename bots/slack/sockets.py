"""Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode): some sockets at once, so that while Slack
renews one the others hear.

The SDK's client holds one connection; when it is to end or is found dead, a new one takes its place. Opening is ours:
the SDK would try for ever, whatever Slack says.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, Protocol

import aiohttp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from bots.slack.intake import ANSWER_S
from bots.slack.line import Line
from core.backoff import Backoff
from core.errors import BotError, BotRejected, FloodWait, NotSent
from core.fields import Json
from core.ports import Random

_LOG: Final = logging.getLogger(__name__)
_MUTE: Final = logging.getLogger(f"{__name__}.sdk")
"""The SDK writes the address of a socket, which opens it, and what people say."""
_MUTE.disabled = True
_CLOSE_S: Final = 0.5
_OURS: Final[set[_Socket]] = set()
"""Of this process, for whichever account."""
_KINDS: Final = frozenset({"events_api", "slash_commands", "interactive"})
_GONE: Final = (aiohttp.ClientError, ConnectionError, AttributeError, RuntimeError)
"""What the SDK raises if a socket is not there any more."""


class Ear(Protocol):
    """Who listens to the sockets. All is called on the main loop and, but for `take`, waits for nothing."""

    async def take(self, payload: Json) -> Json | None:
        """Something came that Slack wants acknowledged: what goes out with that, empty for nothing. None: it is not to
        be acknowledged."""

    def spawn(self, work: Coroutine[object, object, None]) -> object:
        """Something small that nobody waits for."""

    def connected(self, app: str) -> None:
        """A socket is open; `app` is the app's id."""

    def cut_off(self, detail: str) -> None:
        """No socket is open, and why."""


class Sockets:
    """All sockets of one account, for one `run`."""

    def __init__(self, line: Line, ear: Ear, random: Random, introduce: Callable[[], Any]) -> None:
        """`introduce` asks Slack whether the bot token is still good, and raises `BotError`."""
        self._line = line
        self._ear = ear
        self._random = random
        self._introduce = introduce
        self._open: set[_Socket] = set()

    async def listen(self, count: int) -> None:
        """Until cancelled. Raises `BotRejected`."""
        try:
            async with asyncio.TaskGroup() as slots:
                for _ in range(count):
                    slots.create_task(self._keep_one())
        except ExceptionGroup as faults:
            raise faults.exceptions[0] from None
        finally:
            await asyncio.gather(*(one.end() for one in list(self._open)), return_exceptions=True)

    async def _keep_one(self) -> None:
        """One socket after the other. The next is opened before the last is closed, unless that is dead."""
        waits = Backoff(self._line.clock, self._random)
        last: _Socket | None = None
        brief = 0
        began = False
        while True:
            try:
                socket = await self._opened()
            except BotRejected:
                raise
            except BotError as trouble:
                await self._sit_out(trouble, waits)
                continue
            if not began:
                began = True
                _look_around(socket)
            began_s = self._line.clock.monotonic()
            await self._close(last)
            await socket.over.wait()
            last = socket if socket.renewed else None
            if last is None:
                await self._lost(socket)
            brief = 0 if waits.worked_since(began_s) else brief + 1
            if brief > 1:
                await self._line.clock.sleep(waits.next_s())

    async def _opened(self) -> _Socket:
        await self._introduce()  # a socket opens by the app's token alone, and would be silent
        socket = _Socket(self._line, await self._line.socket_address(), self._heard, self._broke)
        try:
            async with asyncio.timeout(self._line.patience.connect_s):
                await socket.begin()
                await socket.greeted.wait()
        except (*_GONE, OSError, TimeoutError) as error:
            await socket.end()
            raise NotSent(f"Slack's socket can't be reached ({type(error).__name__})") from None
        except asyncio.CancelledError:
            await socket.end()
            raise
        self._open.add(socket)
        self._ear.connected(socket.app)
        return socket

    async def _close(self, socket: _Socket | None) -> None:
        if socket is not None:
            await socket.drained()
            self._open.discard(socket)
            await socket.end()

    async def _lost(self, socket: _Socket) -> None:
        self._broke(socket)
        await socket.end()

    def _broke(self, socket: _Socket) -> None:
        """At once, also while another one is being opened in its place."""
        if socket not in self._open:
            return
        self._open.discard(socket)
        if not self._open:
            self._ear.cut_off("the connection to Slack was lost")

    async def _sit_out(self, trouble: BotError, waits: Backoff) -> None:
        wait_s = trouble.wait_s if isinstance(trouble, FloodWait) else waits.next_s()
        if not self._open:
            self._ear.cut_off(str(trouble))
        _LOG.warning("slack is waited for", extra={"detail": str(trouble), "wait_s": round(wait_s, 1)})
        await self._line.clock.sleep(wait_s)

    def _heard(self, socket: _Socket, request: SocketModeRequest) -> None:
        socket.unanswered.add(request.envelope_id)
        self._ear.spawn(self._answer(socket, request, self._line.clock.monotonic()))

    async def _answer(self, socket: _Socket, request: SocketModeRequest, arrived_s: float) -> None:
        """What comes too late for Slack it brings again."""
        answer = await self._ear.take(request.payload) if request.type in _KINDS else {}
        socket.answered(request.envelope_id)
        if answer is None or self._line.clock.monotonic() - arrived_s > ANSWER_S:
            return
        body = dict(answer) if answer and request.accepts_response_payload else None
        response = SocketModeResponse(envelope_id=request.envelope_id, payload=body)
        for one in (socket, *(self._open - {socket})):
            if one.is_gone:  # the SDK would lose it without a word
                continue
            with suppress(*_GONE):
                await one.send_socket_mode_response(response)
                return


def _look_around(socket: _Socket) -> None:
    """What another process hears of the app is not said to us: https://github.com/slackapi/bolt-python/issues/448."""
    ours = sum(one.app in ("", socket.app) for one in _OURS)
    if socket.of_app > ours:
        _LOG.warning(
            "slack's app has other sockets: a process that ended just now, or one that hears part of what is said",
            extra={"ours": ours, "others": socket.of_app - ours},
        )


def time_of(pong: object) -> float | None:
    """When the ping was sent that this answers, as the SDK writes it into each; None for any other."""
    told = re.fullmatch(rb"sdk-ping-pong:(\d+(?:\.\d+)?)", bytes(pong)) if isinstance(pong, bytes | bytearray) else None
    return float(told[1]) if told is not None else None


class _Socket(SocketModeClient):
    """One connection. It ends by itself for no reason: `over` is set, and its keeper makes another."""

    def __init__(
        self, line: Line, address: str, heard: Callable[[_Socket, SocketModeRequest], None],
        broke: Callable[[_Socket], None],
    ) -> None:  # fmt: skip
        # The SDK gives a connection up after four intervals without a pong.
        super().__init__(
            app_token="",  # the address is all that it needs
            logger=_MUTE,
            web_client=line.web_client(),
            ping_interval=line.patience.ping_s / 4,
        )
        self.proxy = line.proxy  # the SDK would take the environment's
        self._address = address
        self.over = asyncio.Event()
        self.greeted = asyncio.Event()
        self.renewed = False
        """Slack asked for another one, and goes on with this for some seconds."""
        self._is_broken = False
        self.app = ""
        self.of_app = 0
        """How many sockets the app had when this was opened, as Slack counts them."""
        self.unanswered: set[str] = set()
        """The envelopes that came here and wait to be acknowledged."""
        self._all_answered = asyncio.Event()
        self._tell = heard
        self._tell_broken = broke
        self.message_listeners.append(self._on_message)
        self.socket_mode_request_listeners.append(self._on_request)

    async def begin(self) -> None:
        """Connect, once. Raises what aiohttp raises."""
        _OURS.add(self)
        self.current_session = await self.aiohttp_client_session.ws_connect(
            self._address, autoping=False, heartbeat=None, proxy=self.proxy
        )
        self.current_session_monitor = asyncio.ensure_future(self.monitor_current_session())
        self.message_receiver = asyncio.ensure_future(self.receive_messages())

    @property
    def is_gone(self) -> bool:
        return self._is_broken or self.closed

    def answered(self, envelope_id: str) -> None:
        self.unanswered.discard(envelope_id)
        if not self.unanswered:
            self._all_answered.set()

    async def drained(self) -> None:
        """What came here is acknowledged here, in time."""
        self._all_answered.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_S):
                while self.unanswered and not self.closed:
                    await self._all_answered.wait()
                    self._all_answered.clear()

    async def connect_to_new_endpoint(self, force: bool = False) -> None:
        """What the SDK does when a connection is to end, or is found dead."""
        if force:
            self.renewed = True
            self.over.set()
        else:
            self._break_off()

    def _break_off(self) -> None:
        """Nothing comes here any more."""
        self._is_broken = True
        self.over.set()
        if not self.closed:
            self._tell_broken(self)

    async def receive_messages(self) -> None:
        """As the SDK's, which looks only now and then whether the connection has ended."""
        session = self.current_session
        while session is not None:
            message = await session.receive()
            match message.type:
                case aiohttp.WSMsgType.TEXT:
                    await self.enqueue_message(message.data)
                case aiohttp.WSMsgType.PING:
                    with suppress(*_GONE):
                        await session.pong(message.data)
                case aiohttp.WSMsgType.PONG:
                    self.last_ping_pong_time = time_of(message.data) or self.last_ping_pong_time
                case aiohttp.WSMsgType.BINARY:
                    pass
                case _:  # closed, or broken
                    self._break_off()
                    return

    async def _on_message(self, client: AsyncBaseSocketModeClient, message: dict[str, Any], raw: str | None) -> None:
        if message.get("type") == "hello":
            about, count = message.get("connection_info"), message.get("num_connections")
            app = about.get("app_id") if isinstance(about, dict) else None
            self.app = app if isinstance(app, str) else ""
            self.of_app = count if isinstance(count, int) else 0
            self.greeted.set()

    async def _on_request(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self._tell(self, request)

    async def end(self) -> None:
        """Close it, politely for half a second."""
        self.over.set()
        _OURS.discard(self)
        with suppress(TimeoutError, *_GONE):
            async with asyncio.timeout(_CLOSE_S):
                await self.close()  # type: ignore[no-untyped-call]
        for task in (self.message_processor, self.current_session_monitor, self.message_receiver):
            if task is not None:
                task.cancel()
        await self.aiohttp_client_session.close()
