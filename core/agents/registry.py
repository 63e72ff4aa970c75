"""The configured agents by name, and how one is made."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from core.agents import offline
from core.agents.agent import Agent, AgentFactory, AgentSpec
from core.agents.backend import ModelBackend
from core.errors import ConfigError

DEFAULT = "default"
MODEL = "model"


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
    if not callable(factory):
        raise ConfigError(f'[agents.{spec.name}] backend = "{spec.backend}": {name} is not a function')
    made: AgentFactory = factory
    return made


class Agents:
    """All agents of one configuration. Loads every backend when made, so that faults show at the start; what a model
    needs is loaded by `warm`, after it."""

    def __init__(self, specs: Mapping[str, AgentSpec], models: ModelBackend | None = None) -> None:
        self.specs = dict(specs)
        self.models = models
        self._factories = {name: self._factory(spec) for name, spec in specs.items()}

    def _factory(self, spec: AgentSpec) -> AgentFactory:
        return self.models.make if spec.backend == MODEL and self.models is not None else load_factory(spec)

    def spec(self, chosen: str | None, default: str) -> AgentSpec:
        """The chosen agent if there still is one of this name, else the default."""
        return self.specs.get(chosen or default) or self.specs.get(default) or self.specs[DEFAULT]

    def make(self, spec: AgentSpec) -> Agent:
        return self._factories[spec.name](spec)

    def warm(self) -> None:
        """Load what models need, in their own thread."""
        if self.models is not None:
            self.models.warm()

    async def close(self) -> None:
        """When no turn runs any more."""
        if self.models is not None:
            await self.models.close()
