"""A Discord bot and all that it has to do with: the server, people, a desk with commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

from msgspec.structs import replace

from bots.discord.bot import DiscordBot
from bots.discord.http import Patience
from core.ports import CommandHelp, Haunt
from core.vocabulary import (
    Address,
    Button,
    ChatId,
    ChatKind,
    Delivery,
    DeliveryId,
    Inbound,
    Message,
    OutFile,
    Receipt,
    RowId,
    ThreadId,
    Verdict,
)
from tests.clock import PATIENCE_S, ManualClock
from tests.contract.doubles import NoChance, RecordingDesk, running
from tests.drivers.discord import NAME, settings_for
from tests.fakes.discord import Channel, DiscordServer, GatewayRules

TABLE = (
    CommandHelp(name="status", summary="How things are", private=True),
    CommandHelp(name="reset", summary="Begin anew", argument="text"),
    CommandHelp(name="resume", summary="Go back", argument="n|title|id", needs_argument=True, completes=True),
)
SOON = Patience(connect_s=3.0, answer_s=3.0, upload_s=3.0, zombie_s=0.2, goodbye_s=0.5)


@dataclass
class Memory:
    """What a desk remembers over restarts."""

    notes: dict[str, str] = field(default_factory=dict)
    haunted: list[Haunt] = field(default_factory=list)


class DiscordDesk(RecordingDesk):
    """With a command table, and a memory that goes on in the next desk."""

    def __init__(self, memory: Memory | None = None) -> None:
        super().__init__()
        memory = memory or Memory()
        self.notes, self.haunted = memory.notes, memory.haunted
        self.table = TABLE
        self.ignoring = False
        self.done = asyncio.Event()
        """Set: all that was said has its fate, and nothing is on its way to the bot."""

    async def receive(self, batch: Sequence[Inbound]) -> tuple[Receipt, ...]:
        receipts = await super().receive(batch)
        if not self.ignoring:
            return receipts
        return tuple(replace(one, verdict=Verdict.IGNORED, reason="not_allowed") for one in receipts)

    async def settled(self, row: RowId) -> None:
        await self.done.wait()

    @property
    def messages(self) -> list[Message]:
        """Each once, by its id, in order of its first arrival."""
        found: dict[str, Message] = {}
        for one in self.heard:
            if isinstance(one, Message):
                found.setdefault(one.message, one)
        return list(found.values())


class World:
    """A server with a person on it, a team with a channel, and bots that come and go over one memory."""

    def __init__(self, server: DiscordServer) -> None:
        self.server = server
        self.clock = ManualClock()
        self.memory = Memory()
        self.ada = server.person("ada")
        self.bob = server.person("bob")
        self.guild = server.guild("Team", [self.ada, self.bob])
        self.channel = server.channel(self.guild, "general")
        self.dm = server.dm(self.ada)
        self._deliveries = 0

    @property
    def us(self) -> str:
        """How people mention the bot."""
        return f"<@{self.server.bot.id}>"

    def bot(self, **settings: object) -> DiscordBot:
        made = settings_for(self.server, **settings)
        return DiscordBot(NAME, settings=made, clock=self.clock, random=NoChance(), patience=SOON)

    def patient(self) -> DiscordBot:
        """A bot that waits for an answer longer than any test does."""
        made, patience = settings_for(self.server), replace(SOON, answer_s=10 * PATIENCE_S, glance_s=0.1)
        return DiscordBot(NAME, settings=made, clock=self.clock, random=NoChance(), patience=patience)

    def haunt(self, channel: Channel, *, thread: Channel | None = None, kind: ChatKind | None = None) -> None:
        """People have talked with the bot there, long ago."""
        kind = kind or (ChatKind.DIRECT if channel.guild_id is None else ChatKind.GROUP)
        if thread is not None:
            kind = ChatKind.THREAD
        address = Address(
            bot=NAME, chat=ChatId(str(channel.id)), thread=ThreadId(str(thread.id)) if thread is not None else None
        )
        self.memory.haunted.append(Haunt(address=address, kind=kind, heard_at=self.clock.now()))

    def delivery(self, said: Message, text: str, **more: Unpack[DeliveryOptions]) -> Delivery:
        """An answer to something that was said."""
        self._deliveries += 1
        return Delivery(
            id=DeliveryId(self._deliveries), address=said.address, kind=said.kind, text=text,
            answers=said.address.reply_to, **more,
        )  # fmt: skip

    async def wait(self, holds: Callable[[], bool]) -> None:
        await self.server.until(holds, timeout_s=PATIENCE_S)


class DeliveryOptions(TypedDict, total=False):
    buttons: tuple[Button, ...]
    files: tuple[OutFile, ...]


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """At the end nothing that Discord documents was broken."""
    async with DiscordServer(limits=None, gateway=GatewayRules(identify_every_s=0.0)) as server:
        yield World(server)
        assert server.problems == ()


@asynccontextmanager
async def serving(world: World, **settings: object) -> AsyncIterator[tuple[DiscordBot, DiscordDesk]]:
    """A bot that is up, with its desk."""
    bot, desk = world.bot(**settings), DiscordDesk(world.memory)
    async with running(bot, desk) as task:
        await desk.until(lambda: desk.health.last == "up" or task.done())
        yield bot, desk
