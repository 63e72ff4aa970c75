"""The listener of a house, and somebody who asks it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from prometheus_client.parser import text_string_to_metric_families

from config.settings import ListenSettings
from core.service.listener import Listener
from core.service.supervisor import BotHealth
from core.service.watching import watched
from tests.flow.house import House

PATIENCE_S = 10.0


class Watcher:
    """Asks the listener of a house."""

    def __init__(self, house: House, listener: Listener, client: httpx.AsyncClient) -> None:
        self.house = house
        self.listener = listener
        self.client = client
        self.samples: dict[str, float] = {}

    async def scrape(self) -> None:
        """Every sample, as `name{label="value"}` with labels in order."""
        answer = await self.client.get("/metrics")
        assert answer.status_code == 200
        self.samples = {
            sample.name + "".join(f" {value}" for _, value in sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        }

    def __getitem__(self, name: str) -> float:
        return self.samples[name]

    async def ready(self) -> tuple[int, dict[str, object]]:
        answer = await self.client.get("/readyz")
        told: dict[str, object] = answer.json()
        return answer.status_code, told


@asynccontextmanager
async def watching(house: House) -> AsyncIterator[Watcher]:
    health = house.desk.health
    assert isinstance(health, BotHealth)
    async with watched(ListenSettings(port=0), house.core, house.desk, health, "1.2.3") as listener:
        listener.begin()
        async with asyncio.timeout(PATIENCE_S):
            while listener.status.state != "up":  # noqa: ASYNC110  # nobody tells of it
                await asyncio.sleep(0.005)
        async with httpx.AsyncClient(base_url=f"http://{listener.status.address}", timeout=PATIENCE_S) as client:
            yield Watcher(house, listener, client)
