"""Runs every bot, and knows how each one is doing. A bot that fails stops nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import structlog

from core.backoff import backoff_s
from core.delivery.outbox import Outbox
from core.errors import BotRejected
from core.ports import Bot, Clock, Desk, Random
from core.vocabulary import BotName

log = structlog.get_logger("frontdesk.bots")

State = Literal["starting", "up", "degraded", "failed"]

REJECTED_PAUSE_S = 300.0
"""A refused token is tried again this often."""
FAULT_PAUSE_S = (1.0, 60.0)
LEAVE_S = 2.0
"""How long a bot that leaves may take for what it is sending."""


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
    """`ports.Health`: the bots' own words. A bot that was let go of may still speak, and nobody listens.

    `on_account` is told each account the first time it is heard of, `on_up` and `on_failed` when a bot begins to work
    and when it is given up for now, `on_change` whenever any state is another.
    """

    def __init__(self, bots: Mapping[BotName, Bot], accounts: Mapping[BotName, str]) -> None:
        self.states: dict[BotName, BotState] = {}
        self.on_change: Callable[[], None] = lambda: None
        self.on_account: Callable[[BotName, str], None] = lambda bot, account: None
        self.on_up: Callable[[BotName], None] = lambda bot: None
        self.on_failed: Callable[[BotName], None] = lambda bot: None
        self._changed: dict[BotName, str] = {}
        for name, bot in bots.items():
            self.admit(bot, accounts.get(name, ""))

    def admit(self, bot: Bot, account: str) -> None:
        """A bot begins; `account` is what its name stood for last, or ""."""
        self.states[bot.name] = BotState(name=bot.name, platform=bot.platform, account=account)
        self._changed.pop(bot.name, None)
        self.on_change()

    def let_go(self, bot: BotName) -> None:
        """It is configured no more."""
        self.states.pop(bot, None)
        self.on_change()

    def account(self, bot: BotName, account: str) -> None:
        state = self.states.get(bot)
        if state is None or state.account == account:
            return
        if state.account:
            self._changed[bot] = f"another account than before ({state.account}); its conversations are kept"
            log.warning("account_changed", bot=bot, before=state.account, now=account)
        state.account = account
        self.on_account(bot, account)

    def up(self, bot: BotName) -> None:
        state = self.states.get(bot)
        if state is None:
            return
        if state.state != "up":
            log.info("bot_up", bot=bot, account=state.account)
            self.on_up(bot)
        self._set(state, "up", self._changed.get(bot, ""))

    def degraded(self, bot: BotName, detail: str) -> None:
        state = self.states.get(bot)
        if state is not None and self._set(state, "degraded", detail):
            log.warning("bot_degraded", bot=bot, detail=detail)

    def failed(self, bot: BotName, detail: str) -> None:
        state = self.states.get(bot)
        if state is None:
            return
        log.error("bot_failed", bot=bot, detail=detail)
        self._set(state, "failed", detail)
        self.on_failed(bot)

    def _set(self, bot: BotState, state: State, detail: str) -> bool:
        """Whether it is another than before."""
        if (bot.state, bot.detail) == (state, detail):
            return False
        bot.state, bot.detail = state, detail
        self.on_change()
        return True

    def heard(self, bot: BotName, at: datetime) -> None:
        if bot in self.states:
            self.states[bot].last_inbound_at = at

    def account_of(self, bot: BotName) -> str:
        """What inbox rows of this bot are unique within."""
        state = self.states.get(bot)
        return f"{state.platform}:{state.account or bot}" if state is not None else f"{bot}:{bot}"


class Supervisor:
    """One task per bot. `bots` is the mapping in which every part of the desk finds them."""

    def __init__(
        self, bots: MutableMapping[BotName, Bot], health: BotHealth, outbox: Outbox, *, clock: Clock, random: Random
    ) -> None:
        self._bots = bots
        self._health = health
        self._outbox = outbox
        self._clock = clock
        self._random = random
        self._tasks: dict[BotName, asyncio.Task[None]] = {}
        self.on_begin: Callable[[Bot], None] = lambda bot: None
        """Told each bot that begins, and `on_leave` each that is dismissed."""
        self.on_leave: Callable[[Bot], None] = lambda bot: None

    def engage(self, bot: Bot, desk: Desk, account: str) -> None:
        """A bot begins while the desk runs; `account` is what its name stood for last, or "". What waits for it goes
        out once it is up."""
        self._bots[bot.name] = bot
        self._health.admit(bot, account)
        self._outbox.hold(bot.name)
        self._outbox.changed(bot.name)
        self.start(bot, desk)

    async def dismiss(self, bot: BotName) -> None:
        """A bot leaves while the desk runs: it ends what it is sending, and what waits for it waits on."""
        self._outbox.hold(bot)
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._outbox.at_rest(bot)
        except TimeoutError:
            log.warning("bot_leaves_late", bot=bot)
        await self.stop(bot)
        gone = self._bots.pop(bot, None)
        if gone is not None:
            self.on_leave(gone)
        self._health.let_go(bot)

    def start(self, bot: Bot, desk: Desk) -> asyncio.Task[None]:
        """Run a bot until it is stopped; the task ends by itself only where the bot's input ends."""
        self.on_begin(bot)
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
                await self._clock.sleep(backoff_s(faults, least, most) * self._random.uniform(0.75, 1.25))
            else:
                return

    async def stop(self, *bots: BotName) -> None:
        """Cancel these bots, or every one, and wait until they are gone."""
        tasks = [self._tasks.pop(bot) for bot in bots or tuple(self._tasks) if bot in self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
