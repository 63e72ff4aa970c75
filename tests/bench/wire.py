"""The whole daemon, measured from outside: the installed command, real SDKs over sockets, SQLite with FULL.

Platform, model server, daemon and bare sides are processes of their own. A bare side makes, by plain aiohttp, as many
calls a turn as the daemon was seen to make in the round before, asks the same model through pydantic-ai, and stores as
many units of work. All are measured round by round in turn, so that what else the machine does hits each.

FRONTDESK_BENCH_SHARE=0.1 makes the rounds a tenth as long.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.bench.double import AT_ONCE, SLOW, SLOW_S, TALK
from tests.bench.figures import Figure
from tests.bench.house import AgentTable, new_state
from tests.bench.outside.daemon import import_s, libraries
from tests.bench.outside.rounds import (
    SETTLE_S,
    BareSide,
    Order,
    Round,
    Side,
    Stage,
    config_of,
    median_of,
    running,
    stage,
)
from tests.bench.outside.wheel import Installed, installed
from tests.bench.provider import Provider, provider

SHARE: Final = float(os.environ.get("FRONTDESK_BENCH_SHARE", "1"))
ACCOUNTS: Final = 16
"""Bots that people are spread over, so that a bot's pace (25 messages a second on Telegram, 30 on Discord, 4 on Slack)
is not what is measured."""
PLATFORMS: Final = ("telegram", "discord", "slack")
PEOPLE: Final = 64
SLOW_PEOPLE: Final = 30
SEQUENCE: Final = Order(turns=max(6, round(40 * SHARE)))
AT_ONCE_EACH: Final = Order(turns=max(1, round(2 * SHARE)), people=PEOPLE)
SHOWN: Final = Order(turns=max(3, round(5 * SHARE)))
ROUNDS: Final = 3
STARTS: Final = 5
IDLE_S: Final = 2.0

FIRST_START, LATER_START = 1.4, 1.2
CPU: Final[Mapping[str, float]] = {"telegram": 1.6, "discord": 1.8, "slack": 1.8}
CPU_OFFLINE: Final = 2.5
RATE: Final = 0.6
"""The budgets that are multiples of the bare side."""
OFFLINE_MIB, MODEL_MIB = 100.0, 140.0

THREE_CALLS: Final[Mapping[str, Mapping[str, float]]] = {
    "telegram": {"typing": 1, "preview": 1, "send": 1},
    "discord": {"typing": 1, "preview": 1, "send": 1},
    "slack": {"preview": 2, "send": 1},
}
"""Those of an answer that is shown while it is made."""
OFFLINE: Final[AgentTable] = {"backend": "offline"}


async def measure(*platforms: str) -> AsyncIterator[Figure]:
    wheel = await asyncio.to_thread(installed)
    async with provider() as source:
        for name in platforms or PLATFORMS:
            async for figure in Wire(name, wheel, source).figures():
                yield figure


class Wire:
    """One platform."""

    def __init__(self, name: str, wheel: Installed, source: Provider) -> None:
        self._name = name
        self._wheel = wheel
        self._source = source

    async def figures(self) -> AsyncIterator[Figure]:
        async with stage(self._name, 1, [1], self._source) as small:
            for figure in await self._starts(small):
                yield figure
            yield await self._memory(small, "offline agent", OFFLINE, OFFLINE_MIB)
            yield await self._memory(small, "a model in use", self._source.agent(AT_ONCE), MODEL_MIB)
        async with stage(self._name, PEOPLE, [ACCOUNTS] * 5, self._source) as large:
            async for figure in self._with_model(large):
                yield figure
            async for figure in self._offline(large):
                yield figure
            async for figure in self._patience(large):
                yield figure
            if large.problems:
                self._note(f"rules that were broken: {large.problems}")

    def _figure(self, what: str, unit: str, value: float, bare: float | None = None) -> Figure:
        return Figure(what=f"{self._name}: {what}", value=value, unit=unit, bare=bare)

    def _kept(self, what: str, unit: str, values: tuple[float, float], times: float, *, floor: bool = False) -> Figure:
        """`values`: measured and bare. The budget is so many times the bare side."""
        value, bare = values
        return Figure(
            what=f"{self._name}: {what}", value=value, unit=unit, bare=bare, budget=times * bare, at_least=floor
        )

    def _note(self, words: str) -> None:
        print(f"  {self._name}: {words}", file=sys.stderr, flush=True)

    async def _starts(self, small: Stage) -> list[Figure]:
        offline, model = (config_of(small.accounts[0], agent) for agent in (OFFLINE, self._source.agent(AT_ONCE)))
        first, later, with_model, imports, ends = (list[float]() for _ in range(5))
        async with new_state() as home:
            modules = await asyncio.to_thread(libraries, home, self._wheel, offline)
        for _ in range(STARTS):
            async with new_state() as home:
                for config, took in ((offline, first), (offline, later), (model, with_model)):
                    ready_s, end_s = await self._start(home, config)
                    took.append(ready_s)
                    ends.append(end_s)
                    imports.append(await asyncio.to_thread(import_s, home, self._wheel, modules))
        self._note(f"a start loads {len(modules)} modules that are not ours")
        bare = statistics.median(imports)
        starts = (
            ("first start to ready (bare: its libraries imported)", first, FIRST_START),
            ("later starts to ready", later, LATER_START),
            ("later starts to ready, model agent", with_model, LATER_START),
        )
        figures = [self._kept(what, "s", (statistics.median(took), bare), times) for what, took, times in starts]
        ended = Figure(what=f"{self._name}: SIGTERM to exit 0", value=statistics.median(ends), unit="s", budget=1.0)
        return [*figures, ended]

    async def _start(self, home: Path, config: str) -> tuple[float, float]:
        """Seconds to ready, and from SIGTERM to the end."""
        async with running(home, self._wheel, config) as daemon:
            await asyncio.sleep(SETTLE_S)
        return daemon.ready_s, daemon.end_s

    async def _memory(self, small: Stage, words: str, agent: AgentTable, budget: float) -> Figure:
        """Of a later start, after a turn."""
        async with new_state() as home:
            config = config_of(small.accounts[0], agent)
            async with running(home, self._wheel, config):
                pass
            async with running(home, self._wheel, config) as daemon:
                await asyncio.to_thread(daemon.until_up)
                await small.talk(Order(turns=1))
                await asyncio.sleep(IDLE_S)
                resident = daemon.resident_mib
        what = f"{self._name}: resident memory, installed wheel, idle after a turn, {words}"
        return Figure(what=what, value=resident, unit="MiB", budget=budget)

    async def _with_model(self, large: Stage) -> AsyncIterator[Figure]:
        async with (
            large.daemon(self._wheel, self._source.agent(AT_ONCE)) as desk,
            large.bare(group=1, model=AT_ONCE) as bare,
            large.bare(group=2, model=AT_ONCE, over_aiohttp=True) as other,
        ):
            warm = await large.play(desk, Order(turns=1, people=PEOPLE))
            for one in (bare, other):
                await one.plan(warm.kinds, warm.units)
                await large.play(one.side, Order(turns=1, people=PEOPLE))
            for order in (SEQUENCE, AT_ONCE_EACH):
                rounds = await _in_turn(large, order, desk, (bare, other))
                self._told("daemon", rounds[0])
                self._told("bare", rounds[1])
                for figure in self._model_figures(order, *rounds):
                    yield figure

    def _model_figures(
        self, order: Order, desk: Sequence[Round], bare: Sequence[Round], other: Sequence[Round]
    ) -> list[Figure]:
        at_once = order.people is not None
        who = f"{PEOPLE} people at once" if at_once else "one person at a time"
        cpu = [median_of(rounds, lambda one: one.cpu_ms) for rounds in (desk, bare, other)]
        figures = [
            self._kept(f"CPU per turn, model agent, {who}", "ms", (cpu[0], cpu[1]), CPU[self._name]),
            self._figure(f"bare with openai's SDK over aiohttp, {who} (bare: over httpx2)", "ms", cpu[2], cpu[1]),
        ]
        if not at_once:
            waits = [median_of(rounds, lambda one: one.wait_ms) for rounds in (desk, bare)]
            return [*figures, self._figure(f"said to answered, model agent, {who}, p50", "ms", waits[0], waits[1])]
        rates = (median_of(desk, lambda one: one.per_s), median_of(bare, lambda one: one.per_s))
        cores = [median_of(rounds, lambda one: one.platform_cores) for rounds in (desk, bare)]
        return [
            *figures,
            self._kept(f"turns per second, model agent, {who}", "/s", rates, RATE, floor=True),
            self._figure("the platform's test server meanwhile (bare: while the bare side talks)", "cores", *cores),
        ]

    async def _offline(self, large: Stage) -> AsyncIterator[Figure]:
        async with large.daemon(self._wheel, OFFLINE, group=3) as desk, large.bare(group=4) as bare:
            await bare.plan(THREE_CALLS[self._name])
            for side in (desk, bare.side):
                await large.play(side, Order(turns=1, people=PEOPLE))
            for order in (SEQUENCE, AT_ONCE_EACH):
                ours, theirs = [], []
                for _ in range(ROUNDS):
                    ours.append(await large.play(desk, order))
                    theirs.append(await large.play(bare.side, order))
                self._told("daemon, offline", ours)
                who = f"{PEOPLE} people at once" if order.people is not None else "one person at a time"
                cpu = (median_of(ours, lambda one: one.cpu_ms), median_of(theirs, lambda one: one.cpu_ms))
                yield self._kept(f"CPU per turn, offline agent, {who} (bare: three calls)", "ms", cpu, CPU_OFFLINE)

    async def _patience(self, large: Stage) -> AsyncIterator[Figure]:
        """What people wait for: the first word of an answer that takes seconds, and a model that is slow."""
        async with (
            large.daemon(self._wheel, self._source.agent(TALK)) as desk,
            large.bare(group=1, model=TALK) as bare,
        ):
            await large.play(desk, Order(turns=1, people=2))
            seen = await large.play(desk, SHOWN)
            await bare.plan({**seen.kinds, "preview": 1.0}, seen.units)
            theirs = await large.play(bare.side, SHOWN)
            yield self._figure("said to first word shown, p50", "ms", seen.first_ms, theirs.first_ms)
        async with (
            large.daemon(self._wheel, self._source.agent(SLOW)) as desk,
            large.bare(group=1, model=SLOW) as bare,
        ):
            seen = await large.play(desk, Order(turns=1, people=SLOW_PEOPLE))
            await bare.plan(seen.kinds, seen.units)
            theirs = await large.play(bare.side, Order(turns=1, people=SLOW_PEOPLE))
            what = f"{SLOW_PEOPLE} chats at once on a model that takes {SLOW_S:.0f} s"
            yield self._figure(what, "s", seen.took_s, theirs.took_s)

    def _told(self, who: str, rounds: Sequence[Round]) -> None:
        """For whoever looks closer."""
        last = rounds[-1]
        calls = ", ".join(f"{name} {count:.2f}" for name, count in sorted(last.calls.items()))
        spread = ", ".join(f"{one.cpu_ms:.1f}" for one in rounds)
        self._note(
            f"{who}: a turn made {calls}, {last.units:.1f} units in {last.commits:.1f} commits; CPU {spread} ms; "
            f"{last.per_s:.1f} turns/s; platform {last.platform_cores:.2f}, model {last.model_cores:.2f} cores"
        )


async def _in_turn(
    large: Stage, order: Order, desk: Side, bares: tuple[BareSide, BareSide]
) -> tuple[list[Round], list[Round], list[Round]]:
    """The rounds of the daemon and of both bare sides. These make in each what the daemon made right before."""
    rounds: tuple[list[Round], list[Round], list[Round]] = ([], [], [])
    for _ in range(ROUNDS):
        seen = await large.play(desk, order)
        rounds[0].append(seen)
        for bare, its in zip(bares, rounds[1:], strict=True):
            await bare.plan(seen.kinds, seen.units)
            its.append(await large.play(bare.side, order))
    return rounds
