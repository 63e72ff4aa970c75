"""One Telegram account: connect, listen by long polling, stop.

Updates are fetched raw and read one by one, and Telegram forgets them only after the desk has stored them
(https://core.telegram.org/bots/api#getupdates). Nothing here parses what is said: see `inbound` and `outbound`.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import httpx
import telegram
from telegram import error as sdk
from telegram.request import HTTPXRequest

from bots.telegram import inbound, markup, outbound
from config.settings import TelegramSettings
from core.errors import BotError, BotRejected, FloodWait, NotSent, PollConflict, Rejected, StoreError, Unknown
from core.ports import Clock, Desk, Random
from core.vocabulary import Address, BotName, Capabilities, Delivery, MessageId

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")

_QUIET_S: Final = 6 * 86400
"""After a week without updates Telegram starts new ids at random (https://core.telegram.org/bots/api#update)."""
_NETWORK_WAIT_S: Final = (2.0, 30.0)
_CONFLICT_WAIT_S: Final = (10.0, 60.0)
_OTHER_POLLER: Final = "another process polls this bot: stop it or use another token"
_OTHER_WEBHOOK: Final = "another program sets a webhook for this bot: stop it (deleteWebhook) or use another token"
_STORE_REFUSES: Final = "messages wait at Telegram because the store can't take them"


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long to wait for Telegram. `slack_s` more than it was asked for, then the connection counts as dead."""

    poll_s: int = 25
    slack_s: float = 10.0
    connect_s: float = 5.0


class TelegramBot:
    """`ports.Bot`, with `CanEdit` and `CanType`. Sends only while `run` is running; else `NotSent` is raised."""

    platform: Final = "telegram"

    def __init__(
        self,
        name: BotName,
        *,
        settings: TelegramSettings,
        clock: Clock,
        random: Random,
        patience: Patience = Patience(),  # noqa: B008 - frozen
    ) -> None:
        self._name = name
        self._settings = settings
        self._clock = clock
        self._random = random
        self._patience = patience
        self._token = settings.token.reveal()
        self._api: telegram.Bot | None = None
        self._refusal: str | None = None

    @property
    def name(self) -> BotName:
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        if self._settings.stream:
            return outbound.CAPABILITIES
        return replace(outbound.CAPABILITIES, edit_interval_s=None)

    def parts(self, text: str) -> tuple[str, ...]:
        return markup.parts(text)

    async def run(self, desk: Desk) -> None:
        """See `ports.Bot.run`. Whatever Telegram holds back from before the start is heard first."""
        self._refusal = None
        async with self._connected() as api:
            listener = _Listener(self, api, desk)
            us = await listener.patiently(listener.introduce)
            while True:
                await listener.patiently(functools.partial(listener.listen, us))
