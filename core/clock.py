"""The only reader of time."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SystemClock:
    """The machine's clock, as `ports.Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


def rfc3339(at: datetime) -> str:
    """As people and programs read it: in UTC, with a Z."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def booted_at() -> float:
    """When the machine was started, in seconds since 1970."""
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
