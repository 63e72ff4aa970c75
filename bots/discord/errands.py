"""What is done beside: tasks that nobody waits for, ended with the bot."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Final

_LOG: Final = logging.getLogger(__name__)


class Errands:
    """All of them; each handles the troubles that it expects."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, errand: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(errand)
        self._tasks.add(task)
        task.add_done_callback(self._end)

    async def close(self) -> None:
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            _LOG.error("a fault in what is done beside", exc_info=fault)


async def together(*works: Coroutine[object, object, None]) -> None:
    """Until the first of them fails; then the others are cancelled, and its error is raised as it is."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
