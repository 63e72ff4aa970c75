"""A desk in this process, over a real store, with the settings that a daemon would have."""

from __future__ import annotations

import gc
import io
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from config.settings import Settings
from core.assembly import furnish
from core.chance import SystemRandom
from core.clock import SystemClock
from core.desk.desk import Desk
from core.desk.house import House
from core.service import logs
from core.service.garbage import Garbage
from core.service.schedule import Chores
from core.service.supervisor import BotHealth
from core.store import facts
from core.store.engine import Store
from core.store.open import open_store
from core.vocabulary import BotName
from tests.bench.traffic import BOT, BenchBot, GrowingBot, Traffic
from tests.clock import ShiftedClock

AgentTable = Mapping[str, object]
"""`[agents.NAME]` as in the config file."""

PROBE = BotName("probe")
"""A bot whose chats the offline agent answers, whoever answers the others."""

THRESHOLDS = gc.get_threshold()


class Nowhere(io.StringIO):
    """Takes what is written, and keeps nothing."""

    def write(self, text: str) -> int:
        return len(text)


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
async def under_test(
    state: Path, *, agent: str | AgentTable = "offline", cached: int = 256, grows: bool = False, turns: int = 64
) -> AsyncIterator[UnderTest]:
    """`agent`: its backend, or its whole table; what models need is loaded before anything is measured. `grows`: the
    bot shows answers while they are made. `turns`: how many at once. Logs go where they cost what they cost, and are
    not kept."""
    logs.set_up(["secret-of-the-bench"], stream=Nowhere())
    store = open_store(None, state)
    try:
        table = {"backend": agent} if isinstance(agent, str) else agent
        made = await _made(store, _settings(table, cached, turns), GrowingBot() if grows else BenchBot())
        if made.house.agents.models is not None:
            await made.house.agents.models.engine()
        gc.collect()
        Garbage(SystemClock()).begin()
        yield made
        await made.desk.close()
        await made.house.agents.close()
    finally:
        store.close()
        gc.unfreeze()
        gc.set_threshold(*THRESHOLDS)


UNLIMITED = {"conversations_per_hour": 1_000_000, "tokens_per_day": 1_000_000_000}
"""Nobody of these keeps to what a guest may."""


def _settings(agent: AgentTable, cached: int, turns: int) -> Settings:
    return Settings.model_validate(
        {
            "access": {"direct": "open", "guests": UNLIMITED},
            "agents": {"default": agent, "offline": {"backend": "offline"}},
            "bots": {
                BOT: {"platform": "telegram", "token": "1:secret-of-the-bench"},
                PROBE: {"platform": "telegram", "token": "2:secret-of-the-bench", "agent": "offline"},
            },
            "cache": {"agents": cached},
            "desk": {"max_turns": turns},
            "session": {"reset": {"mode": "idle"}},
        }
    )


async def _made(store: Store, settings: Settings, bot: BenchBot) -> UnderTest:
    clock, bots = ShiftedClock(), {BOT: bot, PROBE: BenchBot(PROBE)}
    house = furnish(settings, store, bots, clock=clock, random=SystemRandom(clock))
    health = BotHealth(bots, {})
    desk = Desk(house, health, health.account_of, "bench", health.heard)
    await store.write(lambda tx: facts.put(tx, "policy_digest", house.policies.digest))
    await desk.start()
    return UnderTest(house=house, desk=desk, chores=Chores(house, desk), bot=bot, clock=clock)


@asynccontextmanager
async def new_state() -> AsyncIterator[Path]:
    """A state directory that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="frontdesk-bench-") as folder:
        yield Path(folder)
