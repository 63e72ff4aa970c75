"""One process for a long time: what it holds after many conversations, and after many resets of one."""

from __future__ import annotations

import asyncio
import gc
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from core.vocabulary import ChatId
from tests.bench.figures import Figure
from tests.bench.house import UnderTest, new_state, under_test
from tests.bench.traffic import message

WARM = 1_000
CONVERSATIONS = 10_000
AT_ONCE = 50
WARM_RESETS = 100
RESETS = 500
ONE = ChatId("reset and reset again")


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What the process holds when nothing moves."""

    mib: float
    files: int
    tasks: int


async def _held(desk: UnderTest) -> Held:
    await desk.chores.agents()
    await desk.chores.index()
    gc.collect()
    return Held(mib=_resident_mib(), files=len(os.listdir("/proc/self/fd")), tasks=len(asyncio.all_tasks()))


def _resident_mib() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.findall(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)[0]) / 1024


async def _talk(desk: UnderTest, first: int, last: int) -> None:
    for begin in range(first, last, AT_ONCE):
        await desk.talk([str(number) for number in range(begin, begin + AT_ONCE)], 1)


async def _reset(desk: UnderTest, rounds: int) -> None:
    for _ in range(rounds):
        for text in ("hello", "/reset"):
            await desk.desk.receive([message(ONE, sent_at=desk.clock.now(), text=text)])
            await desk.desk.idle()


def _grown(what: str, before: Held, after: Held, budget_mib: float) -> list[Figure]:
    return [
        Figure(what=f"{what}: memory grown", value=max(0.0, after.mib - before.mib), unit="MiB", budget=budget_mib),
        Figure(what=f"{what}: files and tasks left open", value=_left(before, after), unit="", budget=0),
    ]


def _left(before: Held, after: Held) -> int:
    return max(0, after.files - before.files) + max(0, after.tasks - before.tasks)


async def measure() -> AsyncIterator[Figure]:
    """The cache is full long before the first mark, so that what grows after it grows for ever."""
    async with new_state() as state, under_test(state) as desk:
        await _talk(desk, 0, WARM)
        early = await _held(desk)
        await _talk(desk, WARM, CONVERSATIONS)
        late = await _held(desk)
        for figure in _grown(f"conversations {WARM:,} to {CONVERSATIONS:,} in one process", early, late, 8):
            yield figure
        await _reset(desk, WARM_RESETS)
        before = await _held(desk)
        await _reset(desk, RESETS - WARM_RESETS)
        after = await _held(desk)
    for figure in _grown(f"resets {WARM_RESETS} to {RESETS} of one conversation", before, after, 4):
        yield figure
