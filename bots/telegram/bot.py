"""One Telegram account: connect, listen by long polling, stop.

Updates are fetched raw and read one by one, and Telegram may forget them only after the desk has stored them
(https://core.telegram.org/bots/api#getupdates). What is said stands in `inbound` and `outbound`.
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

import anyio._backends._asyncio  # noqa: F401  # the first request would import these two, on the loop
import httpcore  # noqa: F401
import httpx
import telegram
from telegram import error as sdk
from telegram.request import HTTPXRequest

from bots.telegram import inbound, markup, outbound
from config.bots import TelegramSettings
from core.errors import BotError, BotRejected, FloodWait, NotSent, PollConflict, Rejected, StoreError, Unknown
from core.ports import Clock, Desk, Random
from core.vocabulary import Address, BotName, Capabilities, ChatId, Delivery, MessageId, UserId

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")

_BATCH: Final = 100  # the most that getUpdates gives
_SMALL_BATCH: Final = 10
_NETWORK_WAIT_S: Final = (2.0, 30.0)
_CONFLICT_WAIT_S: Final = (10.0, 60.0)
# After a week without updates their ids start anew at random: https://core.telegram.org/bots/api#update
_OFFSET_LASTS_S: Final = 6 * 86400.0
_OTHER_POLLER: Final = "another process polls this bot: stop it or use another token"
_OTHER_WEBHOOK: Final = "another program sets a webhook for this bot: stop it or use another token"
_STORE_REFUSES: Final = "the store takes no messages; they wait at Telegram"


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long to wait for Telegram. A poll that is `slack_s` late has lost its connection."""

    poll_s: int = 25
    slack_s: float = 10.0
    connect_s: float = 5.0


PATIENCE: Final = Patience()


class TelegramBot:
    """`ports.Bot` with `CanEdit`, `CanType` and `KnowsAdmins`. It sends while `run` runs, else it raises `NotSent`."""

    platform: Final = "telegram"

    def __init__(
        self, name: BotName, *, settings: TelegramSettings, clock: Clock, random: Random, patience: Patience = PATIENCE
    ) -> None:
        self._name = name
        self._settings = settings
        self._clock = clock
        self._random = random
        self._patience = patience
        self._line: _Line | None = None

    @property
    def name(self) -> BotName:
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        return outbound.CAPABILITIES if self._settings.stream else replace(outbound.CAPABILITIES, edit_interval_s=None)

    def parts(self, text: str) -> tuple[str, ...]:
        return markup.parts(text)

    async def run(self, desk: Desk) -> None:
        """What people said before the start and is still held back by Telegram is heard first."""
        async with _connected(self._settings, self._patience) as line:
            listener = _Listener(self._name, line, desk, _Waits(self._clock, self._random), self._patience)
            self._line = line
            try:
                await listener.listen()
            finally:
                self._line = None

    async def send(self, delivery: Delivery) -> MessageId:
        return await self._say(lambda api: outbound.send(api, delivery))

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        await self._say(lambda api: outbound.edit(api, delivery, message))

    async def typing(self, address: Address) -> None:
        await self._aside(lambda api: outbound.typing(api, address))

    async def is_admin(self, chat: ChatId, user: UserId) -> bool:
        return await self._aside(lambda api: outbound.is_admin(api, chat, user))

    async def _aside(self, act: Callable[[telegram.Bot], Awaitable[_T]]) -> _T:
        """A call that the bot can do without: Telegram answers an unknown method as it does a wrong token."""
        if self._line is None:
            raise NotSent("not connected to Telegram")
        try:
            return await self._line.ask(act, telling=False)
        except (BotRejected, PollConflict) as refusal:
            raise Rejected(str(refusal)) from None

    async def _say(self, act: Callable[[telegram.Bot], Awaitable[_T]]) -> _T:
        if self._line is None:
            raise NotSent("not connected to Telegram")
        try:
            return await self._line.ask(act)
        except BotRejected as refusal:  # it ends `run`, where it says what to fix; the delivery can wait
            raise NotSent(str(refusal)) from None
        except PollConflict as strange:
            raise Rejected(str(strange)) from None


