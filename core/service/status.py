"""What `frontdesk status` shows (DESIGN 13)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from core.desk.house import House
from core.reload import Reload
from core.service.listener import Listener
from core.service.logs import Troubles
from core.service.socket import Json
from core.service.supervisor import BotHealth
from core.service.verbs import stamp
from core.store import deliveries, inbox, turns
from core.store.deliveries import Posted
from core.store.engine import Store
from core.store.sql import Tx

DAY = timedelta(days=1)
OUTBOX = ("queued", "unknown", "failed")


def _counts(tx: Tx, now: datetime) -> tuple[dict[str, int], dict[str, int], int]:
    return turns.counts(tx), deliveries.counts(tx, now - DAY), inbox.pending_count(tx)


class DaemonStatus:
    """`verbs.Running` of a daemon. Deliveries that failed count for a day."""

    def __init__(
        self, house: House, health: BotHealth, reload: Reload | None = None, troubles: Troubles | None = None
    ) -> None:
        self._house = house
        self._health = health
        self._reload = reload
        self._troubles = troubles
        self.ready = False
        self.listener: Listener | None = None
        """Set where something listens."""

    @property
    def line(self) -> str:
        """In one line, for the service manager."""
        bots = [
            f"{bot.name} {bot.state}" + (f" ({bot.detail})" if bot.detail else "")
            for bot in self._health.states.values()
        ]
        refused = self._reload is not None and self._reload.state.refused_at is not None
        return ", ".join([*bots, *(["the new configuration is refused: see frontdesk status"] if refused else [])])

    async def status(self) -> dict[str, Json]:
        house = self._house
        open_turns, outbox, pending = await house.store.read(lambda tx: _counts(tx, house.clock.now()))
        return {
            "ready": self.ready,
            "bots": [
                {
                    "name": bot.name,
                    "platform": bot.platform,
                    "account": bot.account or None,
                    "state": bot.state,
                    "detail": bot.detail or None,
                    "last_inbound_at": stamp(bot.last_inbound_at),
                }
                for bot in self._health.states.values()
            ],
            "turns": {
                "running": open_turns.get("running", 0) - house.retries.waiting,
                "waiting": house.slots.waiting + house.retries.waiting,
                "suspended": open_turns.get("suspended", 0),
            },
            "cache": {
                "agents": len(house.cache),
                "hits": house.cache.hits,
                "misses": house.cache.misses.total(),
                "evictions": house.cache.evictions,
            },
            "inbox": {"pending": pending},
            "outbox": {name: outbox.get(name, 0) for name in OUTBOX},
            "limits": [
                {"name": name, "count": met.count, "last_at": stamp(met.last_at)}
                for name, met in house.tally.limits.items()
            ],
            **self._agents(),
            "config": self.config,
            "listen": self._listen(),
            "errors": list(self._troubles.last) if self._troubles is not None else [],
        }

    @property
    def config(self) -> Json:
        """Which configuration holds, and what is wrong with the one that does not."""
        if self._reload is None:
            return None
        state = self._reload.state
        return {
            "loaded_at": stamp(state.loaded_at),
            "refused_at": stamp(state.refused_at),
            "faults": list(state.faults),
            "next_start": list(state.next_start),
        }

    def _listen(self) -> Json:
        """Where HTTP is served, or why not; null: nothing is to listen."""
        if self.listener is None:
            return None
        at = self.listener.status
        return {"address": at.address, "state": at.state, "detail": at.detail or None}

    def _agents(self) -> dict[str, Json]:
        """Where there are tool servers, how each is; where something is wrong with a model, what."""
        servers: list[Json] = [
            {
                "agent": server.agent,
                "name": server.name,
                "state": server.state,
                "detail": server.detail or None,
                "tools": server.tools,
            }
            for server in self._house.agents.tool_servers()
        ]
        faults: list[Json] = list(self._house.agents.faults())
        return {**({"tools": servers} if servers else {}), **({"faults": faults} if faults else {})}

    def push(self, posted: Posted) -> None:
        self._house.outbox.push([posted])


class StoreStatus:
    """`verbs.Running` while no daemon runs: nothing is ready, and what is committed goes out at the next start."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    async def status(self) -> dict[str, Json]:
        open_turns, outbox, pending = await self._store.read(lambda tx: _counts(tx, self._now()))
        return {
            "ready": False,
            "bots": [],
            "turns": {"running": 0, "waiting": 0, "suspended": open_turns.get("suspended", 0)},
            "cache": {"agents": 0, "hits": 0, "misses": 0, "evictions": 0},
            "inbox": {"pending": pending},
            "outbox": {name: outbox.get(name, 0) for name in OUTBOX},
        }

    def push(self, posted: Posted) -> None:
        """It waits in the outbox."""
