"""Is all well, outside as well? Everything is asked at once, and told in a fixed order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from config.agents import ModelAgentSettings
from config.faults import Fault
from config.settings import Settings
from core.agents.configured import Configured
from core.errors import NotRunning, VerbFailed
from core.ports import Blamed, Clock, Finding, Probe, State
from core.probing import models, place
from core.probing.port import look_at_port
from core.probing.speech import look_at_speech
from core.service.socket import SOCKET_NAME, Json
from core.service.socket_client import ask

T = TypeVar("T")

STATUS_S: Final = 5.0
"""For the answer of a daemon that runs."""
MACHINE_S: Final = 10.0
"""For the store and for the listener's name: a server that is gone keeps whoever asks it waiting."""
_STATES: Final[Mapping[str, tuple[State, Blamed]]] = {
    "up": ("ok", "config"),
    "starting": ("ok", "config"),
    "degraded": ("fault", "world"),
}
"""What a bot's state in `status` is here; any other is a fault of the configuration."""


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What is looked at. `probes`: of the bots, by name. `unit`: what was found of the service."""

    settings: Settings
    config: Path | None
    state: Path
    warnings: Sequence[Fault]
    probes: Mapping[str, Probe]
    clock: Clock
    unit: Sequence[Finding]

    async def findings(self) -> list[Finding]:
        """Asks everybody, each within about ten seconds."""
        settings = self.settings
        status = await self._status()
        runs = status is not None
        alone = not runs and place.holder_of(self.state) is None
        agents = self._agents()
        if agents:
            await models.load()
        url = settings.store.url_in(self.state)
        in_order = await asyncio.gather(
            asyncio.to_thread(place.look_at_directory, self.state, runs=runs),
            _alone(_within(MACHINE_S, asyncio.to_thread(place.look_at_store, url, self.state, runs=runs), "store")),
            _alone(_within(MACHINE_S, look_at_port(settings.listen, status), "[listen]")),
            *(self._bot(name, probe, status, alone=alone) for name, probe in self.probes.items()),
            models.look_at_models(agents, self.clock),
            models.look_at_tools(agents),
            look_at_speech(settings.speech, settings.network.proxy),
        )
        zone = place.look_at_zones(self._zones(), self.clock.now())
        directory, store, port, *others = in_order
        return [
            *config_findings(self.config, self.warnings),
            *directory,
            *store,
            *port,
            zone,
            *(f for o in others for f in o),
            *self.unit,
        ]

    async def _status(self) -> Mapping[str, Json] | None:
        """What the daemon on this state directory says of itself; None if none runs, nothing if it does not say."""
        try:
            async with asyncio.timeout(STATUS_S):
                told = await ask(self.state / SOCKET_NAME, "status", {})
        except NotRunning:
            return None
        except (VerbFailed, TimeoutError):
            return {}
        return told if isinstance(told, Mapping) else {}

    async def _bot(self, name: str, probe: Probe, status: Mapping[str, Json] | None, *, alone: bool) -> list[Finding]:
        findings = list(await probe.findings(alone=alone))
        return findings if status is None else [*findings, _as_it_runs(name, status)]

    def _agents(self) -> list[Configured]:
        return [
            Configured(name=name, digest=name, settings=agent, proxy=self.settings.network.proxy)
            for name, agent in self.settings.agents.items()
            if isinstance(agent, ModelAgentSettings)
        ]

    def _zones(self) -> list[str]:
        general = self.settings.session.reset.timezone
        return [self.settings.desk.timezone, *([general] if general else [])]


def config_findings(config: Path | None, warnings: Sequence[Fault]) -> list[Finding]:
    """What was found by reading alone."""
    where = str(config) if config else "there is no file: the defaults serve"
    return [Finding(what="config", state="ok", detail=where), *(_finding(one, "warning") for one in warnings)]


def fault_findings(faults: Sequence[Fault]) -> list[Finding]:
    """What keeps the config from being used."""
    return [_finding(one, "fault") for one in faults]


def _finding(fault: Fault, state: State) -> Finding:
    where = f"{fault.file}:{fault.line}" if fault.line else fault.file
    detail = f"{fault.option}: {fault.message}" if fault.option else fault.message
    return Finding(what=where, state=state, detail=detail, do=fault.hint)


def _as_it_runs(name: str, status: Mapping[str, Json]) -> Finding:
    bots = status.get("bots")
    listed = bots if isinstance(bots, Sequence) and not isinstance(bots, str) else []
    bot = next((one for one in listed if isinstance(one, Mapping) and one.get("name") == name), None)
    what = f"[bots.{name}] messages"
    if not status:
        detail = "the desk that runs does not say how it is"
        return Finding(what=what, state="warning", detail=detail, do="ask as its user, or look into its log")
    if bot is None:
        detail = "the desk that runs was started without this bot"
        return Finding(what=what, state="warning", detail=detail, do="reload or restart it")
    told = str(bot.get("state"))
    state, blames = _STATES.get(told, ("fault", "config"))
    return Finding(
        what=what, state=state, blames=blames, do=str(bot.get("detail") or ""),
        detail=f"the desk that runs receives them: {told}" if state == "ok" else f"the desk that runs says: {told}",
    )  # fmt: skip


async def _alone(finding: Awaitable[Finding]) -> list[Finding]:
    return [await finding]


async def _within(seconds: float, finding: Awaitable[Finding], what: str) -> Finding:
    try:
        return await asyncio.wait_for(finding, seconds)
    except TimeoutError:
        detail = f"no answer within {seconds:.0f} s"
        return Finding(what=what, state="fault", detail=detail, do="see that it can be reached", blames="world")
