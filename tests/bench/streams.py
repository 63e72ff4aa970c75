"""Many model agents that stream at once: CPU, how late what they say comes through, and whether intake goes on."""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
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
BEFORE = 6
"""Turns of each history; with the four that follow the model is shown at most nineteen messages."""
TURNS = 3
BARE_TURNS = 2
LONG_S = TOKENS / PER_S
RAMP_S = LONG_S
"""Over which the chats begin, so that as many turns begin in every second that follows."""
TAIL_S = 0.5
"""Before the first of them have had their turns, so that all of them stream in the window."""
PROBE_S = 0.2
QUIET_S = 4.0
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


async def watched(turn: Turn, late: Lateness, turns: int, probe: Callable[[], Awaitable[None]] | None = None) -> Seen:
    """Every chat has its turns, one after the other; what is seen of the window behind the ramp. One turn each: all
    begin in one moment, and all of it is seen."""
    ramp_s = RAMP_S if turns > 1 else 0.0
    ticks, intake_s = Ticks(), list[float]()
    probing = asyncio.create_task(_receive(probe, intake_s)) if probe is not None else None
    async with asyncio.TaskGroup() as group:
        for number, chat in enumerate(CHATS):
            group.create_task(_talk(turn, chat, number * ramp_s / STREAMS, turns))
        await asyncio.sleep(ramp_s)
        ticks.start()
        late.open = True
        intake_s.clear()
        cpu, wall, threads = time.process_time(), time.perf_counter(), Threads()
        await asyncio.sleep(LONG_S * max(turns - 1, 1) - TAIL_S)
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


async def _receive(probe: Callable[[], Awaitable[None]], took_s: list[float]) -> None:
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


async def desks(desk: UnderTest, turns: int) -> Seen:
    late = Lateness()
    assert isinstance(desk.bot, GrowingBot)
    desk.bot.shown = late.see

    async def turn(chat: ChatId) -> None:
        [receipt] = await desk.desk.receive([message(chat, sent_at=desk.clock.now())])
        async for event in desk.desk.follow(receipt.row):
            if isinstance(event, TextDelta):
                late.hear(event.text)

    seen = await watched(turn, late, turns, partial(_probe, desk))
    await desk.desk.idle()
    return seen


async def _probe(desk: UnderTest) -> None:
    """Somebody else says something, to an agent that needs no model."""
    await desk.desk.receive([message(ChatId("1"), bot=PROBE, sent_at=desk.clock.now())])


async def quiet_intake_s(desk: UnderTest) -> float:
    """The longest wait for a receipt while nothing streams."""
    took_s: list[float] = []
    receiving = asyncio.create_task(_receive(partial(_probe, desk), took_s))
    await asyncio.sleep(QUIET_S)
    receiving.cancel()
    await desk.desk.idle()
    return max(took_s)


async def bare(source: Provider, turns: int) -> Seen:
    late = Lateness()
    histories = dict.fromkeys(CHATS, told(2 * BEFORE))
    gc.collect()
    gc.freeze()
    async with alone(source, STREAM) as model:

        async def turn(chat: ChatId) -> None:
            await model.answer(histories[chat], late.hear)
            histories[chat] = [*histories[chat], *histories[chat][:2]]

        return await watched(turn, late, turns)


async def first_tokens(desk: UnderTest) -> list[float]:
    """Seconds from the first piece's way into the wire to the bot's first call, one chat at a time."""
    shown: dict[ChatId, float] = {}

    def see(delivery: Delivery, at_s: float) -> None:
        shown.setdefault(delivery.address.chat, at_s - float(delivery.text.split()[0]))

    assert isinstance(desk.bot, GrowingBot)
    desk.bot.shown = see
    for chat in CHATS[:FIRSTS]:
        [receipt] = await desk.desk.receive([message(chat, sent_at=desk.clock.now())])
        await desk.desk.settled(receipt.row)
    return [*shown.values()]


async def measure() -> AsyncIterator[Figure]:
    async with provider() as source, new_state() as state, streaming(state, source, STREAM) as desk:
        quiet_s = await quiet_intake_s(desk)
        steady = await desks(desk, TURNS)
        at_once = await desks(desk, 1)
    async with provider() as plain:
        alone_steady = await bare(plain, BARE_TURNS)
        alone_at_once = await bare(plain, 1)
    async with provider() as source, new_state() as state, streaming(state, source, FIRST) as desk:
        firsts = statistics.quantiles((await first_tokens(desk))[4:], n=20)
    for name, seen in (("desk", steady), ("at once", at_once), ("bare", alone_steady), ("bare at once", alone_at_once)):
        print(f"streams, {name}: {seen.said()}", file=sys.stderr, flush=True)
    for figure in _figures(steady, alone_steady, quiet_s):
        yield figure
    yield Figure(
        what="worst lateness of any of them if all are asked in one moment",
        value=at_once.late.worst_s * 1000,
        unit="ms",
        budget=250,
        bare=alone_at_once.late.worst_s * 1000,
    )
    yield Figure(what="first token sent → preview shown, p50", value=firsts[9] * 1000, unit="ms", budget=50)
    yield Figure(what="first token sent → preview shown, p95", value=firsts[18] * 1000, unit="ms", budget=50)


def _figures(seen: Seen, alone_: Seen, quiet_s: float) -> list[Figure]:
    """Of the window in which all of them stream, and in every second of which some begin."""
    return [
        Figure(
            what=f"{STREAMS} model agents streaming {PER_S:.0f} tokens/s each: processor",
            value=seen.cores,
            unit="cores",
            budget=1.0,
            bare=alone_.cores,
        ),
        Figure(
            what="worst lateness of any of them against the model's schedule",
            value=seen.late.worst_s * 1000,
            unit="ms",
            budget=250,
            bare=alone_.late.worst_s * 1000,
        ),
        Figure(
            what="intake meanwhile: longest wait for a receipt (bare: while nothing streams)",
            value=max(seen.intake_s) * 1000,
            unit="ms",
            budget=20,
            bare=quiet_s * 1000,
        ),
        Figure(
            what="main loop meanwhile: longest stall (bare: of the loop that streams)",
            value=seen.ticks.worst_s * 1000,
            unit="ms",
            budget=20,
            bare=alone_.ticks.worst_s * 1000,
        ),
    ]
