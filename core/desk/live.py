"""Live events: whoever follows a row sees its turn as it happens. Nobody following costs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

from core.vocabulary import Outcome, RowId, TurnEnded, TurnEvent


class Live:
    """Lives on the main loop."""

    def __init__(self) -> None:
        self._followers: dict[RowId, list[asyncio.Queue[TurnEvent]]] = {}

    def publish(self, rows: Iterable[RowId], event: TurnEvent) -> None:
        """Hand an event to those who follow one of the rows."""
        if self._followers:
            for row in rows:
                for queue in self._followers.get(row, ()):
                    queue.put_nowait(event)

    def ended(self, rows: Iterable[RowId], outcome: Outcome = Outcome.DONE, text: str = "") -> None:
        """The rows have their fate."""
        self.publish(rows, TurnEnded(outcome=outcome, text=text))

    def subscribe(self, row: RowId) -> asyncio.Queue[TurnEvent]:
        queue: asyncio.Queue[TurnEvent] = asyncio.Queue()
        self._followers.setdefault(row, []).append(queue)
        return queue

    def leave(self, row: RowId, queue: asyncio.Queue[TurnEvent]) -> None:
        queues = self._followers.get(row, [])
        if queue in queues:
            queues.remove(queue)
        if not queues:
            self._followers.pop(row, None)

    async def events(self, row: RowId, queue: asyncio.Queue[TurnEvent]) -> AsyncIterator[TurnEvent]:
        """Until the turn has ended."""
        try:
            while True:
                event = await queue.get()
                yield event
                if isinstance(event, TurnEnded):
                    return
        finally:
            self.leave(row, queue)
