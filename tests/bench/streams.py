"""Many model agents that stream at once: CPU, how late what they say comes through, and whether intake goes on."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from core.vocabulary import ChatId, Delivery, TextDelta
from tests.bench.alone import alone, told
from tests.bench.double import FIRST, PER_S, STREAM, TOKENS
from tests.bench.figures import Figure
from tests.bench.house import PROBE, UnderTest, new_state, under_test
from tests.bench.lateness import Ticks
from tests.bench.provider import Provider, provider
from tests.bench.threads import Threads
from tests.bench.traffic import GrowingBot, message

STREAMS = 64
CHATS = [ChatId(str(1000 + number)) for number in range(STREAMS)]
BEFORE = 7
"""Turns of each history; three more make twenty messages."""
TURNS = 3
LONG_S = TOKENS / PER_S
RAMP_S = LONG_S
"""Over which the chats begin, so that as many turns begin in every second that follows."""
WINDOW_S = LONG_S * (TURNS - 1) - 0.5
"""In which all of them stream."""
PROBE_S = 0.05
MORE_TURNS = 16
FIRSTS = 40

Turn = Callable[[ChatId], Awaitable[None]]


class Lateness:
    """What came when, in seconds after it was due; while `open`."""

    def __init__(self) -> None:
        self.late_s: list[float] = []
        self.open = False

    def hear(self, text: str) -> None:
        """Pieces that tell when they were due."""
        if self.open:
            now = time.monotonic()
            self.late_s += [now - float(due) for due in text.split()]

    def see(self, delivery: Delivery, at_s: float) -> None:
        """A message that shows all pieces up to one: late is the next, if it was due."""
        pieces = delivery.text.split()
        if self.open and len(pieces) < TOKENS:
            self.late_s.append(at_s - float(pieces[-1]) - 1 / PER_S)

    @property
    def worst_s(self) -> float:
        return max(self.late_s, default=0.0)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Of one window. `intake_s`: each call of `Desk.receive`."""

    cores: float
    late: Lateness
    ticks: Ticks
    intake_s: list[float]
    threads: str

    def said(self) -> str:
        """For whoever looks closer."""
        spread = {"late": self.late.late_s, "loop": self.ticks.late_s, "intake": self.intake_s}
        told_of = [
            f"{name} p50 {statistics.median(all_s) * 1000:.1f} p99 {statistics.quantiles(all_s, n=100)[98] * 1000:.1f}"
            f" max {max(all_s) * 1000:.1f} ms"
            for name, all_s in spread.items()
            if len(all_s) > 1
        ]
        return f"{self.cores:.2f} cores; {'; '.join(told_of)}; {self.threads}"


async def watched(turn: Turn, late: Lateness, probe: Callable[[], Awaitable[None]] | None, ramp_s: float) -> Seen:
    """Every chat has its turns, one after the other; what is seen of the window behind the ramp."""
    ticks, intake_s = Ticks(), list[float]()
    probing = asyncio.create_task(_probe(probe, intake_s)) if probe is not None else None
    async with asyncio.TaskGroup() as group:
        for number, chat in enumerate(CHATS):
            group.create_task(_talk(turn, chat, number * ramp_s / STREAMS, TURNS if ramp_s else 1))
        await asyncio.sleep(ramp_s)
        ticks.start()
        late.open = True
        intake_s.clear()
        cpu, wall, threads = time.process_time(), time.perf_counter(), Threads()
        await asyncio.sleep(WINDOW_S if ramp_s else LONG_S - 0.5)
        cores = (time.process_time() - cpu) / (time.perf_counter() - wall)
        said = threads.said()
        late.open = False
        ticks.stop()
        if probing is not None:
            probing.cancel()
    return Seen(cores=cores, late=late, ticks=ticks, intake_s=intake_s, threads=said)


async def _talk(turn: Turn, chat: ChatId, wait_s: float, turns: int) -> None:
    await asyncio.sleep(wait_s)
    for _ in range(turns):
        await turn(chat)


async def _probe(probe: Callable[[], Awaitable[None]], took_s: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await probe()
        took_s.append(time.perf_counter() - began)
        await asyncio.sleep(PROBE_S)


@asynccontextmanager
async def streaming(state: Path, source: Provider, model: str) -> AsyncIterator[UnderTest]:
    """Chats with a history each, and a model that answers from now on."""
    async with under_test(state, agent="tests.bench.agents:telling") as before:
        await before.talk([*CHATS], BEFORE)
    async with under_test(state, agent=source.agent(model), grows=True, turns=STREAMS + MORE_TURNS) as desk:
        yield desk


async def desks(desk: UnderTest, ramp_s: float) -> Seen:
    late = Lateness()
    assert isinstance(desk.bot, GrowingBot)
    desk.bot.shown = late.see

    async def turn(chat: ChatId) -> None:
        [receipt] = await desk.desk.receive([message(chat, sent_at=desk.clock.now())])
        async for event in desk.desk.follow(receipt.row):
            if isinstance(event, TextDelta):
                late.hear(event.text)

    async def probe() -> None:
        await desk.desk.receive([message(ChatId("1"), bot=PROBE, sent_at=desk.clock.now())])

    seen = await watched(turn, late, probe, ramp_s)
    await desk.desk.idle()
    return seen


async def bare(source: Provider, ramp_s: float) -> Seen:
    late = Lateness()
    histories = dict.fromkeys(CHATS, told(2 * BEFORE))
    async with alone(source, STREAM) as model:

        async def turn(chat: ChatId) -> None:
            await model.answer(histories[chat], late.hear)
            histories[chat] = [*histories[chat], *histories[chat][:2]]

        return await watched(turn, late, None, ramp_s)
