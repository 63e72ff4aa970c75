"""Another configuration takes the place of the one that holds, while the desk runs.

All or nothing: it is read and tried whole before anything of it holds. Turns that run end as they began, agents and
bots whose part of the configuration is the same stay as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog
from msgspec import Struct
from msgspec.structs import replace

from config.bots import BotSettings
from config.faults import ConfigFaults
from config.places import Written
from config.settings import Settings
from core.agents.registry import Agents
from core.aside import aside
from core.assembly import (
    MIB,
    Premises,
    SettingsPolicies,
    access_of,
    agents_of,
    bounds_of,
    rules_of,
    turns_at_once,
)
from core.clock import rfc3339
from core.desk.desk import Desk
from core.desk.house import House
from core.errors import ConfigError, StoreError
from core.ports import Bot
from core.service.schedule import Schedule
from core.service.supervisor import BotHealth, Supervisor
from core.store import facts
from core.store.sql import Tx
from core.vocabulary import BotName

log = structlog.get_logger("frontdesk.config")


MOST_FAULTS = 50
"""That are kept and shown."""
SETTLED_S, TRIES = 0.3, 30
"""A file that was written just now is read when nobody has written it for so long; after so many looks, as it is."""


class ConfigState(Struct, frozen=True, kw_only=True):
    """Which configuration holds, and why a newer one does not."""

    loaded_at: datetime
    refused_at: datetime | None = None
    faults: tuple[str, ...] = ()
    """What is wrong with the one that was refused last, since another was taken."""
    next_start: tuple[str, ...] = ()
    """Options that were changed and need a new process."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How main reads a configuration, and what it makes of parts of it."""

    settings: Callable[[], Settings]
    """As at the start, from the same places; blocking. Raises `ConfigFaults`."""
    written: Callable[[], Written | None]
    """Tells one version of the file from another; None: there is no file."""
    open_bot: Callable[[BotName, BotSettings], Bot]
    premises: Premises


@dataclass(frozen=True, kw_only=True)
class Staff:
    """Whom a new configuration concerns."""

    house: House
    desk: Desk
    health: BotHealth
    supervisor: Supervisor
    schedule: Schedule


class Reload:
    """Lives on the main loop."""

    def __init__(self, settings: Settings, reading: Reading, staff: Staff) -> None:
        self.settings = settings
        self._first = settings
        """What the process began with."""
        self.state = ConfigState(loaded_at=staff.house.clock.now())
        self._reading = reading
        self._staff = staff
        self._house = staff.house
        self._one_at_a_time = asyncio.Lock()

    async def reload(self) -> ConfigState:
        """Read the configuration again; what holds then. A faulty one changes nothing but `state`."""
        async with self._one_at_a_time:
            try:
                await self._until_settled()
                settings = await aside(self._reading.settings)
                agents = await aside(partial(self._tried, settings))
                accounts = await self._house.store.read(lambda tx: _accounts(tx, settings))
            except (ConfigFaults, ConfigError, StoreError) as fault:
                self._refuse(fault)
            else:
                await self._adopt(settings, agents, accounts)
            return self.state

    async def _until_settled(self) -> None:
        """Half a file may be a whole config: one without the bots that come in its other half."""
        clock, seen = self._house.clock, self._reading.written()
        for _ in range(TRIES):
            if seen is None or clock.now().timestamp() - seen.at_s > SETTLED_S:
                return
            await clock.sleep(SETTLED_S)
            before, seen = seen, self._reading.written()
            if seen == before:
                return

    def _tried(self, settings: Settings) -> Agents:
        agents = agents_of(settings, before=self._house.agents)
        agents.check()
        return agents

    def _refuse(self, fault: Exception) -> None:
        found = str(fault).splitlines()
        more = [f"and {len(found) - MOST_FAULTS} more: frontdesk check"] if len(found) > MOST_FAULTS else []
        faults = (*found[:MOST_FAULTS], *more)
        log.error("config_refused", faults=len(found), first=faults[0], holds_since=rfc3339(self.state.loaded_at))
        self.state = replace(self.state, refused_at=self._house.clock.now(), faults=faults)

    async def _adopt(self, settings: Settings, agents: Agents, accounts: Mapping[str, str]) -> None:
        """Bots that go or change are silent while the rules change, so that nothing of theirs meets the wrong ones."""
        before, self.settings = self.settings, settings
        wanted = settings.spoken_to
        leaving = [name for name, old in before.spoken_to.items() if not self._stays(name, old, wanted.get(name))]
        await asyncio.gather(*(self._staff.supervisor.dismiss(BotName(name)) for name in leaving))
        self._adopt_rules(settings, agents)
        await agents.take_over()
        for name in wanted:
            if name in leaving or name not in before.spoken_to:
                bot = self._reading.open_bot(BotName(name), wanted[name])
                self._staff.supervisor.engage(bot, self._staff.desk, accounts[name])
        self._staff.schedule.adopt(settings.session.sweep_s)
        self.state = ConfigState(loaded_at=self._house.clock.now(), next_start=_fixed(self._first, settings))
        log.info("config_loaded", bots=list(settings.bots), left=leaving, next_start=list(self.state.next_start))

    def _stays(self, name: str, old: BotSettings, new: BotSettings | None) -> bool:
        """A bot that was given up is tried anew: what the platform refused may have been put right there."""
        state = self._staff.health.states.get(BotName(name))
        failed = state is not None and state.state == "failed"
        return new is not None and new.serves_as(old) and not failed

    def _adopt_rules(self, settings: Settings, agents: Agents) -> None:
        house = self._house
        house.adopt(
            agents=agents,
            access=access_of(settings, {*house.bots, *map(BotName, settings.bots)}),
            policies=SettingsPolicies(settings),
            porter=bounds_of(settings),
            rules=rules_of(settings, self._reading.premises),
        )
        cache = settings.cache
        house.cache.bound(most=cache.agents, most_bytes=cache.history_mib * MIB, idle_s=cache.idle_minutes * 60)
        house.slots.allow(*turns_at_once(settings))
        house.outbox.workshop.give_up_s = house.rules.stale.total_seconds()


def _accounts(tx: Tx, settings: Settings) -> dict[str, str]:
    """What each bot's name stood for last."""
    return {name: facts.account_of(tx, name) for name in settings.spoken_to}


def _fixed(first: Settings, now: Settings) -> tuple[str, ...]:
    """What differs from what the process began with, and can't be changed any more."""
    changed: Mapping[str, bool] = {
        "[store] url": first.store != now.store,
        "the terminal bot's name": first.terminal != now.terminal,
    }
    return tuple(option for option, differs in changed.items() if differs)
