"""What runs on the agents' loop: models, tool servers, and the graph that every turn goes through."""

from __future__ import annotations

from collections.abc import Mapping

import anyio._backends._asyncio  # noqa: F401  # the first request would, and others wait meanwhile
import structlog

from config.agents import ModelAgentSettings
from core.agents import compaction
from core.agents.agent import AgentSpec
from core.agents.asking import Asking, graph
from core.agents.compaction import Summed
from core.agents.crossing import Crossing
from core.agents.preparation import Preparation
from core.agents.providers import Chosen, Providers, load
from core.agents.quiet import quieten
from core.agents.role import Role
from core.agents.tool_status import ToolServerStatus
from core.agents.toolbox import Toolbox
from core.errors import ConfigError, ModelUnfit
from core.store.entries import Entry

log = structlog.get_logger("frontdesk.agents")


class Engine:
    """Made, and its methods called, on the agents' loop."""

    def __init__(self, agents: Mapping[str, ModelAgentSettings], proxy: str | None) -> None:
        quieten()
        self._agents = agents
        self._providers = Providers(proxy)
        self._graph = graph()
        self._preparation = Preparation()
        self._toolboxes = {name: Toolbox(settings, name, proxy) for name, settings in agents.items()}
        load(name for one in agents.values() for name in (*one.choices.values(), *one.fallbacks))
        self.faults: list[str] = []
        """What is wrong with models as they are configured, in words for whoever runs the desk."""
        self._make_models()

    def _make_models(self) -> None:
        """Before anybody waits for them: the first use of a model brings as many modules and objects as its SDK."""
        for name, settings in self._agents.items():
            try:
                self._providers.model(settings, settings.model, name)
            except ConfigError as fault:
                self.faults.append(f"[agents.{name}] {fault}")
                log.error("model_unfit", agent=name, why=str(fault))  # noqa: TRY400  # its words say it all

    async def start(self) -> None:
        """Start the tool servers; once, before anything else."""
        for toolbox in self._toolboxes.values():
            toolbox.start()

    async def tidy(self) -> None:
        """Let go of what nobody needed for a while."""
        for toolbox in self._toolboxes.values():
            await toolbox.tidy()

    def tool_servers(self) -> list[ToolServerStatus]:
        """How each tool server is. May be called from any thread."""
        return [status for toolbox in self._toolboxes.values() for status in toolbox.status()]

    async def answer(self, spec: AgentSpec, crossing: Crossing) -> None:
        """Answer one turn. Raises `AgentError` and `ConfigError`."""
        await Asking(self._role(spec), self._graph, crossing).answer()

    async def sum_up(self, spec: AgentSpec, history: list[Entry], topic: str) -> Summed | None:
        """A summary of the older part of a history."""
        return await compaction.sum_up(history, self._role(spec), topic)

    def _role(self, spec: AgentSpec) -> Role:
        settings = self._agents[spec.name]
        return Role(
            settings=settings,
            chosen=self._model(spec),
            instructions=spec.instructions,
            toolbox=self._toolboxes[spec.name],
            preparation=self._preparation,
        )

    def _model(self, spec: AgentSpec) -> Chosen:
        try:
            return self._providers.model(self._agents[spec.name], spec.model, spec.name)
        except ConfigError as fault:
            raise ModelUnfit(str(fault)) from fault

    async def close(self) -> None:
        for toolbox in self._toolboxes.values():
            await toolbox.close()
        await self._providers.close()
