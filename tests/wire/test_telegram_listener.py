"""Telegram's posts over a real socket: the daemon's own listener before the bot's application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import httpx
import pytest

from config.settings import ListenSettings
from core.chance import SystemRandom
from core.clock import SystemClock
from core.ports import AsgiApp, AsgiMessage, AsgiReceive, AsgiSend
from core.service.listener import Listener
from tests.clock import PATIENCE_S
from tests.contract.doubles import running
from tests.fakes.telegram.courier import Courier
from tests.fakes.telegram.server import TelegramServer
from tests.wire.telegram_world import World

PATH = "/telegram/telegram"


class Mounted:
    """Serves what is mounted, as the daemon's pages do."""

    def __init__(self) -> None:
        self._mounted: Mapping[str, AsgiApp] = {}

    def load(self) -> None:
        return None

    def app(self, mounted: Mapping[str, AsgiApp]) -> AsgiApp:
        self._mounted = mounted
        return self

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        await self._mounted[PATH]({**scope, "root_path": PATH}, receive, send)


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    clock = SystemClock()
    made = Listener(ListenSettings(port=0), Mounted(), clock=clock, random=SystemRandom(clock))
    async with made.listening():
        made.begin()
        async with asyncio.timeout(PATIENCE_S):
            while made.status.state != "up":  # noqa: ASYNC110  # nobody tells of it
                await asyncio.sleep(0.005)
        yield made


async def test_what_telegram_posts_is_heard_and_everything_else_is_refused(listener: Listener) -> None:
    async with TelegramServer(limits=None) as server, httpx.AsyncClient(trust_env=False) as client:
        world = World(server)
        world.bot = world.another(mode="webhook", webhook_url="https://bots.example.com")
        for prefix, app in world.bot.asgi.items():
            listener.mount(prefix, app)
        address = f"http://{listener.status.address}{PATH}"

        async def deliver(url: str, headers: Mapping[str, str], body: bytes) -> int:
            return (await client.post(address, headers=headers, content=body)).status_code

        courier = Courier(server, deliver)
        async with courier.working(), running(world.bot, world.desk):
            for number in range(50):
                world.say(f"line {number}")
            await world.heard(50)
            await world.confirmed()
            headers, body = server.webhook_post(server.raw({"message": {}}))

            async def pieces() -> AsyncIterator[bytes]:
                yield body[:3]
                yield body[3:]

            assert (await client.post(address, headers=headers, content=pieces())).status_code == 200
            assert (await client.get(address, headers=headers)).status_code == 405
            assert (await client.post(address, content=body)).status_code == 403
            assert (await client.post(f"{address}/x", headers=headers, content=body)).status_code == 404
            assert (await client.post(address, headers=headers, content=b" " * (2 << 20))).status_code == 413
        assert world.words == [f"line {number}" for number in range(50)]
        assert server.violations == ()
