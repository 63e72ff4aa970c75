"""Runs every bot, and knows how each one is doing. A bot that fails stops nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import structlog

from core.errors import BotRejected
from core.ports import Bot, Clock, Desk, Random
from core.vocabulary import BotName

log = structlog.get_logger("frontdesk.bots")

State = Literal["starting", "up", "degraded", "failed"]

REJECTED_PAUSE_S = 300.0
"""A refused token is tried again this often."""
FAULT_PAUSE_S = (1.0, 60.0)


@dataclass(slots=True)
class BotState:
    """What `frontdesk status` says of one bot."""

    name: BotName
    platform: str
    account: str = ""
    state: State = "starting"
    detail: str = ""
    last_inbound_at: datetime | None = None


class BotHealth:
    """`ports.Health`: the bots' own words. `on_account` is told each account the first time it is heard of, `on_up` and
    `on_failed` when a bot begins to work and when it is given up for now."""

    def __init__(self, bots: Mapping[BotName, Bot], accounts: Mapping[BotName, str]) -> None:
        self.states = {
            name: BotState(name=name, platform=bot.platform, account=accounts.get(name, ""))
            for name, bot in bots.items()
        }
        self.on_account: Callable[[BotName, str], None] = lambda bot, account: None
        self.on_up: Callable[[BotName], None] = lambda bot: None
        self.on_failed: Callable[[BotName], None] = lambda bot: None
        self._changed: dict[BotName, str] = {}

    def account(self, bot: BotName, account: str) -> None:
        state = self.states[bot]
        if state.account == account:
            return
        if state.account:
            self._changed[bot] = f"another account than before ({state.account}); its conversations are kept"
            log.warning("account_changed", bot=bot, before=state.account, now=account)
        state.account = account
        self.on_account(bot, account)

    def up(self, bot: BotName) -> None:
        state = self.states[bot]
        if state.state != "up":
            log.info("bot_up", bot=bot, account=state.account)
            self.on_up(bot)
        state.state, state.detail = "up", self._changed.get(bot, "")

    def degraded(self, bot: BotName, detail: str) -> None:
        state = self.states[bot]
        if (state.state, state.detail) != ("degraded", detail):
            log.warning("bot_degraded", bot=bot, detail=detail)
        state.state, state.detail = "degraded", detail

    def failed(self, bot: BotName, detail: str) -> None:
        log.error("bot_failed", bot=bot, detail=detail)
        self.states[bot].state, self.states[bot].detail = "failed", detail
        self.on_failed(bot)

    def heard(self, bot: BotName, at: datetime) -> None:
        if bot in self.states:
            self.states[bot].last_inbound_at = at

    def account_of(self, bot: BotName) -> str:
        """What inbox rows of this bot are unique within."""
        state = self.states.get(bot)
        return f"{state.platform}:{state.account or bot}" if state is not None else f"{bot}:{bot}"


class Supervisor:
    """One task per bot."""

    def __init__(self, health: BotHealth, *, clock: Clock, random: Random) -> None:
        self._health = health
        self._clock = clock
        self._random = random
        self._tasks: dict[BotName, asyncio.Task[None]] = {}

    def start(self, bot: Bot, desk: Desk) -> asyncio.Task[None]:
        """Run a bot until it is stopped; the task ends by itself only where the bot's input ends."""
        task = asyncio.create_task(self._keep(bot, desk), name=f"bot {bot.name}")
        self._tasks[bot.name] = task
        return task

    async def _keep(self, bot: Bot, desk: Desk) -> None:
        faults = 0
        while True:
            began = self._clock.monotonic()
            try:
                await bot.run(desk)
            except BotRejected as rejection:
                self._health.failed(bot.name, str(rejection))
                await self._clock.sleep(REJECTED_PAUSE_S)
            except Exception as fault:  # bot supervisor: a fault in one bot stops no other
                faults = 0 if self._clock.monotonic() - began > REJECTED_PAUSE_S else faults + 1
                log.exception("bot_fault", bot=bot.name)
                self._health.degraded(bot.name, f"fault in the bot ({type(fault).__name__}); the log says more")
                least, most = FAULT_PAUSE_S
                await self._clock.sleep(min(most, least * 2.0 ** min(faults, 10)) * self._random.uniform(0.75, 1.25))
            else:
                return

    async def stop(self) -> None:
        """Cancel every bot and wait until they are gone."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()
