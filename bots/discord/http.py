"""The way to Discord's API: discord.py's HTTP client at the configured root, and what it has no fit calls for.

Here stands where Discord is: `Roots`. `[bots.NAME] api_base` takes the place of https://discord.com/api/v10 in every
call, `gateway_url` that of whatever address for the gateway `api_base` + /gateway/bot or the gateway itself hand over.
Other clients of the SDK in the process are not touched.

discord.py keeps to the rate limits that Discord announces (it waits in place). What it repeats by itself (after a 429
of up to `SHORT_S`, after 500, 502, 504 and 524) may be repeated: sends have a nonce, the rest sets something. Answers
to interactions may not, so they go past it; and so do files.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from types import SimpleNamespace
from typing import Any, Final

import aiohttp
from msgspec import Struct

from bots.discord import overheard
from bots.discord.sdk import HTTPClient, Ratelimit, Route, discord, json_or_text
from bots.discord.trouble import EverythingLimited
from config.bots import DiscordSettings
from core.errors import Unknown
from core.ports import Clock

SHORT_S: Final = 2.0
"""A 429 of up to this is sat out within the call; a longer one is the caller's."""
_CALLS: Final = 45
_CALLS_WITHIN_S: Final = 1.25
"""An account may make 50 in any second (https://docs.discord.com/developers/topics/rate-limits#global-rate-limit), by
when they arrive: the way there takes differently long."""
_PIECE: Final = 64 * 1024
_USER_AGENT: Final = "DiscordBot (https://github.com/Rapptz/discord.py, frontdesk)"


class Roots(Struct, frozen=True, kw_only=True):
    """Where Discord is. `gateway` is None where the API says so."""

    api: str
    gateway: str | None


class Patience(Struct, frozen=True, kw_only=True):
    """How long to wait for Discord, in real seconds. `zombie_s` comes on top of two heartbeats without an answer;
    `silence_s` without any word ends a connection too (the library's own rule). `glance_s` is for what holds up all
    that waits to be acknowledged, for which there are three seconds."""

    connect_s: float = 10.0
    ready_s: float = 30.0
    answer_s: float = 20.0
    upload_s: float = 120.0
    zombie_s: float = 5.0
    silence_s: float = 60.0
    goodbye_s: float = 0.5
    glance_s: float = 1.0


PATIENCE: Final = Patience()


class Gateway(Struct, frozen=True, kw_only=True):
    """What GET /gateway/bot says (https://docs.discord.com/developers/events/gateway#get-gateway-bot)."""

    url: str
    shards: int
    starts_left: int
    starts_again_s: float
    concurrency: int


