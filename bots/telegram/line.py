"""The connection to Telegram: the SDK's client, and one for files."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import anyio._backends._asyncio  # noqa: F401  # the first request would import these two, on the loop
import httpcore  # noqa: F401
import httpx
import telegram
from telegram import error as sdk
from telegram.request import HTTPXRequest

from bots.telegram.api import READ_TIMEOUT_S, HttpTrouble, Shut, in_our_words
from config.bots import TelegramSettings
from core.errors import BotRejected

_T = TypeVar("_T")

_POOL_TIMEOUT_S: Final = 10.0
_WRITE_TIMEOUT_S: Final = 60.0
"""For a piece of a file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long to wait for Telegram. A poll that is `slack_s` late has lost its connection."""

    poll_s: int = 25
    slack_s: float = 10.0
    connect_s: float = 5.0


PATIENCE: Final = Patience()


class Line:
    """The SDK's client. Errors come out as ours, and a refused account is remembered. `files` downloads."""

    def __init__(self, api: telegram.Bot, files: httpx.AsyncClient) -> None:
        self._api = api
        self.files = files
        self.refused = asyncio.Event()
        self._refusal: BotRejected | None = None

    async def ask(self, act: Callable[[telegram.Bot], Awaitable[_T]], *, telling: bool = True) -> _T:
        """`telling`: a refusal of this call tells that the account is refused. Raises `BotError`."""
        try:
            with in_our_words(self._api.token):
                return await act(self._api)
        except BotRejected as refusal:
            if telling:
                self._refusal = refusal
                self.refused.set()
            raise

    def check(self) -> None:
        """Raises `BotRejected` if Telegram refused the account in any call so far."""
        if self._refusal is not None:
            raise self._refusal


class _Request(HTTPXRequest):
    """The SDK's HTTP client, without what it loses of an answer and what it logs of one."""

    __slots__ = ()

    async def do_request(self, *arguments: Any, **named: Any) -> tuple[int, bytes]:
        if self._client.is_closed:  # else the SDK raises what looks as if the request might have left
            raise Shut("the connection is closed")
        status, payload = await super().do_request(*arguments, **named)
        if status in {413, 429} or status >= 500:
            raise HttpTrouble(status, _retry_after_s(payload))
        return status, payload

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(payload.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise sdk.TelegramError("the answer is no JSON") from None
        if not isinstance(answer, dict) or not isinstance(answer.get("parameters", {}), dict):
            raise sdk.TelegramError("the answer is not the Bot API's")
        return {"result": None, **answer}


def _retry_after_s(payload: bytes) -> float | None:
    try:
        answer = _Request.parse_json_payload(payload)
    except sdk.TelegramError:
        return None
    wait_s = answer.get("parameters", {}).get("retry_after")
    return float(wait_s) if isinstance(wait_s, int | float) and 0 < wait_s < 1e9 else None


@asynccontextmanager
async def connected(settings: TelegramSettings, patience: Patience) -> AsyncIterator[Line]:
    # These write addresses, and so the token, and what people say.
    for chatty in ("httpx", "httpcore", "telegram"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    tls = await asyncio.to_thread(_tls_context)
    async with AsyncExitStack() as stack:
        poller = await stack.enter_async_context(_request(settings, patience, tls, connections=1))
        sender = await stack.enter_async_context(_request(settings, patience, tls, connections=64))
        files = await stack.enter_async_context(_files(settings, patience, tls))
        api = telegram.Bot(
            settings.token.reveal(),
            base_url=f"{settings.api_base}/bot",
            base_file_url=f"{settings.file_root}/bot",
            request=sender,
            get_updates_request=poller,
        )
        yield Line(api, files)


def _request(settings: TelegramSettings, patience: Patience, tls: ssl.SSLContext, *, connections: int) -> _Request:
    return _Request(
        connection_pool_size=connections,
        connect_timeout=patience.connect_s,
        read_timeout=READ_TIMEOUT_S,
        write_timeout=READ_TIMEOUT_S,
        media_write_timeout=_WRITE_TIMEOUT_S,
        pool_timeout=_POOL_TIMEOUT_S,
        proxy=settings.proxy.reveal() if settings.proxy else None,
        httpx_kwargs={"trust_env": False, "verify": tls},
    )


def _files(settings: TelegramSettings, patience: Patience, tls: ssl.SSLContext) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        timeout=httpx.Timeout(READ_TIMEOUT_S, connect=patience.connect_s),
        limits=httpx.Limits(max_connections=16, max_keepalive_connections=2),
        proxy=settings.proxy.reveal() if settings.proxy else None,
        headers={"Accept-Encoding": "identity"},
        trust_env=False,
        verify=tls,
    )


@functools.cache
def _tls_context() -> ssl.SSLContext:
    """One for all: making it takes 20 ms of a core."""
    return httpx.create_ssl_context()
