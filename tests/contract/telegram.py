"""The harness of `bots.telegram`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import httpx

from bots.telegram.bot import TelegramBot
from bots.telegram.webhook import LOOK_S
from config.bots import TelegramSettings
from config.secret import Secret
from core.errors import BotError
from core.vocabulary import Address, BotName, ChatId
from tests.contract.doubles import ManualClock, NoChance
from tests.contract.harness import FLOOD_WAIT_S, Fault, Harness
from tests.fakes.telegram.courier import Courier
from tests.fakes.telegram.server import TelegramServer

NAME = BotName("telegram")


def settings_for(server: TelegramServer, **more: object) -> TelegramSettings:
    return TelegramSettings.model_validate(
        {"name": NAME, "token": Secret(server.token), "api_base": server.url, **more}, strict=False
    )


WEBHOOK = {"mode": "webhook", "webhook_url": "https://bots.example.com"}


async def post(bot: TelegramBot, url: str, headers: Mapping[str, str], body: bytes) -> int:
    """What the listener makes of a post to that address."""
    path = urlsplit(url).path
    app = bot.asgi.get(path)
    if app is None:
        return 404
    transport = httpx.ASGITransport(app, root_path=path)  # type: ignore[arg-type]  # of the same shape
    async with httpx.AsyncClient(transport=transport) as client:
        return (await client.post(url, headers=dict(headers), content=body)).status_code


class TelegramHarness(Harness):
    def __init__(self, server: TelegramServer, clock: ManualClock | None = None, **settings: object) -> None:
        self._server = server
        self._person = server.user()
        self._chat = server.private(self._person)
        self.clock = clock or ManualClock()
        self.telegram = self.bot = TelegramBot(
            NAME, settings=settings_for(server, **settings), clock=self.clock, random=NoChance()
        )
        self.address = Address(bot=NAME, chat=ChatId(str(self._chat.id)))
        self.secrets = (server.token,)
        self.account = str(server.bot.id)

    def say(self, text: str) -> None:
        self._server.say(self._chat, self._person, text)

    def held_back(self) -> int:
        return len(self._server.unconfirmed)

    def seen(self) -> tuple[str, ...]:
        return self._server.chat(self._chat).bot_texts

    def broken_rules(self) -> tuple[object, ...]:
        return self._server.violations

    async def order(self, fault: Fault) -> None:
        match fault:
            case Fault.NOT_REACHED:
                await self._server.pause()
                await self.clock.asleep(1)  # the poll has noticed it, so the other connection is gone too
            case Fault.FLOOD:
                self._server.flood(self._chat, int(FLOOD_WAIT_S))
            case Fault.REJECTED:
                self._server.answer_error("sendMessage", 400, "Bad Request: message is too long")
            case Fault.CHAT_DEAD:
                self._server.block(self._person)
            case Fault.NO_ANSWER:
                self._server.drop("sendMessage", applied=True)
            case Fault.ACCOUNT_REFUSED:
                self._server.revoke()

    async def mend(self) -> None:
        self._server.clear_faults()
        self._server.unblock(self._person)
        await self._server.resume()


@asynccontextmanager
async def telegram() -> AsyncIterator[Harness]:
    async with TelegramServer(limits=None) as server:
        yield TelegramHarness(server)


class PassingClock(ManualClock):
    """Whoever waits for the time to pass is told of it."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: Callable[[], None] = lambda: None

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        if seconds > 0:
            self.passed()


class WebhookHarness(TelegramHarness):
    """The same bot, to which Telegram posts; what was refused is posted again when time has passed."""

    def __init__(self, server: TelegramServer) -> None:
        self.passing = PassingClock()
        super().__init__(server, self.passing, **WEBHOOK)

    async def order(self, fault: Fault) -> None:
        await super().order(fault)
        match fault:
            case Fault.NOT_REACHED:
                with suppress(BotError):  # the connection that was there is noticed to be gone
                    await self.telegram.typing(self.address)
            case Fault.ACCOUNT_REFUSED:
                await self.clock.asleep(1)
                self.clock.advance(LOOK_S)  # nothing is asked before
            case _:
                pass


@asynccontextmanager
async def telegram_webhook() -> AsyncIterator[Harness]:
    async with TelegramServer(limits=None) as server:
        harness = WebhookHarness(server)
        courier = Courier(server, lambda url, headers, body: post(harness.telegram, url, headers, body))
        harness.passing.passed = courier.again
        async with courier.working():
            yield harness
