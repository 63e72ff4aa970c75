"""A platform with the daemon and its bare sides on it, and the rounds in which people talk to each of them in turn."""

from __future__ import annotations

import asyncio
import json
import statistics
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.bench.house import AgentTable, new_state
from tests.bench.outside.daemon import Commits, Daemon
from tests.bench.outside.processes import Child, child, cpu_s
from tests.bench.outside.wheel import Installed
from tests.bench.provider import Provider

SETTLE_S: Final = 0.3
"""After the last answer, for what a turn leaves to be done."""

Accounts = Sequence[Mapping[str, Any]]
Kinds = Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What people do in a round: `turns` one after the other, or `people` at once with so many turns each."""

    turns: int
    people: int | None = None

    def of(self, group: int) -> dict[str, int]:
        return {"group": group, "turns": self.turns, **({} if self.people is None else {"people": self.people})}


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """What was seen of one side. `kinds` and `calls`: how many a turn, by kind and by the platform's name."""

    cpu_ms: float
    per_s: float
    wait_ms: float
    first_ms: float
    took_s: float
    kinds: Kinds
    calls: Kinds
    units: float
    commits: float
    platform_cores: float
    model_cores: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """The daemon or a bare side, by its process. `group`: of its people. `commits`: what it has stored so far."""

    group: int
    cpu_s: Callable[[], float]
    commits: Callable[[], Commits]


class Stage:
    """One platform's test server, with the accounts of each group."""

    def __init__(self, name: str, server: Child, accounts: Sequence[Accounts], source: Provider) -> None:
        self.name = name
        self._server = server
        self.accounts = accounts
        self._source = source
        self.problems: list[str] = []

    async def talk(self, order: Order) -> None:
        """The people of the first group, whoever answers them."""
        await self._server.ask(order.of(0))

    async def play(self, side: Side, order: Order) -> Round:
        stored = await asyncio.to_thread(side.commits)
        cpu, model = side.cpu_s(), cpu_s(self._source.pid)
        told = await self._server.ask(order.of(side.group))
        model_cores = (cpu_s(self._source.pid) - model) / told["took_s"]
        await asyncio.sleep(SETTLE_S)
        cpu, now, turns = side.cpu_s() - cpu, await asyncio.to_thread(side.commits), told["turns"]
        self.problems = told["problems"]
        return Round(
            cpu_ms=cpu * 1000 / turns,
            per_s=turns / told["took_s"],
            wait_ms=statistics.median(told["waits_s"]) * 1000,
            first_ms=statistics.median(told["firsts_s"]) * 1000,
            took_s=told["took_s"],
            kinds={kind: count / turns for kind, count in told["kinds"].items()},
            calls={name: count / turns for name, count in told["calls"].items()},
            units=(now.units - stored.units) / turns,
            commits=(now.commits - stored.commits) / turns,
            platform_cores=told["server_cpu_s"] / told["took_s"],
            model_cores=model_cores,
        )

    @asynccontextmanager
    async def daemon(self, wheel: Installed, agent: AgentTable, *, group: int = 0) -> AsyncIterator[Side]:
        """The daemon with that group's accounts."""
        async with new_state() as home, running(home, wheel, config_of(self.accounts[group], agent)) as daemon:
            await asyncio.to_thread(daemon.until_up)
            yield Side(group=group, cpu_s=lambda: daemon.cpu_s, commits=lambda: daemon.commits)

    @asynccontextmanager
    async def bare(
        self, *, group: int, model: str | None = None, over_aiohttp: bool = False
    ) -> AsyncIterator[BareSide]:
        """A bare side with that group's accounts. Without a model it answers with what it was told."""
        named = None if model is None else {"url": self._source.url, "key": self._source.key, "name": model}
        setup = {
            "platform": self.name, "accounts": [one["bare"] for one in self.accounts[group]], "model": named,
            "over_aiohttp": over_aiohttp,
        }  # fmt: skip
        async with child("tests.bench.outside.bare") as process:
            await process.ask(setup)
            side = Side(group=group, cpu_s=lambda: process.cpu_s, commits=lambda: Commits(commits=0, units=0))
            yield BareSide(side=side, process=process)


@dataclass(frozen=True, kw_only=True, slots=True)
class BareSide:
    side: Side
    process: Child

    async def plan(self, kinds: Kinds, units: float = 0.0) -> None:
        """What each turn makes from now on."""
        await self.process.ask({"kinds": dict(kinds), "units": units})


@asynccontextmanager
async def stage(name: str, people: int, groups: Sequence[int], source: Provider) -> AsyncIterator[Stage]:
    """`groups`: how many accounts each has; `people` of each group are spread over them."""
    async with child("tests.bench.outside.stage", name, str(people), *map(str, groups)) as server:
        every = (await server.ask({}))["accounts"]
        accounts = [every[sum(groups[:at]) : sum(groups[: at + 1])] for at in range(len(groups))]
        yield Stage(name, server, accounts, source)


@asynccontextmanager
async def running(home: Path, wheel: Installed, config: str) -> AsyncIterator[Daemon]:
    daemon = await asyncio.to_thread(Daemon(home, wheel, config).__enter__)
    try:
        yield daemon
    finally:
        await asyncio.to_thread(daemon.__exit__)


def config_of(accounts: Accounts, agent: AgentTable) -> str:
    bots = "".join(f"[bots.desk{number}]\n{account['table']}\n" for number, account in enumerate(accounts))
    rows = "\n".join(f"{name} = {json.dumps(value)}" for name, value in agent.items())
    return f"{bots}[agents.default]\n{rows}\n"


def median_of(rounds: Sequence[Round], what: Callable[[Round], float]) -> float:
    return statistics.median(what(one) for one in rounds)
