"""What runs on the agents' loop: models, tool servers, and the graph that every turn goes through."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial

import anyio._backends._asyncio  # noqa: F401  # the first request would, and others wait meanwhile
import structlog

from core.agents import compaction, prices
from core.agents.agent import AgentSpec
from core.agents.asking import Asking, graph
from core.agents.compaction import Summed
from core.agents.configured import Configured
from core.agents.crossing import Crossing
from core.agents.preparation import Preparation
from core.agents.providers import Chosen, Providers, load
from core.agents.quiet import quieten
from core.agents.role import Role
from core.agents.station import Station
from core.agents.tool_status import ToolServerStatus
from core.aside import aside
from core.errors import ConfigError, ModelUnfit
from core.store.entries import Entry

log = structlog.get_logger("frontdesk.agents")


class Engine:
    """Made, and its methods called, on the agents' loop."""

    def __init__(self, agents: Iterable[Configured]) -> None:
        quieten()
        self._providers = Providers()
        self._graph = graph()
        self._preparation = Preparation()
        agents = tuple(agents)
        prices.keep(_models(agents), [agent.settings.base_url for agent in agents])
        load(_models(agents))
        self._stations = {agent.name: Station(agent, self._providers) for agent in agents}
        self._leaving: set[Station] = set()
        self._faults: list[str] = []
        self._make_models()

    def _make_models(self) -> None:
        """Before anybody waits for them: the first use of a model brings as many modules and objects as its SDK."""
        self._faults = []
        for name, station in self._stations.items():
            try:
                self._providers.model(station.agent, station.agent.settings.model)
            except ConfigError as fault:
                self._faults.append(f"[agents.{name}] {fault}")
                log.error("model_unfit", agent=name, why=str(fault))  # noqa: TRY400  # its words say it all

    @property
    def faults(self) -> list[str]:
        """What is wrong with models as they are configured, and which of them go without tools, in words for whoever
        runs the desk. May be asked from any thread."""
        return [*self._faults, *map(_told_toolless, self._providers.toolless())]

    async def start(self) -> None:
        """Start the tool servers; once, before anything else."""
        for station in self._stations.values():
            station.toolbox.start()

    async def adopt(self, agents: Iterable[Configured]) -> None:
        """Another configuration holds from now on. What stays as it was stays open; turns that run end as they
        began."""
        agents = tuple(agents)
        await aside(partial(load, _models(agents)))
        known = (*self._leaving, *self._stations.values())
        free = {station.agent.digest: station for station in known if station.is_open}
        self._stations = {
            agent.name: free.pop(agent.digest) if agent.digest in free else self._opened(agent) for agent in agents
        }
        for station in self._stations.values():
            station.keep()
        self._make_models()
        for station in free.values():
            station.retire()
        self._leaving = {station for station in known if not station.is_gone} - set(self._stations.values())

    def _opened(self, agent: Configured) -> Station:
        station = Station(agent, self._providers)
        station.toolbox.start()
        return station

    async def tidy(self) -> None:
        """Let go of what nobody needed for a while."""
        for station in self._stations.values():
            await station.toolbox.tidy()

    def tool_servers(self) -> list[ToolServerStatus]:
        """How each tool server is. May be called from any thread."""
        return [status for station in self._stations.values() for status in station.toolbox.status()]

    async def answer(self, spec: AgentSpec, crossing: Crossing) -> None:
        """Answer one turn. Raises `AgentError` and `ConfigError`."""
        station = self._station(spec)
        async with station.work():
            await Asking(self._role(spec, station), self._graph, crossing).answer()

    async def sum_up(self, spec: AgentSpec, history: list[Entry], topic: str) -> Summed | None:
        """A summary of the older part of a history."""
        station = self._station(spec)
        async with station.work():
            return await compaction.sum_up(history, self._role(spec, station), topic)

    def _station(self, spec: AgentSpec) -> Station:
        """As configured now: a turn that was opened before a reload and asks after it is answered by what it left."""
        station = self._stations.get(spec.name)
        if station is None:
            raise ModelUnfit(f"there is no agent {spec.name} any more")
        return station

    def _role(self, spec: AgentSpec, station: Station) -> Role:
        return Role(
            settings=station.agent.settings,
            chosen=self._model(spec, station.agent),
            instructions=spec.instructions,
            toolbox=station.toolbox,
            preparation=self._preparation,
        )

    def _model(self, spec: AgentSpec, agent: Configured) -> Chosen:
        try:
            return self._providers.model(agent, spec.model)
        except ConfigError as fault:
            raise ModelUnfit(str(fault)) from fault

    async def close(self) -> None:
        await asyncio.gather(*(station.close() for station in (*self._stations.values(), *self._leaving)))
        await self._providers.close()


def _told_toolless(found: tuple[str, str]) -> str:
    model, why = found
    return f"{model} takes no tools (“{why}”), so it is asked without them; tools = false says so for good"


def _models(agents: Iterable[Configured]) -> list[str]:
    """Every model that may be asked."""
    return [name for one in agents for name in (*one.settings.choices.values(), *one.settings.fallbacks)]
