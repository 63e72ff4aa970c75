"""Model agents that don't stream for long: their processor time, a slow model, and a long history."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator

from core.vocabulary import ChatId
from tests.bench.alone import alone, told
from tests.bench.double import AT_ONCE, SLOW, SLOW_S
from tests.bench.figures import Figure
from tests.bench.house import UnderTest, new_state, under_test
from tests.bench.lateness import Ticks
from tests.bench.provider import Provider, provider
from tests.bench.threads import AGENTS, Threads
from tests.bench.traffic import message
from tests.bench.turns import own_cost_s

CHATS = [str(number) for number in range(1, 31)]
TURNS = 5
MESSAGES = 1000
LONG_TURNS = 5


async def measure() -> AsyncIterator[Figure]:
    async with provider() as source:
        yield await _slow(source)
        for figure in [*await _cost(source), *await _long(source)]:
            yield figure


async def _slow(source: Provider) -> Figure:
    async with new_state() as state, under_test(state, agent=source.agent(SLOW)) as desk:
        began = time.perf_counter()
        await desk.talk(CHATS, 1)
        wall = time.perf_counter() - began
    return Figure(
        what=f"{len(CHATS)} chats at once on a model agent whose model takes {SLOW_S:.0f} s",
        value=wall,
        unit="s",
        budget=7.0,
        bare=SLOW_S,
    )


async def _cost(source: Provider) -> list[Figure]:
    """CPU of a turn that is answered at once: all of it, and what is not the agents' thread."""
    count = len(CHATS) * TURNS
    async with new_state() as state, under_test(state, agent=source.agent(AT_ONCE)) as desk:
        await desk.talk(CHATS, 1)
        own = await own_cost_s(CHATS, TURNS)
        cpu, threads = time.process_time(), Threads()
        await desk.talk(CHATS, TURNS)
        cpu, used = time.process_time() - cpu - own, threads.since()
        print(f"models, {count} turns: {threads.said()}", file=sys.stderr, flush=True)
    async with alone(source, AT_ONCE) as model:
        await model.answer(told(2), lambda text: None)
        bare = time.process_time()
        for _ in CHATS:
            for turn in range(1, TURNS + 1):
                await model.answer(told(2 * turn), lambda text: None)
        bare = time.process_time() - bare
    return [
        Figure(
            what=f"CPU per turn, model agent, {len(CHATS)} conversations at once (bare: pydantic-ai alone)",
            value=cpu * 1000 / count,
            unit="ms",
            bare=bare * 1000 / count,
        ),
        Figure(
            what="of it outside of the agents' thread",
            value=(cpu - used[AGENTS][0]) * 1000 / count,
            unit="ms",
        ),
    ]


async def _long(source: Provider) -> list[Figure]:
    """What a long history does to the main loop: read from the store, and known."""
    async with new_state() as state:
        async with under_test(state, agent="tests.bench.agents:telling") as before:
            await before.talk(["1", "2"], MESSAGES // 2)
        async with under_test(state, agent=source.agent(AT_ONCE)) as desk:
            await desk.talk(["3"], 1)
            read = await _stall_s(desk, "1", 1)
            known = await _stall_s(desk, "1", LONG_TURNS)
    ticks, history = Ticks(), told(MESSAGES)
    async with alone(source, AT_ONCE) as model:
        await model.answer(history[:2], lambda text: None)
        ticks.start()
        for _ in range(LONG_TURNS):
            await model.answer(history, lambda text: None)
        ticks.stop()
    return [
        Figure(
            what=f"main loop's longest stall, turn with {MESSAGES:,} messages before it (bare: agent on that loop)",
            value=known * 1000,
            unit="ms",
            budget=20,
            bare=ticks.worst_s * 1000,
        ),
        Figure(what="the same if they are read from the store", value=read * 1000, unit="ms", budget=20),
    ]


async def _stall_s(desk: UnderTest, chat: str, turns: int) -> float:
    ticks = Ticks()
    ticks.start()
    for _ in range(turns):
        [receipt] = await desk.desk.receive([message(ChatId(chat), sent_at=desk.clock.now())])
        await desk.desk.settled(receipt.row)
    ticks.stop()
    return ticks.worst_s
