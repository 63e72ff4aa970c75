"""Where the agents of one configuration work, as long as it is configured and anybody works there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.agents.configured import Configured
from core.agents.providers import Providers
from core.agents.toolbox import Toolbox


class Station:
    """Lives on the agents' loop. A turn that works here keeps its models and its tool servers to its end, whatever the
    configuration says meanwhile; nobody waits for what is closed after it."""

    def __init__(self, agent: Configured, providers: Providers) -> None:
        self.agent = agent
        self.toolbox = Toolbox(agent)
        self._providers = providers
        self._workers = 0
        self._retired = False
        self._closing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """Nothing is closed before this ends."""
        self._workers += 1
        try:
            yield
        finally:
            self._workers -= 1
            self._close_if_left()

    def keep(self) -> None:
        """It is configured, maybe again."""
        self._retired = False

    def retire(self) -> None:
        """It is configured no more: it closes once nobody works here."""
        self._retired = True
        self._close_if_left()

    @property
    def is_open(self) -> bool:
        """It has not begun to close."""
        return self._closing is None

    @property
    def is_gone(self) -> bool:
        return self._closing is not None and self._closing.done()

    def _close_if_left(self) -> None:
        if self._retired and not self._workers and self._closing is None:
            self._closing = asyncio.create_task(self._close(), name=f"agent {self.agent.name} closes")

    async def _close(self) -> None:
        clients = self._providers.release(self.agent.digest)  # at once: the same may be configured again meanwhile
        await self.toolbox.close()
        for client in clients:
            await client.aclose()

    async def close(self) -> None:
        """The process ends."""
        if self._closing is not None:
            await self._closing
        else:
            await self.toolbox.close()
