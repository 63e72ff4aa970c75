"""A house that gets another configuration while it runs."""

from __future__ import annotations

from config.bots import BotSettings
from config.faults import ConfigFaults, Fault
from config.settings import Settings
from core.ports import Bot
from core.reload import ConfigState, Reading, Reload, Staff
from core.service.schedule import Schedule
from core.service.supervisor import BotHealth, Supervisor
from core.vocabulary import BotName
from tests.flow.house import House


class Reloaded:
    """Reads `house.options` anew at each `reload`, or finds a fault."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._fault = ""
        reading = Reading(settings=self._read, written=lambda: None, open_bot=self._no_bot, premises=house.premises)
        self.reload_ = Reload(house.settings(), reading, self._staff(house))

    @staticmethod
    def _staff(house: House) -> Staff:
        health = house.desk.health
        assert isinstance(health, BotHealth)
        supervisor = Supervisor(house.bots, health, house.core.outbox, clock=house.clock, random=house.random)  # type: ignore[arg-type]
        schedule = Schedule(house.chores, house.clock, house.settings().session.sweep_s)
        return Staff(house=house.core, desk=house.desk, health=health, supervisor=supervisor, schedule=schedule)

    def _read(self) -> Settings:
        if self._fault:
            raise ConfigFaults([Fault(file="frontdesk.toml", line=7, option="x", message=self._fault, hint="")])
        return self._house.settings()

    def _no_bot(self, name: BotName, settings: BotSettings) -> Bot:
        raise AssertionError(f"{name} is made anew")

    async def to(self, **options: object) -> ConfigState:
        """Other options hold from now on, as far as they are given."""
        self._house.options = {**self._house.options, **options}
        state = await self.reload_.reload()
        assert state.faults == ()
        await self._house.chores.redate()
        await self._house.idle()
        return state

    async def refused(self, fault: str) -> ConfigState:
        """The file is broken."""
        self._fault = fault
        state = await self.reload_.reload()
        self._fault = ""
        return state
