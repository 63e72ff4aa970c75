"""The way in: one connection per shard to Discord's gateway, kept for ever.

https://docs.discord.com/developers/events/gateway. discord.py's socket does the protocol (HELLO, heartbeats, IDENTIFY,
RESUME, compression), and this module decides when to connect: the library's own loop reconnects without a wait, and its
client hands events on as tasks of their own, so that neither their order nor a full store could be respected. Events
come out raw, in order, on the loop, and whoever hears them must not raise.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, cast

import aiohttp
import yarl

from bots.discord.http import Gateway, Http, Patience
from bots.discord.sdk import DiscordWebSocket, KeepAliveHandler, ReconnectWebSocket, discord
from bots.discord.trouble import ACCOUNT_REFUSED, SDK_FAULTS, in_our_words
from core.backoff import Backoff
from core.errors import BotError, BotRejected
from core.ports import Clock

_LOG: Final = logging.getLogger(__name__)

_INTENTS: Final = discord.Intents.none()
_INTENTS.guilds = _INTENTS.guild_messages = _INTENTS.dm_messages = _INTENTS.message_content = True
"""The least that works: https://docs.discord.com/developers/events/gateway#list-of-intents. Without the first no
channel and no role has a name, and without the last a thread in which the bot is not mentioned is silent."""

_NEW_SHARDS: Final = frozenset({4010, 4011})
_REFUSED: Final[Mapping[int, str]] = {
    4004: ACCOUNT_REFUSED,
    4012: "Discord does not speak this version of its gateway any more: update Frontdesk",
    4013: "Discord does not know the intents that the bot asks for: update Frontdesk",
    4014: (
        "Discord refuses the message content intent: switch on Message Content Intent at "
        "https://discord.com/developers/applications, Bot, Privileged Gateway Intents"
    ),
}
"""https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes"""

_WAIT_S: Final = (1.0, 60.0)
_STEADY_BEATS: Final = 2
"""A connection that held so long ends a row of failures."""
_IDENTIFY_EVERY_S: Final = 5.0 + 0.25  # what they are apart on the way may shrink
"""https://docs.discord.com/developers/events/gateway#sharding-max-concurrency"""
_GIVE_UP_ADDRESS: Final = 3
"""Failures in a row after which a session is resumed at the gateway's common address."""
_SOCKET_FAULTS: Final = (discord.DiscordException, aiohttp.ClientError, OSError, zlib.error, *SDK_FAULTS)


_ENDED: Final = "the connection to Discord's gateway ended"
_UP: Final = ("READY", "RESUMED")
_COMES_BACK, _LEAVES = 4000, 1000
"""Close codes: Discord keeps the session for a while, or ends it and shows the bot offline."""


class ShardsChanged(Exception):
    """Discord refuses this number of shards."""

    def __init__(self, shards: int, code: int) -> None:
        super().__init__(f"Discord's gateway refuses {shards} shard(s) (close code {code})")
        self.shards = shards


class Ear:
    """Who hears what the gateway says. All calls come from the loop and must not raise."""

    def __init__(self, hear: Callable[[str, object, int], None], wanted: Iterable[str]) -> None:
        self.hear = hear
        """Event, its data, and the shard that it came over."""
        self.wanted = frozenset({*_UP, *wanted})

    def up(self, shard: int) -> None:
        """The gateway said something."""

    def down(self, shard: int, why: str, wait_s: float) -> None:
        """No connection for now."""


class Turnstile:
    """When a session may begin: one each five seconds and class of shards, and no more than Discord allows a day. Who
    goes on beyond that loses the token."""

    def __init__(self, http: Http, gateway: Gateway, clock: Clock, begun: dict[int, float]) -> None:
        """`begun`: when the last session of each class began, monotonic; it outlives this run."""
        self._http = http
        self._clock = clock
        self._gateway = gateway
        self._left = gateway.starts_left
        self._begun = begun
        self._doors: dict[int, asyncio.Lock] = {}

    async def through(self, shard: int, tell: Callable[[str], None]) -> None:
        """Raises `BotError` where the limit can't be asked for."""
        door = self._door(shard)
        async with self._doors.setdefault(door, asyncio.Lock()):
            while self._left <= 0:
                hours = self._gateway.starts_again_s / 3600
                tell(f"Discord allows no more sessions for {hours:.1f} h, after too many")
                await self._clock.sleep(max(self._gateway.starts_again_s, _IDENTIFY_EVERY_S))
                with in_our_words():
                    self._gateway = await self._http.gateway()
                self._left = self._gateway.starts_left
            while (wait_s := self._begun.get(door, -_IDENTIFY_EVERY_S) + _IDENTIFY_EVERY_S - self._now_s()) > 0:
                await self._clock.sleep(wait_s)
            self._left -= 1
            self.began(shard)

    def began(self, shard: int) -> None:
        """IDENTIFY is sent just now."""
        self._begun[self._door(shard)] = self._now_s()

    def _door(self, shard: int) -> int:
        return shard % self._gateway.concurrency

    def _now_s(self) -> float:
        return self._clock.monotonic()


