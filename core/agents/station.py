"""Where the agents of one configuration work, as long as it is configured and anybody works there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.agents.configured import Configured
from core.agents.providers import Providers
from core.agents.toolbox import Toolbox


class Station:
    """Lives on the agents' loop. A turn that works here keeps its models and its tool servers to its end, whatever the
    configuration says meanwhile."""

    def __init__(self, agent: Configured, providers: Providers) -> None:
        self.agent = agent
        self.toolbox = Toolbox(agent)
        self._providers = providers
        self._workers = 0
        self._retired = False

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """Nothing is closed before this ends."""
        self._workers += 1
        try:
            yield
        finally:
            self._workers -= 1
            await self._close_if_left()

    async def retire(self) -> None:
        """It is configured no more: close it once nobody works here."""
        self._retired = True
        await self._close_if_left()

    @property
    def is_open(self) -> bool:
        """Somebody works here, or may."""
        return self._workers > 0 or not self._retired

    async def _close_if_left(self) -> None:
        if self._retired and not self._workers:
            await self.toolbox.close()
            await self._providers.retire(self.agent.digest)
