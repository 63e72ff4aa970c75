"""Whether the desk can take a message now: what `/readyz` says.

Only what stops everything counts: the store, the recovery at the start, a loop that does not keep up, the end of the
process. A bot that is degraded or failed is one part, and is only told of.
"""

from __future__ import annotations

import asyncio
from datetime import datetime

from msgspec import Struct

from core.desk.desk import Desk
from core.errors import StoreCorrupt, StoreError, StoreFull
from core.ports import Clock
from core.service.lateness import Lateness
from core.service.socket import Json
from core.service.supervisor import BotHealth
from core.store import facts
from core.store.engine import Store
from core.store.sql import Tx

PROBE = "readiness_probe"
STORE_S = 2.0
"""How long a read may take; an ordinary one takes under 20 ms."""
FRESH_S = 1.0
"""An answer of the store is good for so long, so that probes cost no more than one read a second."""
FAULT_S = 10.0
"""After a write that failed, smaller ones may still go through: the store counts as faulty for so long at least."""
LATE_S = 5.0
"""A loop that is held up for longer lets people and platforms wait."""


class Part(Struct, frozen=True, kw_only=True):
    """`detail` says in words what is wrong and what to do, without paths or secrets; "" where nothing is."""

    ok: bool
    detail: str = ""


FINE = Part(ok=True)
GONE = Part(ok=False, detail="its file is not where it was; put it back, or restart the daemon")


class StoreProbe:
    """Asks the store whether it reads, and after a fault whether it writes. Lives on the main loop."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._asking: asyncio.Task[Part] | None = None
        self._seen: tuple[float, Part] | None = None
        self._fault = 0
        """The number of the last fault of a write that is known here."""
        self._fault_s = 0.0
        self._over = 0
        """The number of the last one that a write since then has shown to be over."""

    async def look(self) -> Part:
        """Within `STORE_S`, whatever the store does; many at once ask it once."""
        asking = self._asking
        if asking is None or asking.done():
            if self._seen is not None and self._clock.monotonic() - self._seen[0] < FRESH_S:
                return self._seen[1]
            asking = self._asking = asyncio.create_task(self._ask(), name="store probe")
        await asyncio.wait({asking}, timeout=STORE_S)
        if not asking.done():
            return Part(ok=False, detail=f"it does not answer within {STORE_S:g} s; is its disk or server overloaded?")
        return asking.result()

    async def _ask(self) -> Part:
        try:
            part = await self._read()
        except StoreError as fault:
            part = GONE if await asyncio.to_thread(self._store.database.is_gone) else _in_words(fault)
        self._seen = (self._clock.monotonic(), part)
        return part

    async def _read(self) -> Part:
        if await self._store.read(self._is_gone):
            return GONE
        return await self._write_if_faulty()

    def _is_gone(self, tx: Tx) -> bool:
        facts.get(tx, PROBE)
        return self._store.database.is_gone()

    async def _write_if_faulty(self) -> Part:
        last, now = self._store.tally.last_write_fault, self._clock.monotonic()
        if last is None:
            return FINE
        fault, number = last
        if number > self._fault:
            self._fault, self._fault_s = number, now
        if self._fault == self._over:
            return FINE
        if now - self._fault_s < FAULT_S:
            return _in_words(fault)
        at = self._clock.now()
        await self._store.write(lambda tx: _touch(tx, at))
        self._over = self._fault
        return FINE


def _touch(tx: Tx, at: datetime) -> None:
    facts.put(tx, PROBE, at.isoformat())


def _in_words(fault: StoreError) -> Part:
    """Whoever may reach the listener reads this, so the fault's own words, which name files, stay in the log."""
    match fault:
        case StoreFull():
            detail = "its disk is full; free some space, and what waits is stored by itself"
        case StoreCorrupt():
            detail = "it is damaged; see the log, and restore a backup"
        case _:
            detail = f"it takes nothing ({type(fault).__name__}); the log says why"
    return Part(ok=False, detail=detail)


def desk_parts(desk: Desk) -> dict[str, Part]:
    """What the desk itself says, by name."""
    recovery = "" if desk.recovered else "what the last process left is still being settled; wait"
    stopping = "the daemon is stopping" if desk.closing else ""
    return {name: Part(ok=not why, detail=why) for name, why in (("recovery", recovery), ("stopping", stopping))}


class Readiness:
    """Lives on the main loop. May be asked as often as one likes."""

    def __init__(self, desk: Desk, health: BotHealth, probe: StoreProbe, lateness: Lateness) -> None:
        self._desk = desk
        self._health = health
        self._probe = probe
        self._lateness = lateness

    async def parts(self) -> dict[str, Part]:
        """What must be well for the desk to be ready, by name."""
        return {"store": await self._probe.look(), "loop": self._loop(), **desk_parts(self._desk)}

    async def report(self) -> tuple[bool, Json]:
        """Whether it is ready, and the body of `/readyz`."""
        parts = await self.parts()
        ready = all(part.ok for part in parts.values())
        told: dict[str, Json] = {name: {"ok": part.ok, "detail": part.detail} for name, part in parts.items()}
        bots: list[Json] = [
            {"name": bot.name, "state": bot.state, "detail": bot.detail} for bot in self._health.states.values()
        ]
        return ready, {"ready": ready, **told, "bots": bots}

    def _loop(self) -> Part:
        worst = self._lateness.worst_s
        if worst < LATE_S:
            return FINE
        return Part(
            ok=False, detail=f"it was held up for {worst:.1f} s; the machine is overloaded, or a call blocks it"
        )
