"""The configured agents by name, and how one is made."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from core.agents import offline
from core.agents.agent import Agent, AgentFactory, AgentSpec
from core.agents.backend import ModelBackend
from core.agents.configured import Configured
from core.agents.instructions import Instructions
from core.agents.tool_status import ToolServerStatus
from core.errors import ConfigError

if TYPE_CHECKING:
    from core.agents.compaction import Summed
    from core.store.entries import Entry

DEFAULT = "default"
MODEL = "model"
NO_FILES: Mapping[str, Path] = MappingProxyType({})


def load_factory(spec: AgentSpec) -> AgentFactory:
    """The factory that a backend names where no model answers: `offline` or `module:factory`. Raises `ConfigError`."""
    if spec.backend == "offline":
        return offline.make
    module, _, name = spec.backend.partition(":")
    try:
        factory = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f'[agents.{spec.name}] backend = "{spec.backend}": {error}. '
            "The module must be importable (installed, or on PYTHONPATH) and hold that function"
        ) from error
    except (Exception, SystemExit) as error:  # agent: somebody else's module may raise anything
        raise ConfigError(
            f'[agents.{spec.name}] backend = "{spec.backend}": importing it raises {type(error).__name__}; '
            f'`python -c "import {module}"` shows where'
        ) from error
    if not callable(factory):
        raise ConfigError(f'[agents.{spec.name}] backend = "{spec.backend}": {name} is not a function')
    made: AgentFactory = factory
    return made


class Agents:
    """All agents of one configuration. Loads every backend when made, so that faults show at the start; what a model
    needs is loaded by `warm`, after it."""

    def __init__(
        self,
        specs: Mapping[str, AgentSpec],
        models: ModelBackend | None = None,
        modelled: Sequence[Configured] = (),
        instructions: Mapping[str, Path] = NO_FILES,
        pepper: str = "",
    ) -> None:
        """`models` may serve another configuration until `take_over`. `instructions`: the files of those agents that
        have one. Raises `ConfigError`."""
        self.specs = dict(specs)
        self.models = models
        self.pepper = pepper
        """What secrets are digested with."""
        self._modelled = modelled
        self._factories = {name: self._factory(spec) for name, spec in specs.items()}
        self._instructions = {name: Instructions(name, path) for name, path in instructions.items()}
        for name, file in self._instructions.items():
            self._instruct(name, file.text)

    def _factory(self, spec: AgentSpec) -> AgentFactory:
        return self.models.make if spec.backend == MODEL and self.models is not None else load_factory(spec)

    def spec(self, chosen: str | None, default: str, model: str | None = None) -> AgentSpec:
        """The chosen agent if there still is one of this name, else the default; with the chosen model if it still may
        be chosen, else its own."""
        spec = self.specs.get(chosen or default) or self.specs.get(default) or self.specs[DEFAULT]
        wanted = spec.models.get(model, model) if model is not None else spec.model
        return replace(spec, model=wanted) if wanted != spec.model and wanted in spec.models.values() else spec

    async def fresh(self, chosen: str | None, default: str, model: str | None) -> AgentSpec:
        """As `spec`, with the instructions that the agent's file holds now."""
        name = self.spec(chosen, default).name
        file = self._instructions.get(name)
        if file is not None:
            await file.look()
            self._instruct(name, file.text)
        return self.spec(chosen, default, model)

    def _instruct(self, name: str, text: str) -> None:
        spec = self.specs[name]
        if text != spec.instructions:
            digest = hashlib.sha256(f"{spec.digest}\n{text}".encode()).hexdigest()
            self.specs[name] = replace(spec, instructions=text, digest=digest)

    def make(self, spec: AgentSpec) -> Agent:
        return self._factories[spec.name](spec)

    def sums_up(self, spec: AgentSpec) -> bool:
        """Can this agent make a summary?"""
        return spec.backend == MODEL and self.models is not None

    async def sum_up(self, spec: AgentSpec, history: Sequence[Entry], topic: str) -> Summed | None:
        """A summary of the older part of a history; None where there is none to be made, or it failed."""
        return await self.models.sum_up(spec, list(history), topic) if self.models is not None else None

    def check(self) -> None:
        """Load what models need here and now, and see that each can be spoken to as configured. Raises
        `ConfigError`."""
        from core.agents.fitness import check

        if self._modelled:
            check(self._modelled)

    async def take_over(self) -> None:
        """This configuration holds from now on; turns that run end as they began."""
        if self.models is not None:
            await self.models.adopt(self._modelled)

    def warm(self) -> None:
        """Load what models need, in their own thread."""
        if self.models is not None:
            self.models.warm()

    async def loaded(self) -> None:
        """Return once what models need is loaded, or could not be."""
        if self.models is not None:
            await self.models.loaded()

    async def tidy(self) -> None:
        """Let go of what nobody needed for a while."""
        if self.models is not None:
            await self.models.tidy()

    def tool_servers(self) -> list[ToolServerStatus]:
        """How each tool server is."""
        return self.models.tool_servers() if self.models is not None else []

    def faults(self) -> list[str]:
        """What is wrong with models as they are configured; known once they are loaded."""
        return self.models.faults() if self.models is not None else []

    async def close(self) -> None:
        """When no turn runs any more."""
        if self.models is not None:
            await self.models.close()


def agent_named(specs: Mapping[str, AgentSpec], words: str) -> str | None:
    """The agent that a person means; None: none, or not one alone."""
    return _one([(name, name) for name in specs], words)


def model_named(models: Mapping[str, str], words: str) -> str | None:
    """The model that a person means: a name as it is listed, else an id, whole or from the colon on; None: none, or not
    one alone."""
    ids = list(dict.fromkeys(models.values()))
    spellings = ([(name, name) for name in models], [(one, one) for one in ids], [(_short(one), one) for one in ids])
    return next((found for group in spellings if (found := _one(group, words)) is not None), None)


def _short(model: str) -> str:
    return model.partition(":")[2]


def _one(spelled: Sequence[tuple[str, str]], words: str) -> str | None:
    """The second of the only pair whose first is that, letter by letter or else but for case."""
    exact = [meant for name, meant in spelled if name == words]
    alike = exact or [meant for name, meant in spelled if name.casefold() == words.casefold()]
    return alike[0] if len(alike) == 1 else None
