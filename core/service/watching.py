"""How the daemon can be watched from outside: one listener, what it serves, and what that is made from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from config.settings import ListenSettings
from core.desk.desk import Desk
from core.desk.house import House
from core.ports import AsgiApp
from core.service.lateness import Lateness
from core.service.listener import Listener
from core.service.readiness import Readiness, StoreProbe
from core.service.supervisor import BotHealth

if TYPE_CHECKING:
    from core.service.pages import Pages


class HealthPages:
    """`listener.Site`: `/livez`, `/readyz` and `/metrics` of one daemon."""

    def __init__(self, house: House, desk: Desk, health: BotHealth, lateness: Lateness, version: str) -> None:
        self._house = house
        self._desk = desk
        self._health = health
        self._lateness = lateness
        self._version = version
        self.readiness = Readiness(desk, health, StoreProbe(house.store, house.clock), lateness)

    def load(self) -> None:
        from core.service import pages, web  # noqa: F401  # imported for the first time here, on a thread

    def app(self, mounted: Mapping[str, AsgiApp]) -> AsgiApp:
        return self._pages().app(mounted)

    def _pages(self) -> Pages:
        from core.service.metrics import Metrics, Sources
        from core.service.pages import Pages

        sources = Sources(
            house=self._house, desk=self._desk, health=self._health, readiness=self.readiness,
            lateness=self._lateness, version=self._version,
        )  # fmt: skip
        return Pages(self.readiness, Metrics(sources))


@asynccontextmanager
async def watched(
    settings: ListenSettings, house: House, desk: Desk, health: BotHealth, version: str
) -> AsyncIterator[Listener]:
    """The listener while the body runs; it comes up some time after its `begin`.

    Entered before the desk starts and left after it has closed, it tells of both.
    """
    lateness = Lateness(house.clock, house.tally)
    site = HealthPages(house, desk, health, lateness, version)
    listener = Listener(settings, site, clock=house.clock, random=house.random)
    looking = asyncio.create_task(lateness.watch(), name="lateness")
    try:
        async with listener.listening():
            yield listener
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