class _Listener:
    """The way in, for one `run`."""

    def __init__(self, name: BotName, line: _Line, desk: Desk, waits: _Waits, patience: Patience) -> None:
        self._name = name
        self._line = line
        self._desk = desk
        self._waits = waits
        self._patience = patience
        self._offset: int | None = None
        self._offset_at_s = waits.clock.monotonic()
        self._steady = False
        self._took_over = False

    async def listen(self) -> None:
        us = await self._patiently(self._introduce)
        while True:
            await self._patiently(functools.partial(self._round, us))

    async def _introduce(self) -> inbound.Account:
        told = await self._line.ask(lambda api: outbound.call(api, "get_Me"))
        us = inbound.account(self._name, told)
        if us is None:
            raise Unknown("Telegram does not say who this bot is")
        self._desk.health.account(self._name, str(us.id))
        return us

    async def _round(self, us: inbound.Account) -> None:
        """One poll. The first one, and the one after trouble, does not wait, so that `up` is told at once."""
        steady = self._steady
        updates = await self._poll(self._patience.poll_s if steady else 0)
        await self._hand_over(updates, us)
        self._desk.health.up(self._name)
        self._steady = True
        if steady:  # only a whole poll shows that no other process is polling
            self._waits.failures = 0

    async def _poll(self, poll_s: int) -> list[object]:
        if self._waits.clock.monotonic() - self._offset_at_s > _OFFSET_LASTS_S:
            self._offset = None
        arguments: dict[str, object] = {
            "timeout": poll_s,
            "limit": _SMALL_BATCH if self._waits.failures else _BATCH,
            "allowed_updates": list(inbound.KINDS),
        }
        if self._offset is not None:
            arguments["offset"] = self._offset
        updates = await self._line.ask(
            lambda api: outbound.call(api, "get_Updates", arguments, poll_s + self._patience.slack_s)
        )
        if not isinstance(updates, list):
            raise Unknown("Telegram's answer holds no updates")
        return updates

    async def _hand_over(self, updates: list[object], us: inbound.Account) -> None:
        """Store a batch, then let the next poll confirm it."""
        read = (inbound.read(update, us) for update in updates)
        if batch := [each for each in read if each is not None]:
            await self._desk.receive(batch)
        numbers = [number for update in updates if (number := inbound.update_id(update)) is not None]
        if numbers:
            self._confirm(max(numbers) + 1)
        if len(numbers) < len(updates):
            _LOG.warning("update without an id", extra={"bot": self._name, "updates": len(updates) - len(numbers)})
        if updates and not numbers:
            # They come first in the queue, so nothing readable lies below the next number.
            if self._offset is not None:
                self._confirm(self._offset + 1)
            raise Unknown("Telegram's updates have no ids")

    def _confirm(self, offset: int) -> None:
        self._offset = offset
        self._offset_at_s = self._waits.clock.monotonic()

    async def _patiently(self, step: Callable[[], Awaitable[_T]]) -> _T:
        """Repeat a step until it succeeds, with growing waits. Raises `BotRejected`."""
        while True:
            self._line.check()
            try:
                return await step()
            except BotRejected:
                raise
            except (BotError, StoreError) as trouble:
                await self._sit_out(trouble)

    async def _sit_out(self, trouble: BotError | StoreError) -> None:
        self._steady = False
        if isinstance(trouble, outbound.WebhookSet) and not self._took_over:
            self._took_over = True
            await self._patiently(self._take_over)
            return
        detail, wait_s = _diagnosis(trouble, self._waits)
        self._desk.health.degraded(self._name, detail)
        _LOG.warning("telegram is waited for", extra={"bot": self._name, "detail": detail, "wait_s": round(wait_s, 1)})
        await self._waits.clock.sleep(wait_s)

    async def _take_over(self) -> None:
        """The configuration says that this process polls: a webhook is a leftover, and what it holds comes here."""
        await self._line.ask(lambda api: outbound.call(api, "delete_Webhook", {"drop_pending_updates": False}))
        _LOG.warning("telegram webhook removed because this bot polls", extra={"bot": self._name})