class Http(HTTPClient):
    """One account's calls. `request` raises what discord.py and aiohttp raise; `outbound.ours` knows them all."""

    def __init__(self, settings: DiscordSettings, clock: Clock, patience: Patience = PATIENCE) -> None:
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_start.append(self._take_turn)
        trace.on_connection_reuseconn.append(self._take_turn)
        trace.on_request_end.append(self._look_at)
        super().__init__(
            asyncio.get_running_loop(),
            proxy=settings.proxy.reveal() if settings.proxy else None,
            http_trace=trace,
        )
        self.max_ratelimit_timeout = SHORT_S
        self.roots = Roots(api=settings.api_base, gateway=settings.gateway_url)
        self._clock = clock
        self.patience = patience
        self._shut: dict[str, float] = {}
        """What a 429 has closed, until when (monotonic): a bucket by its name, everything by ""."""
        self._turns: deque[float] = deque()
        """When the latest calls went out, monotonic."""
        self._turn = asyncio.Lock()
        self._plain: aiohttp.ClientSession | None = None
        self.dated: tuple[str, datetime] | None = None
        """What the clock of Discord showed first, as HTTP writes it, and ours when that came."""

    # calls with the bot's token

    async def login(self, token: str) -> Mapping[str, object]:
        """The account, as GET /users/@me tells. Once for each client."""
        told: object = await self.static_login(token)
        return _object(told)

    async def application(self) -> Mapping[str, object]:
        """https://docs.discord.com/developers/resources/application#get-current-application"""
        return _object(await self.call("GET", "/applications/@me"))

    async def call(self, method: str, path: str, body: object = None, **parameters: str) -> Any:
        """`parameters` fill the path: channel_id and guild_id tell rate limits apart."""
        route = Route(method, path, **parameters)
        return await (self.request(route) if body is None else self.request(route, json=body))

    async def history(self, channel: str, query: Mapping[str, str]) -> Any:
        """One page of what was said there (https://docs.discord.com/developers/resources/message#get-channel-messages)."""
        return await self.request(Route("GET", "/channels/{channel_id}/messages", channel_id=channel), params=query)

    async def upload(self, path: str, payload: object, files: Sequence[discord.File], **parameters: str) -> Any:
        """POST a message with files."""
        timeout = self._timeout(self.patience.upload_s)
        route = Route("POST", path, **parameters)
        return await self.request(route, files=files, form=form(payload, files), timeout=timeout)

    async def gateway(self) -> Gateway:
        """Where the gateway is, and how many sessions may begin. Raises as `request`, and `Unknown`."""
        told = _object(await self.call("GET", "/gateway/bot"))
        limit = told.get("session_start_limit")
        numbers = limit if isinstance(limit, dict) else {}
        url = self.roots.gateway or told.get("url")
        if not isinstance(url, str) or not url.startswith(("ws://", "wss://")):
            raise Unknown("Discord names no gateway")
        return Gateway(
            url=url,
            shards=_number(told.get("shards"), 1),
            starts_left=_number(numbers.get("remaining"), 1, least=0),
            starts_again_s=_number(numbers.get("reset_after"), 0, least=0) / 1000,
            concurrency=_number(numbers.get("max_concurrency"), 1),
        )

    async def request(
        self,
        route: Route,
        *,
        files: Sequence[discord.File] | None = None,
        form: Iterable[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> Any:
        route.url = self.roots.api + route.url.removeprefix(Route.BASE)
        kwargs.setdefault("timeout", self._timeout(self.patience.answer_s))
        bucket = f"{route.key}:{route.major_parameters}"
        self._refuse_what_is_shut()
        if (wait_s := self._shut.get(bucket, 0.0) - self._clock.monotonic()) > 0:
            raise discord.RateLimited(wait_s)
        try:
            return await super().request(route, files=files, form=form, **kwargs)
        except discord.RateLimited as limited:
            self._refuse_what_is_shut()
            self._close_until(bucket, limited.retry_after)
            raise

    def _refuse_what_is_shut(self) -> None:
        if (wait_s := self._shut.get("", 0.0) - self._clock.monotonic()) > 0:
            raise EverythingLimited(wait_s)

    def get_ratelimit(self, key: str) -> Ratelimit:
        """Buckets that Discord announces are waited for, however long: only refusals are told to the caller."""
        if key not in self._buckets:
            self._buckets[key] = Ratelimit(None)
            self._try_clear_expired_ratelimits()
        return self._buckets[key]

    def _close_until(self, what: str, wait_s: float) -> None:
        now = self._clock.monotonic()
        self._shut = {name: until for name, until in self._shut.items() if until > now}
        self._shut[what] = now + wait_s

    async def _take_turn(self, *_: object) -> None:
        """Calls of all kinds keep to what an account may make of them in any second. Each takes a connection, also one
        that aiohttp repeats by itself because its connection had gone."""
        async with self._turn:
            if len(self._turns) == _CALLS:
                await self._clock.sleep(self._turns[0] + _CALLS_WITHIN_S - self._clock.monotonic())
                self._turns.popleft()
            self._turns.append(self._clock.monotonic())

    async def _look_at(self, _: object, __: SimpleNamespace, told: aiohttp.TraceRequestEndParams) -> None:
        """A global 429 is for every call, and discord.py knows that only of one that it sits out itself."""
        heads = told.response.headers
        if self.dated is None:
            self.dated = (heads.get("Date", ""), self._clock.now())
        if told.response.status == 429 and "X-RateLimit-Global" in heads:
            self._close_until("", retry_after_s(heads) or SHORT_S)

    # calls without it

    async def whisper(self, method: str, path: str, payload: object, files: Sequence[discord.File] = ()) -> Any:
        """A call below `api_base` that a token in its path allows. Tried once. Raises as `request`."""
        data: aiohttp.FormData | bytes | None = None if payload is None else json.dumps(payload).encode()
        heads = {} if payload is None else {"Content-Type": "application/json"}
        if files:
            data, heads = aiohttp.FormData(quote_fields=False), {}
            for part in form(payload, files):
                data.add_field(**part)
        timeout = self._timeout(self.patience.upload_s if files else self.patience.answer_s)
        url = f"{self.roots.api}{path}"
        async with self._open().request(
            method, url, data=data, headers=heads, timeout=timeout, proxy=self.proxy
        ) as answer:
            told = await json_or_text(answer)
            if answer.status == 429:
                raise discord.RateLimited(retry_after_s(answer.headers, told) or SHORT_S)
            if answer.status >= 300:
                raise discord.HTTPException(answer, told)
            return told

    async def download(self, url: str) -> AsyncIterator[bytes]:
        """A file at an address that Discord handed over, in pieces."""
        timeout = aiohttp.ClientTimeout(
            sock_connect=self.patience.connect_s, sock_read=self.patience.answer_s
        )  # fmt: skip
        async with self._open().get(url, timeout=timeout, proxy=self.proxy) as answer:
            if answer.status != 200:
                raise discord.HTTPException(answer, "the file is not there")
            async for piece in answer.content.iter_chunked(_PIECE):
                yield piece

    async def close(self) -> None:
        await super().close()
        if self._plain is not None:
            await self._plain.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._plain is None:
            self._plain = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), headers={"User-Agent": _USER_AGENT}
            )  # fmt: skip
        return self._plain

    def _timeout(self, total_s: float) -> aiohttp.ClientTimeout:
        return aiohttp.ClientTimeout(total=total_s, sock_connect=self.patience.connect_s)


