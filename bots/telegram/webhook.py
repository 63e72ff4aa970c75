"""Listening at an address of our own, to which Telegram posts each update until it is taken
(https://core.telegram.org/bots/api#setwebhook).

The updates of one chat come one after the other; those of several chats at once, and are stored in the order in which
they came. Telegram is told 200 only after the desk has stored them.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from bots.telegram import inbound
from bots.telegram.addressed import Account
from bots.telegram.api import call
from bots.telegram.endurance import OTHER_WEBHOOK, STORE_REFUSES, Endurance
from bots.telegram.intake import Intake
from config.bots import TelegramSettings
from config.secret import Secret
from config.values import web_address
from core.errors import BotError, BotRejected, StoreError
from core.ports import AsgiMessage, AsgiReceive, AsgiSend
from core.vocabulary import BotName

_LOG: Final = logging.getLogger(__name__)

MOST_BYTES: Final = 1 << 20
"""Of a body. An update tells of one message, whose texts have thousands of characters."""
CONNECTIONS: Final = 20
"""Updates that Telegram posts at once; they are stored together."""
LOOK_S: Final = 60.0
"""How often Telegram is asked how it gets on."""
_BATCH: Final = 100
_RETRY_AFTER: Final = (b"retry-after", b"5")
"""Telegram waits so many seconds before it repeats what was refused, where it is told (WebhookActor.cpp)."""

TAKEN, NOT_NOW = 200, 503


def prefix_of(bot: BotName) -> str:
    """Where the listener serves the bot."""
    return f"/telegram/{bot}"


def webhook_address(settings: TelegramSettings, bot: BotName) -> str:
    """Where Telegram posts."""
    return f"{settings.webhook_url}{prefix_of(bot)}"


def host_of(url: str) -> str:
    """All of an address that may be shown: what surrounds it may be secret."""
    address = web_address(url)
    return str(address.hostname) if address is not None else "an unknown address"


def secret_of(bot: BotName, token: Secret) -> str:
    """What Telegram shows with each post: nothing that leads back to the token. 64 of the characters that are allowed
    (https://core.telegram.org/bots/api#setwebhook)."""
    return hmac.new(token.reveal().encode(), f"frontdesk webhook {bot}".encode(), hashlib.sha256).hexdigest()


class Post(Struct, frozen=True):
    """An update that was posted, and who waits for the status of the answer."""

    update: object
    answer: asyncio.Future[int]


class Door:
    """The application (ASGI 3). While nobody listens, everything is refused for now."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._waiting: deque[Post] = deque()
        self.knocked: asyncio.Event | None = None
        """Set when something was posted; None while nobody listens."""

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        if scope["type"] != "http":
            raise ValueError(f"nothing but HTTP is served here, no {scope['type']}")
        status = await self._status(scope, receive)
        headers = [(b"content-length", b"0"), *([_RETRY_AFTER] if status == NOT_NOW else [])]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _status(self, scope: AsgiMessage, receive: AsgiReceive) -> int:
        if str(scope["path"]) != str(scope.get("root_path", "")):
            return 404
        if scope["method"] != "POST":
            return 405
        headers = _headers(scope)
        if not hmac.compare_digest(headers.get(b"x-telegram-bot-api-secret-token", b""), self._secret):
            return 403
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            return 415
        body = await _body(receive)
        if body is None:
            return 413
        try:
            update = json.loads(body)
        except (ValueError, RecursionError):
            return 400
        return await self._handed_over(update)

    async def _handed_over(self, update: object) -> int:
        if self.knocked is None:
            return NOT_NOW
        post = Post(update, asyncio.get_running_loop().create_future())
        self._waiting.append(post)
        self.knocked.set()
        return await post.answer

    def posts(self, most: int) -> list[Post]:
        """The first that wait."""
        return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def open(self, knocked: asyncio.Event) -> None:
        self.knocked = knocked

    def shut(self) -> None:
        """Whoever waits is told to come again."""
        self.knocked = None
        answer(self.posts(len(self._waiting)), NOT_NOW)


def answer(posts: Iterable[Post], status: int) -> None:
    for post in posts:
        if not post.answer.done():  # whoever posted it may have gone
            post.answer.set_result(status)


def _headers(scope: AsgiMessage) -> dict[bytes, bytes]:
    headers = scope["headers"]
    return {name.lower(): value for name, value in headers} if isinstance(headers, Iterable) else {}


async def _body(receive: AsgiReceive) -> bytes | None:
    """None if it is too long, or did not come to its end."""
    body = bytearray()
    while len(body) <= MOST_BYTES:
        message = await receive()
        if message["type"] != "http.request":
            return None
        piece = message.get("body", b"")
        body += piece if isinstance(piece, bytes) else b""
        if not message.get("more_body"):
            return bytes(body) if len(body) <= MOST_BYTES else None
    return None


class WebhookListener:
    """The way in, for one `run`."""

    def __init__(self, settings: TelegramSettings, door: Door, intake: Intake, endurance: Endurance) -> None:
        self._settings = settings
        self._door = door
        self._intake = intake
        self._endurance = endurance
        self._clock = endurance.waits.clock
        self._stirred = asyncio.Event()
        self._heard_at: datetime | None = None
        self._refusing = False

    @property
    def _address(self) -> str:
        return webhook_address(self._settings, self._endurance.bot)

    async def listen(self, us: Account) -> None:
        """Until cancelled. Raises `BotRejected`. The door is open before Telegram is told of it."""
        self._door.open(self._stirred)
        keeping = asyncio.create_task(self._keep_set(), name="webhook")
        keeping.add_done_callback(lambda _: self._stirred.set())
        try:
            while not keeping.done():
                await self._stirred.wait()
                self._stirred.clear()
                await self._take(us)
            await keeping
        finally:
            self._door.shut()
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _set(self) -> None:
        arguments: dict[str, object] = {
            "url": self._address,
            "secret_token": secret_of(self._endurance.bot, self._settings.token),
            "allowed_updates": list(inbound.KINDS),
            "max_connections": CONNECTIONS,
            "drop_pending_updates": False,
        }
        await self._endurance.line.ask(lambda api: call(api, "set_Webhook", arguments))

    async def _take(self, us: Account) -> None:
        """Store what was posted, and tell Telegram so."""
        while posts := self._door.posts(_BATCH):
            status = NOT_NOW
            try:
                await self._intake.take([post.update for post in posts], us)
                status = TAKEN
            except StoreError as trouble:
                self._endurance.health.degraded(self._endurance.bot, STORE_REFUSES)
                _LOG.warning("telegram is told to post again", extra={"bot": self._endurance.bot, "why": str(trouble)})
            finally:
                answer(posts, status)
            self._refusing = status != TAKEN
            if not self._refusing:
                self._heard_at = self._clock.now()
                self._endurance.health.up(self._endurance.bot)

    async def _keep_set(self) -> None:
        """Raises `BotRejected` once any call was refused so."""
        await self._endurance.repeat(self._set)
        self._endurance.health.up(self._endurance.bot)
        while True:
            slept = asyncio.create_task(self._clock.sleep(LOOK_S))
            refused = asyncio.create_task(self._endurance.line.refused.wait())
            try:
                await asyncio.wait({slept, refused}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                slept.cancel()
                refused.cancel()
            self._endurance.line.check()
            await self._look()

    async def _look(self) -> None:
        try:
            told = await self._endurance.line.ask(lambda api: call(api, "get_Webhook_Info"))
            trouble = self._trouble(told if isinstance(told, dict) else {})
            if trouble == OTHER_WEBHOOK:
                await self._set()
        except BotRejected:
            raise
        except BotError as error:
            trouble = str(error)
        if self._refusing:  # which is what Telegram complains of, too
            return
        if trouble:
            self._endurance.health.degraded(self._endurance.bot, trouble)
        else:
            self._endurance.health.up(self._endurance.bot)

    def _trouble(self, told: dict[str, object]) -> str:
        """What keeps updates from coming here: https://core.telegram.org/bots/api#webhookinfo."""
        if told.get("url") != self._address:
            return OTHER_WEBHOOK
        waits, failed_at = told.get("pending_update_count"), told.get("last_error_date")
        said = told.get("last_error_message")
        if not waits or not isinstance(said, str) or not isinstance(failed_at, int):
            return ""
        with suppress(OverflowError, ValueError, OSError):
            if self._heard_at is not None and datetime.fromtimestamp(failed_at, UTC) < self._heard_at:
                return ""
        return f"Telegram can't deliver to {host_of(self._address)}: {said[:200]}"
