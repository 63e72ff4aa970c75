"""A Telegram bot that listens at a webhook, and Telegram as it posts there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx

from bots.telegram.bot import TelegramBot
from tests.fakes.telegram.courier import Courier
from tests.fakes.telegram.server import TelegramServer
from tests.wire.telegram_world import World

ROOT = "https://bots.example.com"
PATH = "/telegram/telegram"
ADDRESS = f"{ROOT}{PATH}"


async def post(bot: TelegramBot, url: str, headers: Mapping[str, str], body: bytes) -> int:
    """What the listener makes of a post to that address."""
    path = urlsplit(url).path
    app = bot.asgi.get(path)
    if app is None:
        return 404
    transport = httpx.ASGITransport(app, root_path=path)  # type: ignore[arg-type]  # of the same shape
    async with httpx.AsyncClient(transport=transport) as client:
        return (await client.post(url, headers=dict(headers), content=body)).status_code


class Hooked(World):
    """A bot that Telegram posts to."""

    def __init__(self, server: TelegramServer) -> None:
        super().__init__(server)
        self.bot = self.another(mode="webhook", webhook_url=ROOT)
        self.courier = Courier(server, self.post)
        self.cut_off = False

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        if self.cut_off:
            raise ConnectionRefusedError
        return await post(self.bot, url, headers, body)

    async def posted(
        self, body: bytes | None = None, *, method: str = "POST", path: str = PATH, **headers: str | None
    ) -> httpx.Response:
        """What the application answers to a request that is right but for what is given."""
        good, update = self.server.webhook_post(self.server.raw({"message": {"chat": "odd"}}))
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {**{name.lower(): value for name, value in good.items()}, **given}
        transport = httpx.ASGITransport(self.bot.asgi[PATH], root_path=PATH)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="https://bots.example.com") as client:
            kept = {name: value for name, value in sent.items() if value is not None}
            return await client.request(method, path, headers=kept, content=update if body is None else body)


@asynccontextmanager
async def hooked() -> AsyncIterator[Hooked]:
    async with TelegramServer(limits=None) as server:
        made = Hooked(server)
        async with made.courier.working():
            yield made
        assert server.violations == ()