@asynccontextmanager
async def connected(settings: DiscordSettings, clock: Clock, patience: Patience = PATIENCE) -> AsyncIterator[Http]:
    # At DEBUG these write what people say, and addresses with tokens in them.
    for chatty in ("discord", "aiohttp"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    overheard.translate()
    http = Http(settings, clock, patience)
    try:
        yield http
    finally:
        await http.close()


def form(payload: object, files: Sequence[discord.File]) -> list[dict[str, Any]]:
    """https://docs.discord.com/developers/reference#uploading-files. What is told of a voice message is believed of a
    part that says it is sound: https://github.com/discord/discord-api-docs/pull/7161."""
    text = json.dumps(payload)
    parts: list[dict[str, Any]] = [{"name": "payload_json", "value": text, "content_type": "application/json"}]
    for number, file in enumerate(files):
        kind = "audio/ogg" if file.filename.endswith(".ogg") else "application/octet-stream"
        parts.append({"name": f"files[{number}]", "value": file.fp, "filename": file.filename, "content_type": kind})
    return parts


def retry_after_s(heads: Mapping[str, str], told: object = None) -> float | None:
    """The wait that a 429 names: to the millisecond in its body, in whole seconds in its head."""
    exact = told.get("retry_after") if isinstance(told, dict) else None
    if isinstance(exact, int | float) and 0 < exact < 1e9:
        return float(exact)
    whole = heads.get("Retry-After", "")
    return float(whole) if whole.isdecimal() and len(whole) < 10 else None


def _object(told: object) -> Mapping[str, object]:
    if not isinstance(told, dict):
        raise Unknown("the answer is not Discord's")
    return told


def _number(told: object, otherwise: int, *, least: int = 1) -> int:
    good = isinstance(told, int) and not isinstance(told, bool) and least <= told < 1_000_000_000
    return told if good and isinstance(told, int) else otherwise
