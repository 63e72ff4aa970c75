"""What a conversation leaves in memory: while its agent is cached, and after."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncIterator

from tests.bench.figures import Figure
from tests.bench.house import UnderTest, new_state, under_test

WARM = [str(number) for number in range(1, 1001)]
"""As many, so that every table in memory has its size."""
CHATS = [str(number) for number in range(1000, 2000)]
AT_ONCE = 50
KIB = 1024


async def _talk(desk: UnderTest, chats: list[str]) -> None:
    for first in range(0, len(chats), AT_ONCE):
        await desk.talk(chats[first : first + AT_ONCE], 1)


async def _forget(desk: UnderTest) -> None:
    """Every agent has idled long enough, every chat's pace has rested."""
    desk.house.cache.evict_idle(float("inf"))
    await desk.chores.agents()


def _held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def measure() -> AsyncIterator[Figure]:
    async with new_state() as state, under_test(state, cached=2 * len(CHATS)) as desk:
        tracemalloc.start()
        await _talk(desk, WARM)
        await _forget(desk)
        before = _held()
        await _talk(desk, CHATS)
        with_agents = _held()
        assert len(desk.house.cache) == len(CHATS)
        await _forget(desk)
        after = _held()
        tracemalloc.stop()
    yield Figure(
        what="memory per cached agent, its history of two entries included",
        value=(with_agents - after) / len(CHATS) / KIB,
        unit="KiB",
        budget=20,
    )
    yield Figure(
        what="memory per idle conversation",
        value=max(0.0, after - before) / len(CHATS) / KIB,
        unit="KiB",
        budget=0.05,
    )
