"""A tool of ours that takes as long as a test wants."""

from __future__ import annotations

import asyncio

from core.desk.turn_desk import TurnDesk
from core.store.search import Hits


class Held:
    """A search that takes until somebody lets it go."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go = asyncio.Event()
        self._search = TurnDesk.search

    async def search(self, desk: TurnDesk, words: str) -> Hits:
        self.reached.set()
        await self.go.wait()
        return await self._search(desk, words)
