"""What a bot is handed in these tests besides a clock: no chance, and a desk that keeps what it got."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from core.errors import StoreError
from core.ports import Bot, Choice, CommandHelp, Haunt, Principal
from core.vocabulary import BotName, ChatId, ChatKind, Inbound, Message, Press, Receipt, RowId, TurnEvent, Verdict
from tests.clock import PATIENCE_S, Barrier


class NoChance:
    """`ports.Random` with the largest of what could come."""

    def __init__(self) -> None:
        self._made = 0

    def uuid7(self) -> str:
        self._made += 1
        return f"00000000-0000-7000-8000-{self._made:012d}"

    def token(self, characters: int) -> str:
        self._made += 1
        return f"{self._made}".rjust(characters, "A")[:characters]

    def uniform(self, low: float, high: float) -> float:
        return high


@dataclass
class RecordingHealth:
    """`ports.Health`, as a list of what was said."""

    barrier: Barrier
    accounts: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """"up" or the detail of a trouble, in order."""

    def account(self, bot: BotName, account: str) -> None:
        self.accounts.append(account)
        self.barrier.changed()

    def up(self, bot: BotName) -> None:
        self.said.append("up")
        self.barrier.changed()

    def degraded(self, bot: BotName, detail: str) -> None:
        self.said.append(detail)
        self.barrier.changed()

    @property
    def last(self) -> str:
        return self.said[-1] if self.said else ""


class RecordingDesk(Barrier):
    """`ports.Desk`: stores batches in a list, can refuse them and can take its time."""

    def __init__(self) -> None:
        super().__init__()
        self.health = RecordingHealth(self)
        self.batches: list[tuple[Inbound, ...]] = []
        self.refused: list[tuple[Inbound, ...]] = []
        self.refusing = False
        self.open = asyncio.Event()
        """Cleared: `receive` waits."""
        self.open.set()
        self.waiting = 0
        self.most_waiting = 0
        self.table: Sequence[CommandHelp] = ()
        self.choices: list[Choice] = []
        self.asked: list[tuple[Principal, str, str]] = []
        """What was to be completed: of whose command, and what was typed of it."""
        self.unheard: set[str] = set()
        """The ids of people whom nobody hears."""
        self.haunted: list[Haunt] = []
        self.notes: dict[str, str] = {}
        self.stale_before = datetime(2000, 1, 1, tzinfo=UTC)

    @property
    def heard(self) -> list[Inbound]:
        return [inbound for batch in self.batches for inbound in batch]

    @property
    def commands(self) -> Sequence[CommandHelp]:
        return self.table

    @property
    def messages(self) -> list[Message]:
        return [inbound for inbound in self.heard if isinstance(inbound, Message)]

    @property
    def presses(self) -> list[Press]:
        return [inbound for inbound in self.heard if isinstance(inbound, Press)]

    @property
    def words(self) -> list[str]:
        return [message.text for message in self.messages]

    async def receive(self, batch: Sequence[Inbound]) -> tuple[Receipt, ...]:
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        self.changed()
        try:
            await self.open.wait()
        finally:
            self.waiting -= 1
        if self.refusing:
            self.refused.append(tuple(batch))
            self.changed()
            raise StoreError("refused by the test")
        self.batches.append(tuple(batch))
        self.changed()
        return tuple(Receipt(verdict=Verdict.ACCEPTED, row=RowId(number)) for number in range(len(batch)))

    async def follow(self, row: RowId) -> AsyncIterator[TurnEvent]:
        nothing: tuple[TurnEvent, ...] = ()
        for event in nothing:
            yield event

    async def settled(self, row: RowId) -> None:
        return None

    def arrived(self, bot: BotName, chat: ChatId, kind: ChatKind) -> None:
        return None

    async def complete(self, principal: Principal, command: str, typed: str) -> Sequence[Choice]:
        self.asked.append((principal, command, typed))
        self.changed()
        return self.choices

    async def hears(self, principal: Principal) -> bool:
        return principal.sender.user not in self.unheard

    async def haunts(self, bot: BotName, most: int) -> Sequence[Haunt]:
        return self.haunted[:most]

    @property
    def oldest(self) -> datetime:
        return self.stale_before

    async def recall(self, bot: BotName, name: str) -> str | None:
        return self.notes.get(name)

    async def note(self, bot: BotName, name: str, value: str) -> None:
        self.notes[name] = value
        self.changed()


async def up(desk: RecordingDesk) -> None:
    await desk.until(lambda: desk.health.last == "up")


async def eventually(holds: Callable[[], bool]) -> None:
    """For what the other side of a socket does: one turn of the loop after the other."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)


def chain(error: BaseException) -> str:
    """All that would be written of it."""
    return "".join(traceback.format_exception(error))


@asynccontextmanager
async def running(bot: Bot, desk: RecordingDesk) -> AsyncIterator[asyncio.Task[None]]:
    """The bot listens until the end of the block; there it is cancelled and has to end at once."""
    task = asyncio.create_task(bot.run(desk))
    try:
        yield task
    finally:
        task.cancel()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait([task])
    if task.done() and not task.cancelled() and (error := task.exception()) is not None:
        raise error
