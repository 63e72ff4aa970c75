"""Many conversations at once on the offline agent: CPU, turns per second; and a model that is slow."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from tests.bench import bare
from tests.bench.figures import Figure
from tests.bench.house import UnderTest, new_state, under_test
from tests.bench.traffic import NoDesk, Traffic

CONVERSATIONS = 64
TURNS = 40
ROUNDS = 3
CHATS = [str(1000 + number) for number in range(CONVERSATIONS)]


async def own_cost_s(chats: list[str], turns: int) -> float:
    """CPU seconds that the traffic itself needs."""
    traffic = Traffic(chats, turns)
    began = time.process_time()
    await traffic.run(NoDesk(traffic))
    return time.process_time() - began


async def load(desk: UnderTest, chats: list[str], turns: int) -> tuple[float, float]:
    """(CPU milliseconds per turn without the traffic's own, turns per second)."""
    own = await own_cost_s(chats, turns)
    count = len(chats) * turns
    cpu, wall = time.process_time(), time.perf_counter()
    await desk.talk(chats, turns)
    cpu, wall = time.process_time() - cpu - own, time.perf_counter() - wall
    return cpu * 1000 / count, count / wall


async def measure() -> AsyncIterator[Figure]:
    async with new_state() as state, under_test(state) as desk:
        await desk.talk(CHATS, 5)
        rounds = [await load(desk, CHATS, TURNS) for _ in range(ROUNDS)]
    async with new_state() as state:
        await bare.load(state, CONVERSATIONS, 5)
        bare_cpu, bare_wall = await bare.load(state, CONVERSATIONS, TURNS)
    count = CONVERSATIONS * TURNS
    yield Figure(
        what=f"CPU per turn, offline agent, {CONVERSATIONS} conversations at once",
        value=min(cpu for cpu, _ in rounds),
        unit="ms",
        budget=1.5,
        bare=bare_cpu * 1000 / count,
    )
    yield Figure(
        what="durable turns per second in that run",
        value=max(rate for _, rate in rounds),
        unit="/s",
        budget=600,
        bare=count / bare_wall,
        at_least=True,
    )
    yield await slow_model()


async def slow_model() -> Figure:
    chats = [str(number) for number in range(1, 31)]
    async with new_state() as state, under_test(state, agent="tests.bench.agents:slow") as desk:
        began = time.perf_counter()
        await desk.talk(chats, 1)
        wall = time.perf_counter() - began
    return Figure(what="30 chats at once on a model that takes 6 s", value=wall, unit="s", budget=7.0, bare=6.0)