class Shard:
    """One connection after the other, and the session that goes on over them."""

    def __init__(self, seat: Seat, url: str, turnstile: Turnstile, waits: Backoff) -> None:
        seat.identifies = turnstile.began
        self._seat = seat
        self._url = url
        self._turnstile = turnstile
        self._waits = waits
        self._session: str | None = None
        self._sequence: int | None = None
        self._resume_url: str | None = None

    async def keep(self) -> None:
        """For ever. Raises `BotRejected`, `ShardsChanged`."""
        while True:
            why = await self._try()
            if self._seat.beats_answered >= _STEADY_BEATS:
                self._waits.failures = 0
            wait_s = self._waits.next_s(*_WAIT_S)
            self._seat.ear.down(self._seat.number, why, wait_s)
            _LOG.info("discord gateway", extra={"shard": self._seat.number, "why": why, "wait_s": round(wait_s, 1)})
            await self._waits.clock.sleep(wait_s)

    async def _try(self) -> str:
        """One connection; tells why it ended."""
        self._seat.is_up = False
        self._seat.beats_answered = 0
        try:
            if self._session is None:
                await self._turnstile.through(self._seat.number, self._say)
            return await self._listen()
        except ReconnectWebSocket as again:
            if not again.resume:
                self._session = None
            return _ENDED if again.resume else "Discord wants a new session"
        except discord.ConnectionClosed as closed:
            return self._closed(closed.code)
        except BotRejected:
            raise
        except BotError as trouble:
            return str(trouble)
        except _SOCKET_FAULTS as trouble:
            return f"no connection to Discord's gateway ({type(trouble).__name__})"

    def _say(self, words: str) -> None:
        self._seat.ear.down(self._seat.number, words, 0.0)

    def _closed(self, code: int) -> str:
        if code in _REFUSED:
            raise BotRejected(_REFUSED[code])
        if code in _NEW_SHARDS:
            raise ShardsChanged(self._seat.shard_count, code)
        self._session = None
        return f"Discord's gateway closed the connection ({code})"

    async def _listen(self) -> str:
        socket: DiscordWebSocket | None = None
        seat = self._seat
        code = _COMES_BACK
        try:
            async with asyncio.timeout(seat.patience.connect_s):
                socket = await DiscordWebSocket.from_client(
                    cast(discord.Client, seat),
                    gateway=yarl.URL(self._address()),
                    shard_id=seat.number,
                    session=self._session,
                    sequence=self._sequence,
                    resume=self._session is not None,
                )
            return await self._hear(socket)
        except asyncio.CancelledError:
            code = _LEAVES
            raise
        finally:
            if socket is not None:
                self._session, self._sequence = socket.session_id, socket.sequence
                self._resume_url = str(socket.gateway)
            await seat.hang_up(code)

    def _address(self) -> str:
        stale = self._waits.failures >= _GIVE_UP_ADDRESS
        if self._session is None or self._resume_url is None or stale or self._seat.line.roots.gateway is not None:
            return self._url
        return self._resume_url

    async def _hear(self, socket: DiscordWebSocket) -> str:
        """Until the connection ends. One whose heartbeats are not answered is dead, whatever else comes over it."""
        beats = socket._keep_alive
        if beats is None or beats.interval is None:
            return "Discord's gateway does not greet"
        patience = self._seat.patience
        try:
            async with asyncio.timeout(patience.ready_s) as fuse:
                await self._poll(socket, beats, fuse, 2 * beats.interval + patience.zombie_s)
        except TimeoutError:
            is_up = self._seat.is_up
            return "Discord's gateway answers no heartbeat" if is_up else "Discord's gateway begins no session"
        return _ENDED

    async def _poll(
        self, socket: DiscordWebSocket, beats: KeepAliveHandler, fuse: asyncio.Timeout, longest_s: float
    ) -> None:  # fmt: skip
        """For ever; what ends a connection is raised. The fuse burns anew with each answer to a heartbeat."""
        loop = asyncio.get_running_loop()
        answered: float | None = None
        while True:
            await socket.poll_event()
            if not self._seat.is_up:
                continue
            if beats._last_ack != answered:
                self._seat.beats_answered += answered is not None
                answered = beats._last_ack
                fuse.reschedule(loop.time() + longest_s)
            self._seat.ear.up(self._seat.number)


class Seat:
    """What `DiscordWebSocket` asks of the client that it belongs to, for one shard."""

    def __init__(self, number: int, count: int, line: Http, ear: Ear, patience: Patience) -> None:
        self.number = number
        self.line = line
        self.ear = ear
        self.patience = patience
        self.is_up = False
        self.beats_answered = 0
        """Since then."""
        self.identifies: Callable[[int], None] = lambda shard: None
        self._socket: DiscordWebSocket | None = None
        # by the library's names
        self.loop = asyncio.get_running_loop()
        self.http = self
        self.token = line.token
        self.shard_count = count
        self.parsers = {name: self._parser(name) for name in ear.wanted}
        self.heartbeat_timeout = patience.silence_s
        self._connection = self
        self._intents = _INTENTS
        self._activity = None
        self._status = None
        self._enable_debug_events = False

    def _parser(self, name: str) -> Callable[[object], None]:
        def hear(data: object) -> None:
            if name in _UP:
                self.is_up = True
            self.ear.hear(name, data, self.number)

        return hear

    async def hang_up(self, code: int) -> None:
        """Close the last connection, and end its heartbeats. Discord need not answer."""
        if self._socket is None:
            return
        with suppress(TimeoutError, aiohttp.ClientError, OSError, RuntimeError):
            async with asyncio.timeout(self.patience.goodbye_s):
                await self._socket.close(code)
        self._socket = None

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        return await self.line.ws_connect(url, compress=compress)

    async def call_hooks(self, *_: Any, **__: Any) -> None:
        """Before IDENTIFY."""
        self.identifies(self.number)

    def dispatch(self, *_: Any) -> None:
        """Nobody listens to the library's own events."""

    def _update_references(self, socket: DiscordWebSocket) -> None:
        """A socket begins, not greeted yet."""
        self._socket = socket
