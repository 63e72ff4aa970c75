"""A Slack app and all that it has to do with: the double, a person, a channel, a desk that listens."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Unpack

from msgspec.structs import replace

from bots.slack.bot import SlackBot
from bots.slack.line import Patience
from core.ports import CommandHelp, Haunt
from core.vocabulary import (
    Address,
    BotName,
    Button,
    ChatId,
    ChatKind,
    Delivery,
    DeliveryId,
    Earlier,
    MessageId,
    OutFile,
    ThreadId,
)
from tests.clock import NEW_YEAR, ManualClock
from tests.contract.doubles import NoChance, RecordingDesk
from tests.drivers.slack import NAME, settings_for
from tests.fakes.slack.cast import ServerOptions
from tests.fakes.slack.model import Channel, Person, Said
from tests.fakes.slack.model import Message as Shown
from tests.fakes.slack.server import SlackServer
from tests.wire.world import BotWorld

TABLE = (
    CommandHelp(name="help", summary="what I can do", private=True),
    CommandHelp(name="status", summary="how it goes", private=True),
    CommandHelp(name="reset", summary="begin anew", argument="text", aliases=("new",)),
    CommandHelp(name="stop", summary="stop"),
)


class SlackDesk(RecordingDesk):
    """With some commands."""

    def __init__(self) -> None:
        super().__init__()
        self.table = TABLE


class World(BotWorld):
    """The double, one person, and a bot with its desk. The clock of both stands still until a test moves it."""

    def __init__(self, server: SlackServer, clock: ManualClock) -> None:
        self.server = server
        self.ada: Person = server.person("Ada")
        self.chat: Channel = server.im(self.ada)
        self.general: Channel = server.channel("general", members=[self.ada])
        self.clock = clock
        self.desk = SlackDesk()
        self.bot = self.another()
        self._deliveries = 0

    def another(self, patience: Patience = Patience(), **settings: object) -> SlackBot:  # noqa: B008 - frozen
        made = settings_for(self.server, **settings)
        return SlackBot(BotName(NAME), settings=made, clock=self.clock, random=NoChance(), patience=patience)

    def say(self, text: str, channel: Channel | None = None, thread: Said | None = None) -> Said:
        return self.server.say(channel or self.chat, self.ada, text, thread=thread)

    async def up(self) -> None:
        await super().up()
        await self.server.until(lambda: self.server.connected(2))

    async def acked(self) -> None:
        await self.server.until(self.server.acked)

    async def quiet(self, count: int = 0) -> None:
        """All was acknowledged, and the desk heard no more than that."""
        await self.acked()
        assert len(self.desk.heard) == count

    async def hurry(self, count: int) -> None:
        """Time passes whenever somebody sleeps, until so much was heard."""

        async def tick() -> None:
            for nap in itertools.count(1):
                await self.wake(nap)

        ticking = asyncio.create_task(tick())
        try:
            await self.heard(count)
        finally:
            ticking.cancel()

    def address(self, channel: Channel | None = None, thread: Said | str | None = None) -> Address:
        root = thread.ts if isinstance(thread, Said) else thread
        chat = ChatId((channel or self.chat).id)
        return Address(bot=NAME, chat=chat, thread=ThreadId(root) if root is not None else None)

    def delivery(
        self, text: str, address: Address | None = None, *, buttons: tuple[Button, ...] = (),
        files: tuple[OutFile, ...] = (),
    ) -> Delivery:  # fmt: skip
        self._deliveries += 1
        where = address or self.address()
        direct = where.chat.startswith("D")
        return Delivery(
            id=DeliveryId(self._deliveries), address=where, text=text, buttons=buttons, files=files,
            answers=where.reply_to,
            kind=ChatKind.DIRECT if direct else ChatKind.THREAD if where.thread else ChatKind.GROUP,
        )  # fmt: skip

    def again(self, delivery: Delivery, *others: MessageId) -> Delivery:
        """As it is handed over once more, where nobody knows whether it arrived; `others` are not it."""
        since = NEW_YEAR - timedelta(minutes=5)
        return replace(delivery, earlier=Earlier(since=since, others=frozenset(others)))

    def haunt(self, channel: Channel, thread: Said | None = None) -> None:
        """The desk remembers that people talk with us there; something was heard just now."""
        address = self.address(channel, thread)
        kind = ChatKind.DIRECT if channel.kind == "im" else ChatKind.THREAD
        self.desk.haunted.insert(0, Haunt(address=address, kind=kind, heard_at=self.clock.now()))

    def shown(self, channel: Channel | None = None, thread: Said | None = None) -> tuple[Shown, ...]:
        return self.server.from_bot(channel or self.chat, thread=thread)

    def later(self, minutes: float) -> None:
        self.clock.advance(timedelta(minutes=minutes).total_seconds())

    def sent(self, method: str = "chat.postMessage") -> int:
        return len(self.server.calls_of(method))


@asynccontextmanager
async def opened(**options: Unpack[ServerOptions]) -> AsyncIterator[World]:
    """A world that breaks none of Slack's rules."""
    clock = ManualClock()
    settings: ServerOptions = {"limits": None, "clock": clock, **options}
    async with SlackServer(**settings) as server:
        made = World(server, clock)
        yield made
        assert not server.problems, server.problems
