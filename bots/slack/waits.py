"""Steps that are repeated until they succeed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from core.backoff import Backoff
from core.errors import BotError, BotRejected, FloodWait, StoreError
from core.ports import Clock

_T = TypeVar("_T")


async def patiently(step: Callable[[], Awaitable[_T]], clock: Clock, waits: Backoff, tell: Callable[[str], None]) -> _T:
    """Repeat a step until it succeeds, with growing waits; `tell` hears of each trouble. Raises `BotRejected`."""
    while True:
        try:
            return await step()
        except BotRejected:
            raise
        except (BotError, StoreError) as trouble:
            wait_s = trouble.wait_s if isinstance(trouble, FloodWait) else waits.next_s()
            tell("the store can't be read" if isinstance(trouble, StoreError) else str(trouble))
        await clock.sleep(wait_s)
