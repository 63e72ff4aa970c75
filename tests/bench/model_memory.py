"""What a conversation with a model agent leaves in memory: while the agent is cached, and after."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncIterator

from tests.bench.double import AT_ONCE
from tests.bench.figures import Figure
from tests.bench.house import UnderTest, new_state, under_test
from tests.bench.provider import provider

WARM = [str(number) for number in range(1, 201)]
"""As many, so that every table in memory has its size."""
CHATS = [str(number) for number in range(1000, 1200)]
AT_ONCE_CHATS = 20
KIB = 1024
NOISE_KIB = 80
"""The SDK, its loop's tables and the database hold some things for a while, whoever comes; it does not grow."""


async def _talk(desk: UnderTest, chats: list[str]) -> None:
    for first in range(0, len(chats), AT_ONCE_CHATS):
        await desk.talk(chats[first : first + AT_ONCE_CHATS], 1)


async def _forget(desk: UnderTest) -> None:
    desk.house.cache.evict_idle(float("inf"))
    await desk.chores.agents()


def _held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def measure() -> AsyncIterator[Figure]:
    async with (
        provider() as source,
        new_state() as state,
        under_test(state, agent=source.agent(AT_ONCE), cached=2 * len(CHATS)) as desk,
    ):
        await _talk(desk, WARM[:1])  # the first turn loads what takes half a minute under the tracer
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
        what="memory per cached model agent, its history of two entries included",
        value=(with_agents - after) / len(CHATS) / KIB,
        unit="KiB",
        budget=20,
    )
    yield Figure(
        what="memory per idle conversation with a model agent",
        value=max(0.0, after - before) / len(CHATS) / KIB,
        unit="KiB",
        budget=NOISE_KIB / len(CHATS),
    )
