"""What tests of model agents look at: logs as they are printed, live events, what a server was sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import structlog

from core.service.logs import Mask
from core.store import turns
from core.vocabulary import TextDelta, TurnEvent
from tests.fakes.models.payload import JsonObject, JsonValue, as_list
from tests.fakes.models.record import Request
from tests.flow.house import House, Said


@dataclass
class Printed:
    """The log so far."""

    events: Sequence[MutableMapping[str, object]]
    secrets: Sequence[str] = ()

    def __str__(self) -> str:
        """As the daemon prints it: tracebacks with all that led to them, the configured secrets masked."""
        mask = Mask(self.secrets)
        lines = [mask(None, "", structlog.processors.format_exc_info(None, "", dict(event))) for event in self.events]
        return "\n".join(f"{line}\n{line.get('exception', '')}" for line in lines)

    def named(self, event: str) -> list[MutableMapping[str, object]]:
        return [one for one in self.events if one["event"] == event]


@contextmanager
def printed(*secrets: str) -> Iterator[Printed]:
    """The log from here on."""
    with structlog.testing.capture_logs() as events:
        yield Printed(events, secrets)


@dataclass
class Followed:
    """Live events of one message's turn, as they come."""

    events: list[TurnEvent] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)
    over: bool = False

    @property
    def text(self) -> str:
        """What was said so far."""
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not holds():
                assert not self.over, self.events
                self.came.clear()
                await self.came.wait()

    async def until_text(self, text: str) -> None:
        """That much was said, and nothing else."""
        await self.until(lambda: len(self.text) >= len(text))
        assert self.text == text


@asynccontextmanager
async def followed(house: House, said: Said) -> AsyncIterator[Followed]:
    """Follow a message's turn from here on."""
    seen = Followed()

    async def follow() -> None:
        try:
            async for event in house.desk.follow(said.row):
                seen.events.append(event)
                seen.came.set()
        finally:
            seen.over = True
            seen.came.set()

    task = asyncio.create_task(follow())
    try:
        yield seen
        async with asyncio.timeout(10):
            await task
    finally:
        task.cancel()


def sent(request: Request) -> list[JsonValue]:
    """The conversation in a request, whatever the API calls it."""
    return as_list(request.body.get("messages", request.body.get("input")))


def around(request: Request) -> JsonObject:
    """What stands in a request beside the conversation."""
    return {name: value for name, value in request.body.items() if name not in ("messages", "input")}


def as_bytes(value: JsonValue) -> str:
    return json.dumps(value)


async def usage(house: House) -> Mapping[str, int]:
    """What the last turn used."""
    last = (await house.log())[-1].turn
    assert last is not None
    return await house.store.read(lambda tx: turns.get(tx, last).usage)
