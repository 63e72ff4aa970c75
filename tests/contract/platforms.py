"""A harness for each platform, and for each way in which it hands things over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Final

from bots.discord.bot import DiscordBot
from bots.slack.bot import SlackBot
from bots.telegram.bot import TelegramBot
from bots.telegram.webhook import LOOK_S
from config.bots import DiscordSettings
from config.secret import Secret
from config.settings import ListenSettings
from core.errors import BotError
from core.ports import AsgiApp, AsgiMessage, AsgiReceive, AsgiSend, Desk, Haunt
from core.service.listener import bind
from core.service.web import Server
from core.vocabulary import ChatKind, Message, UserId
from tests.clock import ManualClock
from tests.contract.doubles import NoChance, RecordingDesk
from tests.contract.harness import Harness
from tests.drivers import discord as on_discord
from tests.drivers import slack as on_slack
from tests.drivers import telegram as on_telegram
from tests.drivers.discord import DiscordDriver
from tests.drivers.slack import SlackDriver
from tests.drivers.telegram import TelegramDriver
from tests.fakes.discord import DiscordServer, GatewayRules
from tests.fakes.slack import SlackServer
from tests.fakes.telegram import TelegramServer
from tests.fakes.telegram.courier import Courier
from tests.wire.discord_world import SOON
from tests.wire.telegram_hooked import ROOT, post

SOON_S: Final = 0.05
"""Slack tries again so soon here, and gives up an answer after half a second: a test does not wait minutes."""
SLACK_LOOK_S: Final = 300.0
"""How often Slack is asked, over HTTP, whether it is there."""


class TelegramHarness(Harness):
    def __init__(self, server: TelegramServer, **settings: object) -> None:
        self.server = server
        made = on_telegram.settings_for(server, **settings)

        def make(clock: ManualClock) -> TelegramBot:
            return TelegramBot(on_telegram.NAME, settings=made, clock=clock, random=NoChance())

        super().__init__(TelegramDriver(server), make)

    def held_back(self) -> int:
        return len(self.server.unconfirmed)


class WebhookHarness(TelegramHarness):
    """The same bot, to which Telegram posts; what was refused is posted again when time has passed."""

    bot: TelegramBot

    def __init__(self, server: TelegramServer) -> None:
        super().__init__(server, mode="webhook", webhook_url=ROOT)

    async def _notice(self) -> None:
        with suppress(BotError):  # the connection that was there is noticed to be gone
            await self.bot.typing(self.address)

    async def _ask(self) -> None:
        await self.clock.asleep(1)
        self.clock.advance(LOOK_S)  # nothing is asked before


@asynccontextmanager
async def telegram() -> AsyncIterator[Harness]:
    async with TelegramServer(limits=None) as server:
        yield TelegramHarness(server)


@asynccontextmanager
async def telegram_webhook() -> AsyncIterator[Harness]:
    async with TelegramServer(limits=None) as server:
        harness = WebhookHarness(server)
        courier = Courier(server, lambda url, headers, body: post(harness.bot, url, headers, body))
        harness.clock.moved = lambda seconds: courier.again() if seconds > 0 else None
        async with courier.working():
            yield harness


class Resident(DiscordBot):
    """A bot that has talked in one chat before: its desk says so."""

    def __init__(self, settings: DiscordSettings, clock: ManualClock, haunt: Haunt) -> None:
        super().__init__(on_discord.NAME, settings=settings, clock=clock, random=NoChance(), patience=SOON)
        self._haunt = haunt
        self._desk: RecordingDesk | None = None

    async def run(self, desk: Desk) -> None:
        if isinstance(desk, RecordingDesk):
            desk.haunted = [self._haunt]
            self._desk = desk
        await super().run(desk)

    @property
    def stored(self) -> set[str]:
        heard = self._desk.heard if self._desk is not None else ()
        return {one.message for one in heard if isinstance(one, Message)}


class DiscordHarness(Harness):
    """Discord holds nothing back and lets itself be asked: what the desk has not is what a next start would fetch."""

    bot: Resident

    def __init__(self, server: DiscordServer) -> None:
        self._said: set[str] = set()
        super().__init__(DiscordDriver(server), self._resident)

    def _resident(self, clock: ManualClock) -> Resident:
        haunt = Haunt(address=self.address, kind=ChatKind.DIRECT, heard_at=clock.now())
        return Resident(on_discord.settings_for(self.driver.server), clock, haunt)

    def say(self, text: str) -> str:
        self._said.add(message := super().say(text))
        return message

    def bring(self, text: str, *files: tuple[str, bytes]) -> str:
        self._said.add(message := super().bring(text, *files))
        return message

    def held_back(self) -> int:
        return len(self._said - self.bot.stored)


@asynccontextmanager
async def discord() -> AsyncIterator[Harness]:
    # Tests begin sessions one after the other in less than the five seconds that Discord wants between two.
    async with DiscordServer(limits=None, gateway=GatewayRules(identify_every_s=0.0)) as server:
        yield DiscordHarness(server)


class SlackHarness(Harness):
    bot: SlackBot

    def __init__(self, server: SlackServer, clock: ManualClock | None = None, **settings: object) -> None:
        self.server = server
        made = on_slack.settings_for(server, **settings)

        def make(clock: ManualClock) -> SlackBot:
            return SlackBot(on_slack.NAME, settings=made, clock=clock, random=NoChance())

        driver = SlackDriver(server)
        driver.forgives_late_acks = True  # half a second is short on a busy machine
        super().__init__(driver, make, clock)

    def held_back(self) -> int:
        said = [one for one in self.server.deliveries if one.event.get("user") == self.person]
        return sum(one.state != "acked" for one in said if one.event.get("type") == "message")


@asynccontextmanager
async def slack() -> AsyncIterator[Harness]:
    async with SlackServer(limits=None, answer_s=0.5, retries_s=(SOON_S,) * 1_000) as server:
        yield SlackHarness(server)


class LookingClock(ManualClock):
    """Nobody waits for the looks at Slack: only what sleeps besides is counted."""

    async def asleep(self, times: int) -> float:
        await self.until(lambda: len(self._others) >= times)
        return self._others[times - 1]

    @property
    def _others(self) -> list[float]:
        return [nap for nap in self.naps if nap != SLACK_LOOK_S]

    async def looked(self) -> None:
        """The next look is under way."""
        await self.until(lambda: SLACK_LOOK_S in self.naps)
        self.advance(SLACK_LOOK_S)


class HttpHarness(SlackHarness):
    """The same bot, to which Slack posts through the server that a desk has."""

    def __init__(self, server: SlackServer, clock: LookingClock) -> None:
        secret = Secret(server.bot.signing_secret)
        super().__init__(server, clock, mode="http", app_token=None, signing_secret=secret)
        self._looking = clock

    async def serve(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        await self.bot.asgi[str(scope["path"])](scope, receive, send)

    @property
    def path(self) -> str:
        (path,) = self.bot.asgi
        return path

    async def _ask(self) -> None:
        await self._looking.looked()  # nothing is asked before

    async def _notice(self) -> None:
        with suppress(BotError):  # the connection that was there is noticed to be gone
            await self.bot.is_admin(self.address.chat, UserId(self.person))


@asynccontextmanager
async def listening(app: AsgiApp) -> AsyncIterator[str]:
    """The root below which the application is served."""
    (socket,) = await bind("127.0.0.1", 0)
    server = Server(app, ListenSettings())
    serving = asyncio.create_task(server.serve([socket]))
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        await server.stop()
        await serving
        socket.close()


@asynccontextmanager
async def slack_http() -> AsyncIterator[Harness]:
    """Slack signs by its clock, which goes on by itself and along with the bot's."""
    clock, began_s = LookingClock(), time.monotonic()

    def slack_time() -> float:
        return clock.now().timestamp() + time.monotonic() - began_s

    async with SlackServer(limits=None, clock=slack_time, retries_s=(SOON_S,) * 1_000) as server:
        harness = HttpHarness(server, clock)
        async with listening(harness.serve) as root:
            server.use_http(root + harness.path)
            await server.until(lambda: server.app().request_url_verified)
            yield harness


HARNESSES: Final[dict[str, Callable[[], AbstractAsyncContextManager[Harness]]]] = {
    "discord": discord,
    "slack": slack,
    "slack http": slack_http,
    "telegram": telegram,
    "telegram webhook": telegram_webhook,
}
