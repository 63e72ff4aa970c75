"""The connection to Telegram: the SDK's client, and one for files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, TypeVar

import aiohttp
import telegram
from msgspec import Struct

from bots.telegram.api import in_our_words
from bots.telegram.http import TIMEOUTS, AiohttpRequest, open_session
from config.bots import TelegramSettings
from core.errors import BotRejected

_T = TypeVar("_T")


class Patience(Struct, frozen=True, kw_only=True):
    """How long to wait for Telegram. A poll that is `slack_s` late has lost its connection."""

    poll_s: int = 25
    slack_s: float = 10.0


PATIENCE: Final = Patience()


class Line:
    """The SDK's client. Errors come out as ours, and a refused account is remembered. `files` downloads."""

    def __init__(self, api: telegram.Bot, files: aiohttp.ClientSession) -> None:
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


@asynccontextmanager
async def connected(settings: TelegramSettings) -> AsyncIterator[Line]:
    # These write addresses, and so the token, and what people say.
    for chatty in ("aiohttp", "telegram"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    async with AsyncExitStack() as stack:
        poller = await stack.enter_async_context(AiohttpRequest(settings.proxy, connections=1))
        sender = await stack.enter_async_context(AiohttpRequest(settings.proxy, connections=64))
        files = await stack.enter_async_context(open_session(settings.proxy, TIMEOUTS, connections=16))
        api = telegram.Bot(
            settings.token.reveal(),
            base_url=f"{settings.api_base}/bot",
            base_file_url=f"{settings.file_root}/bot",
            request=sender,
            get_updates_request=poller,
        )
        yield Line(api, files)
