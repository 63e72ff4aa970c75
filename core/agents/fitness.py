"""Can every model and every tool server be had as it is configured? Asked before a start and before a reload."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from core.agents.configured import Configured
from core.errors import ConfigError


def check(agents: Iterable[Configured]) -> None:
    """Make every model that may be chosen, without asking it anything, and look for the programs of tool servers;
    blocking, since it loads SDKs. Raises `ConfigError` with all that is wrong."""
    from core.agents.providers import Providers

    providers = Providers()
    faults: list[str] = []
    for agent in agents:
        for model in dict.fromkeys(agent.settings.choices.values()):
            try:
                providers.model(agent, model)
            except ConfigError as fault:
                faults.append(f"[agents.{agent.name}] {fault}")
        faults += [
            f'[[agents.{agent.name}.mcp]] "{server.name}": there is no program {server.command[0]}; install it, or '
            "write its whole path"
            for server in agent.settings.mcp
            if server.command and shutil.which(server.command[0]) is None
        ]
    if faults:
        raise ConfigError("\n".join(faults))
