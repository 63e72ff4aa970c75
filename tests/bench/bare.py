"""The same commits without a desk: what the disk and the store's engine alone need."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from core.store import facts
from core.store.engine import Store
from core.store.open import open_store
from core.store.sql import Tx

COMMITS_PER_TURN = 4
"""Intake, admission, record, and the mark that a part was sent."""


def put(name: str, value: str) -> Callable[[Tx], None]:
    """The smallest unit that writes."""
    return lambda tx: facts.put(tx, name, value)


async def _turns(store: Store, name: str, turns: int) -> None:
    for number in range(turns * COMMITS_PER_TURN):
        await store.write(put(name, str(number)))


async def load(state: Path, conversations: int, turns: int) -> tuple[float, float]:
    """(CPU seconds, wall seconds) of as many turns' commits."""
    store = open_store(None, state)
    try:
        cpu, wall = time.process_time(), time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number in range(conversations):
                group.create_task(_turns(store, f"bare {number}", turns))
        return time.process_time() - cpu, time.perf_counter() - wall
    finally:
        store.close()


async def commit_s(state: Path, times: int) -> float:
    """Median seconds of one commit with nothing else going on."""
    store = open_store(None, state)
    took = []
    try:
        for number in range(times):
            began = time.perf_counter()
            await store.write(put("bare", str(number)))
            took.append(time.perf_counter() - began)
    finally:
        store.close()
    return statistics.median(took)