class _Waits:
    """How long to wait between two tries: doubled with each failure, the upper half of it left to chance."""

    def __init__(self, clock: Clock, random: Random) -> None:
        self.clock = clock
        self.failures = 0
        self._random = random

    def next_s(self, first_s: float, most_s: float) -> float:
        longest_s = min(most_s, first_s * 2 ** min(self.failures, 16))
        self.failures += 1
        return self._random.uniform(longest_s / 2, longest_s)


def _diagnosis(trouble: BotError | StoreError, waits: _Waits) -> tuple[str, float]:
    """What to tell the operator, and how long to wait."""
    match trouble:
        case FloodWait():
            return str(trouble), trouble.wait_s
        case outbound.WebhookSet():
            return _OTHER_WEBHOOK, waits.next_s(*_CONFLICT_WAIT_S)
        case PollConflict():
            return _OTHER_POLLER, waits.next_s(*_CONFLICT_WAIT_S)
        case StoreError():
            return _STORE_REFUSES, waits.next_s(*_NETWORK_WAIT_S)
        case _:
            return str(trouble), waits.next_s(*_NETWORK_WAIT_S)


# -- the connection --------------------------------------------------------------------------------------------------


class _Line:
    """The SDK's client. Errors come out as ours, and a refused account is remembered."""

    def __init__(self, api: telegram.Bot) -> None:
        self._api = api
        self._refusal: BotRejected | None = None

    async def ask(self, act: Callable[[telegram.Bot], Awaitable[_T]], *, telling: bool = True) -> _T:
        """`telling`: a refusal of this call tells that the account is refused. Raises `BotError`."""
        try:
            with outbound.in_our_words(self._api.token):
                return await act(self._api)
        except BotRejected as refusal:
            self._refusal = refusal if telling else self._refusal
            raise

    def check(self) -> None:
        """Raises `BotRejected` if Telegram refused the account in any call so far."""
        if self._refusal is not None:
            raise self._refusal


class _Request(HTTPXRequest):
    """The SDK's HTTP client, without what it loses of an answer and what it logs of one."""

    __slots__ = ()

    async def do_request(self, *arguments: Any, **named: Any) -> tuple[int, bytes]:
        status, payload = await super().do_request(*arguments, **named)
        if status in {413, 429} or status >= 500:
            raise outbound.HttpTrouble(status, _retry_after_s(payload))
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
async def _connected(settings: TelegramSettings, patience: Patience) -> AsyncIterator[_Line]:
    # These write addresses, and so the token, and what people say.
    for chatty in ("httpx", "httpcore", "telegram"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    tls = await asyncio.to_thread(_tls_context)
    async with AsyncExitStack() as stack:
        poller = await stack.enter_async_context(_request(settings, patience, tls, connections=1))
        sender = await stack.enter_async_context(_request(settings, patience, tls, connections=64))
        yield _Line(
            telegram.Bot(
                settings.token.reveal(),
                base_url=f"{settings.api_base}/bot",
                base_file_url=f"{settings.file_root}/bot",
                request=sender,
                get_updates_request=poller,
            )
        )


def _request(settings: TelegramSettings, patience: Patience, tls: ssl.SSLContext, *, connections: int) -> _Request:
    return _Request(
        connection_pool_size=connections,
        connect_timeout=patience.connect_s,
        read_timeout=outbound.READ_TIMEOUT_S,
        write_timeout=outbound.READ_TIMEOUT_S,
        pool_timeout=10.0,
        proxy=settings.proxy.reveal() if settings.proxy else None,
        httpx_kwargs={"trust_env": False, "verify": tls},
    )


@functools.cache
def _tls_context() -> ssl.SSLContext:
    """One for all: making it takes 20 ms of a core."""
    return httpx.create_ssl_context()
