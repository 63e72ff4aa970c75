"""The daemon with three platforms at once, each as strict as the real one: 300 people and 5,000 messages, twice.

The second time Discord takes connections and answers nothing while all of it is said. FRONTDESK_BENCH_SHARE=0.1 makes
it a tenth as long.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.figures import Figure
from tests.bench.house import new_state
from tests.crash.dialogue import Dialogue
from tests.crash.nursery import Nursery
from tests.crash.three import NAMES, Crowd, platforms, waits_of

SHARE: Final = float(os.environ.get("FRONTDESK_BENCH_SHARE", "1"))
PEOPLE: Final = (120, 120, 60)
MESSAGES: Final = (2_200, 2_200, 600)
"""In the order of `NAMES`: Slack takes few messages of a workspace."""
SECONDS: Final = 180.0
GREETING_S: Final = 40.0
"""In which everybody says something for the first time."""
FAILS: Final = "discord"
TROUBLE: Final = "hanging"
PATIENCE_S: Final = 900.0

Said = list[tuple[Dialogue, str]]


class Marked(Crowd):
    """Its agent answers at once."""

    backend = "tests.bench.agents:with_marks"


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What was said, and how long it took until all of it was answered."""

    said: Said
    took_s: float


def _steps(crowd: Crowd, chance: random.Random) -> Said:
    """Everybody on a platform in turn, the platforms mixed."""
    mixed: Said = []
    for name, number in zip(NAMES, MESSAGES, strict=True):
        places = crowd.on(name)
        mixed += [(places[at % len(places)], "fast") for at in range(int(number * SHARE))]
    spread = zip(_spread(mixed, chance), mixed, strict=True)
    return [step for _, step in sorted(spread, key=lambda pair: pair[0])]


def _spread(steps: Said, chance: random.Random) -> list[float]:
    """For each step its place in the whole, 0 to 1: those of one platform evenly, with a little chance."""
    counts = {name: sum(one.bot == name for one, _ in steps) for name in NAMES}
    seen = dict.fromkeys(NAMES, 0)
    places = []
    for dialogue, _ in steps:
        places.append((seen[dialogue.bot] + chance.random()) / counts[dialogue.bot])
        seen[dialogue.bot] += 1
    return places


def _run(crowd: Crowd, chance: random.Random, *, fails: bool) -> Run:
    began = time.monotonic()
    if fails:
        crowd.there.fail(FAILS, TROUBLE)
    said = crowd.talk_for(_steps(crowd, chance), SECONDS * SHARE)
    if fails:
        crowd.there.end(FAILS)
    crowd.settle_slowly(PATIENCE_S)
    return Run(said=said, took_s=time.monotonic() - began)


def _measured(home: Path) -> tuple[Run, Run, int]:
    """(with all well, with one that fails, rules of the platforms that were broken)."""
    chance = random.Random(0)
    with Nursery() as nursery, platforms(limits=True) as there:
        crowd = Marked(there, PEOPLE, home, nursery)
        with crowd.daemon:
            crowd.daemon.start()
            crowd.until_up()
            crowd.talk_for([(one, "fast") for one in crowd.dialogues], GREETING_S)
            crowd.settle_slowly(PATIENCE_S)
            well = _run(crowd, chance, fails=False)
            failing = _run(crowd, chance, fails=True)
        return well, failing, sum(len(platform.violations) for platform in crowd.platforms)


def _at(waits_s: Sequence[float], share: float) -> float:
    """Milliseconds within which that share was answered."""
    ordered = sorted(waits_s)
    return 1000 * ordered[int(share * (len(ordered) - 1))]


def _waits(run: Run, name: str, when: str, beside: Run | None = None) -> list[Figure]:
    """`beside`: the run to compare it with, beside which half of it may not take twice as long."""
    waits, others = waits_of(run.said, name), waits_of(beside.said, name) if beside is not None else ()
    what = f"said on {name} to answered there, {when}"
    bare = {share: _at(others, share) if others else None for share in (0.5, 0.99)}
    return [
        Figure(
            what=f"{what}, p50", value=_at(waits, 0.5), unit="ms", bare=bare[0.5], budget=bare[0.5] and 2 * bare[0.5]
        ),
        Figure(what=f"{what}, p99", value=_at(waits, 0.99), unit="ms", bare=bare[0.99]),
    ]


def _not_once(run: Run) -> int:
    """How many messages have no answer, or more than one."""
    return sum(dialogue.answers(mark) != 1 for dialogue, mark in run.said)


async def measure() -> AsyncIterator[Figure]:
    async with new_state() as home:
        well, failing, broken = await asyncio.to_thread(_measured, home / "desk")
    beside = f"while {FAILS} hangs"
    count = len(well.said)
    figures = [
        Figure(what=f"{sum(PEOPLE)} people on three platforms, {count:,} messages: answers per second",
               value=count / well.took_s, unit="/s"),
    ]  # fmt: skip
    for name in NAMES:
        figures += _waits(well, name, "all well")
        figures += _waits(failing, name, f"{beside} (bare: all well)", well) if name != FAILS else []
    for figure in figures:
        yield figure
    yield Figure(what="messages without exactly one answer, all well", value=_not_once(well), unit="", budget=0)
    yield Figure(what=f"messages without exactly one answer, {beside}", value=_not_once(failing), unit="", budget=0)
    yield Figure(what="rules of the platforms that were broken in both", value=broken, unit="", budget=0)
