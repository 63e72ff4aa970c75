"""A desk that answers every line by its echo, for the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

from bots.terminal.bot import TERMINAL, TerminalBot
from core.errors import StoreFull, Unreachable
from core.ports import Choice, CommandHelp, Haunt, Health, Principal
from core.vocabulary import (
    Address,
    BotName,
    ChatId,
    ChatKind,
    Delivery,
    DeliveryId,
    Inbound,
    Message,
    MessageId,
    Receipt,
    RowId,
    TurnEvent,
    Verdict,
)


class SilentHealth:
    def account(self, bot: BotName, account: str) -> None: ...

    def up(self, bot: BotName) -> None: ...

    def degraded(self, bot: BotName, detail: str) -> None: ...


class FakeDesk:
    """Answers every line by its echo, in order; streams where messages can be edited. `/stop` ends an answer that
    says "slow"; "table" has markup in its answer, "long" is long. What can't be delivered waits for `arrived`."""

    commands: Sequence[CommandHelp] = ()

    def __init__(self) -> None:
        self.bot: TerminalBot | None = None
        self.health: Health = SilentHealth()
        self.received: list[Message] = []
        self.broken = 0
        self.queued: list[Delivery] = []
        self._answers: list[asyncio.Task[None]] = []
        self.took = asyncio.Event()
        self._stopped = asyncio.Event()
        self._reachable = asyncio.Event()

    async def receive(self, batch: Sequence[Inbound]) -> tuple[Receipt, ...]:
        if self.broken:
            self.broken -= 1
            raise StoreFull("no space left")
        return tuple(Receipt(verdict=Verdict.ACCEPTED, row=self._take(event)) for event in batch)

    async def follow(self, row: RowId) -> AsyncIterator[TurnEvent]:
        events: Sequence[TurnEvent] = ()
        for event in events:
            yield event

    async def settled(self, row: RowId) -> None:
        await asyncio.shield(self._answers[row])

    def arrived(self, bot: BotName, chat: ChatId, kind: ChatKind) -> None:
        self._reachable.set()

    async def complete(self, principal: Principal, command: str, typed: str) -> Sequence[Choice]:
        return ()

    async def hears(self, principal: Principal) -> bool:
        return True

    async def haunts(self, bot: BotName, most: int) -> Sequence[Haunt]:
        return ()

    @property
    def oldest(self) -> datetime:
        return datetime.now(UTC)

    async def recall(self, bot: BotName, name: str) -> str | None:
        return None

    async def note(self, bot: BotName, name: str, value: str) -> None: ...

    def _take(self, event: Inbound) -> RowId:
        assert isinstance(event, Message)
        row = len(self.received)
        self.received.append(event)
        self.took.set()
        before = self._answers[-1] if self._answers else None
        if event.text == "/stop":
            self._stopped.set()
        self._answers.append(asyncio.create_task(self._answer(row, event.text, before)))
        return RowId(row)

    async def _answer(self, row: int, text: str, before: asyncio.Task[None] | None) -> None:
        if before:
            await asyncio.shield(before)
        whole = answer_to(text)
        first = await self._send(row, whole[: len(whole) // 2]) if self._edits else None
        if text == "slow":
            await self._stopped.wait()
            whole = whole[: len(whole) // 2] + " (stopped)"
        if first is None:
            await self._send(row, whole)
        else:
            await self._edit(row, whole, first)

    @property
    def _edits(self) -> bool:
        assert self.bot
        return self.bot.capabilities.edit_interval_s is not None

    async def _send(self, row: int, text: str) -> MessageId:
        assert self.bot
        while True:
            try:
                return await self.bot.send(delivery(row, text))
            except Unreachable:
                self._reachable.clear()
                await self._reachable.wait()

    async def _edit(self, row: int, text: str, message: MessageId) -> None:
        assert self.bot
        try:
            await self.bot.edit(delivery(row, text), message)
        except Unreachable:
            await self._reachable.wait()


def answer_to(text: str) -> str:
    match text:
        case "table":
            return "# Title\n\nA **bold** word.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two\n\nThe end."
        case "long":
            return "\n\n".join(f"paragraph {number} " + "x" * 50 for number in range(2000))
        case "evil":
            return "before \x1b[31mred\x07 after"
        case _:
            return f"you said: {text}"


def delivery(number: int, text: str) -> Delivery:
    address = Address(bot=TERMINAL, chat=ChatId("local"))
    return Delivery(id=DeliveryId(number), address=address, kind=ChatKind.DIRECT, text=text)
