"""A desk in this process, over a real store, with the settings that a daemon would have."""

from __future__ import annotations

import gc
import io
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from config.settings import Settings
from core.assembly import furnish
from core.chance import SystemRandom
from core.clock import SystemClock
from core.desk.desk import Desk
from core.desk.house import House
from core.service import logs
from core.service.schedule import Chores
from core.service.supervisor import BotHealth
from core.store import facts
from core.store.engine import Store
from core.store.open import open_store
from tests.bench.traffic import BOT, BenchBot, Traffic


class Nowhere(io.StringIO):
    """Takes what is written, and keeps nothing."""

    def write(self, text: str) -> int:
        return len(text)


class ShiftedClock(SystemClock):
    """The machine's clock, some time ahead."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.ahead


@dataclass(frozen=True, kw_only=True)
class UnderTest:
    house: House
    desk: Desk
    chores: Chores
    bot: BenchBot
    clock: ShiftedClock

    async def talk(self, chats: list[str], turns: int) -> None:
        """Every chat has its turns, all chats at once; returns when nothing moves any more."""
        self.bot.traffic = Traffic(chats, turns)
        await self.bot.traffic.run(self.desk)
        self.bot.traffic = None
        await self.desk.idle()


@asynccontextmanager
async def under_test(state: Path, *, agent: str = "offline", cached: int = 256) -> AsyncIterator[UnderTest]:
    """Logs go where they cost what they cost, and are not kept."""
    logs.set_up(["secret-of-the-bench"], stream=Nowhere())
    store = open_store(None, state)
    try:
        made = await _made(store, agent, cached)
        gc.collect()
        gc.freeze()
        yield made
        await made.desk.close()
    finally:
        store.close()
        gc.unfreeze()


async def _made(store: Store, agent: str, cached: int) -> UnderTest:
    settings = Settings.model_validate(
        {
            "access": {"direct": "open"},
            "agents": {"default": {"backend": agent}},
            "bots": {BOT: {"platform": "telegram", "token": "1:secret-of-the-bench"}},
            "cache": {"agents": cached},
            "session": {"reset": {"mode": "idle"}},
        }
    )
    clock, bot = ShiftedClock(), BenchBot()
    house = furnish(settings, store, {BOT: bot}, clock, SystemRandom(clock))
    health = BotHealth({BOT: bot}, {})
    desk = Desk(house, health, health.account_of, "bench", health.heard)
    await store.write(lambda tx: facts.put(tx, "policy_digest", house.policies.digest))
    await desk.start()
    return UnderTest(house=house, desk=desk, chores=Chores(house, desk), bot=bot, clock=clock)


@asynccontextmanager
async def new_state() -> AsyncIterator[Path]:
    """A state directory that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="frontdesk-bench-") as folder:
        yield Path(folder)
