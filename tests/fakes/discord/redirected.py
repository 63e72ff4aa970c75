"""discord.py against the double: its REST calls, its gateway and its interaction callbacks go to the server's address.

Three seams of the real library and nothing of it replaced: the HTTP client's `request` and `ws_connect`, and the
adapter that carries interaction callbacks (it builds its own addresses).
"""

import asyncio
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import yarl

from tests.fakes.discord.server import DiscordServer, ThreadedDiscordServer

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # discord.py imports audioop, for voice
    import discord
    from discord import app_commands
    from discord.http import HTTPClient, Route
    from discord.webhook.async_ import AsyncWebhookAdapter, async_context

OFFICIAL = "https://discord.com/api/v10"


@dataclass(frozen=True)
class Address:
    api_base: str
    gateway_url: str

    @classmethod
    def of(cls, server: DiscordServer | ThreadedDiscordServer) -> "Address":
        return cls(server.api_base, server.gateway_url)


class _Http(HTTPClient):
    address: Address

    async def request(self, route: Route, **values: Any) -> Any:
        route.url = route.url.replace(OFFICIAL, self.address.api_base, 1)
        return await super().request(route, **values)

    async def ws_connect(self, url: str, *, compress: int = 0) -> Any:
        given = yarl.URL(url)
        there = yarl.URL(self.address.gateway_url).with_query(given.query)
        return await super().ws_connect(str(there), compress=compress)


class _Adapter(AsyncWebhookAdapter):
    def __init__(self, address: Address) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._address = address

    async def request(self, route: Route, session: Any, **values: Any) -> Any:
        route.url = route.url.replace(OFFICIAL, self._address.api_base, 1)
        return await super().request(route, session, **values)


INTENTS = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)


class Bot(discord.Client):
    """Keeps what it hears; `heard` are messages, `edits` and `interactions` the rest."""

    def __init__(self, address: Address, intents: discord.Intents | None = None) -> None:
        super().__init__(
            intents=intents or INTENTS,
            max_messages=None,
            chunk_guilds_at_startup=False,
            guild_ready_timeout=0.01,
        )
        http = _Http(self.loop, max_ratelimit_timeout=30)
        http.address = address
        async_context.set(_Adapter(address))  # for this task and those that it starts
        self.http = self._connection.http = http
        self.tree: app_commands.CommandTree[Bot] = app_commands.CommandTree(self)
        self.heard: list[discord.Message] = []
        self.edits: list[discord.RawMessageUpdateEvent] = []
        self.deletions: list[discord.RawMessageDeleteEvent] = []
        self.pressed: list[discord.Interaction[Any]] = []
        self.resumes = 0
        self.changed = asyncio.Event()

    def dispatch(self, event: str, /, *values: Any, **more: Any) -> None:
        super().dispatch(event, *values, **more)
        self.changed.set()

    async def on_message(self, message: discord.Message) -> None:
        self.heard.append(message)
        self.changed.set()

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        self.edits.append(event)
        self.changed.set()

    async def on_raw_message_delete(self, event: discord.RawMessageDeleteEvent) -> None:
        self.deletions.append(event)
        self.changed.set()

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        self.pressed.append(interaction)
        self.changed.set()

    async def on_resumed(self) -> None:
        self.resumes += 1
        self.changed.set()

    async def hears(self, count: int) -> list[discord.Message]:
        """Its first `count` messages. `TimeoutError` after five real seconds."""
        await self.until(lambda: len(self.heard) >= count)
        return self.heard[:count]

    async def until(self, holds: Any) -> None:
        async with asyncio.timeout(5):
            while not holds():
                await self.changed.wait()
                self.changed.clear()


@asynccontextmanager
async def running(server: DiscordServer, intents: discord.Intents | None = None, token: str = "") -> AsyncIterator[Bot]:
    """A bot that is connected and has been told of its guilds."""
    bot = Bot(Address.of(server), intents)
    task = asyncio.create_task(bot.start(token or server.token))
    ready = asyncio.create_task(server.until(server.connected))
    try:
        await asyncio.wait([task, ready], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        await ready
        await bot.until(lambda: bot.user is not None and not any(guild.unavailable for guild in bot.guilds))
        yield bot
    finally:
        ready.cancel()
        await bot.close()
        await asyncio.gather(task, ready, return_exceptions=True)
