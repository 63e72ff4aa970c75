"""The chores, driven by APScheduler: one instance each, coalesced, never skipped for being late."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from core.desk import cards, sweep
from core.desk.desk import Desk
from core.desk.forgetting import Forgetting
from core.desk.house import House
from core.errors import StoreError, StoreLocked
from core.ports import Clock
from core.service.garbage import Garbage
from core.service.retention import HEARTBEAT, Retention
from core.store import attachments, chores, consents, facts, inbox, search, sessions
from core.store.sql import Tx

log = structlog.get_logger("frontdesk.chores")

BATCH = 500
INDEX_BATCH = 200
WATCH_S = 30.0
JUMP_S = 5.0
POLICY = "policy_digest"


class Chores:
    """What is done from time to time. Each may be called directly; none needs the scheduler."""

    def __init__(
        self,
        house: House,
        desk: Desk,
        dispossessed: Callable[[], None] = lambda: None,
        garbage: Garbage | None = None,
    ) -> None:
        """`dispossessed` is called when another daemon has taken over the store. `garbage`: None leaves the collector
        as it is."""
        self._garbage = garbage
        self._house = house
        self._desk = desk
        self._dispossessed = dispossessed
        self._retention = Retention(house)
        self._forgetting = Forgetting(house, desk.router)

    @property
    def house(self) -> House:
        return self._house

    def begin(self) -> None:
        """The start is over."""
        if self._garbage is not None:
            self._garbage.begin()

    async def sweep(self) -> None:
        """Nominate sessions whose end has come; by index, so it costs what it finds."""
        now = self._house.clock.now()
        found = await self._house.store.read(lambda tx: sessions.due(tx, now, sweep.MOST))
        self._desk.router.nominate(conversation for conversation, _ in found)

    async def consents(self) -> None:
        """Wake owners in whose conversations nobody answered a call in time, and settle the questions that nobody waits
        for."""
        now = self._house.clock.now()
        found = await self._house.store.read(lambda tx: consents.due(tx, now, BATCH))
        self._desk.router.nominate({one.conversation for one in found})
        await cards.settle(self._house)

    async def stale(self) -> None:
        """Wake owners whose rows have become too old while they waited."""
        before = self._house.stale_before(self._house.clock.now())
        rows = await self._house.store.read(lambda tx: inbox.old_pending(tx, before, BATCH))
        self._desk.router.nominate({row.conversation for row in rows if row.conversation is not None})

    async def agents(self) -> None:
        """Let go of agents and paces that nobody needed for a while."""
        self._house.cache.evict_idle(self._house.clock.monotonic())
        self._house.outbox.prune()
        await self._house.agents.tidy()
        if self._garbage is not None:
            self._garbage.look(quiet=self._house.slots.taken == 0)

    async def index(self) -> None:
        """Bring the search index up to date, in small units."""
        while await self._house.store.write(lambda tx: search.index_some(tx, INDEX_BATCH)):
            pass

    async def tidy(self) -> None:
        """Rows that have served their time, in small units."""
        await cards.settle(self._house)  # which goes by such rows
        now = self._house.clock.now()
        for chore in chores.FORGETTING:
            while await self._house.store.write(partial(chore, now=now, most=BATCH)) == BATCH:
                pass

    async def files(self) -> None:
        """Remove files that no session has any more, once nobody can be about to need them."""
        store, before = self._house.store, self._house.clock.now() - chores.FILE_REST
        await asyncio.to_thread(store.files.forget_partial, before)
        for digest in await asyncio.to_thread(lambda: list(store.files.older_than(before))):
            if not await store.read(partial(attachments.is_needed, digest=digest)):
                await asyncio.to_thread(store.files.remove, digest, before)

    async def forgetting(self) -> None:
        """Go on with what people asked to be forgotten."""
        await self._forgetting.round()

    async def log(self) -> None:
        """Leave nothing in the store's log that was deleted since."""
        await self._house.store.empty_log()

    async def heartbeat(self) -> None:
        """Delete what is too old, say when the desk was alive last, and make sure that the store is still ours."""
        await self._retention.round()
        try:
            await asyncio.to_thread(self._house.store.lock.renew)
        except StoreLocked:
            log.critical("store_taken_over")
            self._dispossessed()
            return
        at = self._house.clock.now().isoformat()
        await self._house.store.write(lambda tx: facts.put(tx, HEARTBEAT, at))

    async def redate(self) -> None:
        """After the reset policy has changed, give open sessions their new end."""
        store = self._house.store
        dated_by = await store.read(lambda tx: facts.get(tx, POLICY))
        while (digest := self._house.policies.digest) != dated_by:  # it may change again meanwhile
            after: str | None = ""
            while after is not None:
                after = await store.write(_redate(after, self._house))
            await store.write(partial(facts.put, name=POLICY, value=digest))
            dated_by = digest
            log.info("sessions_redated")


def _redate(after: str, house: House) -> Callable[[Tx], str | None]:
    return lambda tx: sweep.redate_some(tx, after, house.policy)


class Schedule:
    """Chores at their intervals, on the running loop."""

    def __init__(self, chores_: Chores, clock: Clock, sweep_s: float, watch_s: float = WATCH_S) -> None:
        """`watch_s`: how often it looks whether the wall clock was set."""
        self._chores = chores_
        self._clock = clock
        self._sweep_s = sweep_s
        self._watch_s = watch_s
        self._scheduler = AsyncIOScheduler(
            timezone="UTC", job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        self._watch: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """From now on, until `stop`."""
        chores_ = self._chores
        every: tuple[tuple[Callable[[], Awaitable[None]], float], ...] = (
            (chores_.sweep, self._sweep_s),
            (chores_.stale, 60.0),
            (chores_.consents, 10.0),
            (chores_.agents, 60.0),
            (chores_.index, 2.0),
            (chores_.forgetting, 5.0),
            (chores_.tidy, 600.0),
            (chores_.files, 3600.0),
            (chores_.log, 60.0),
            (chores_.heartbeat, 60.0),
        )
        for job, seconds in every:
            chores_.house.tally.chore_planned(job.__name__)
            self._scheduler.add_job(
                _guarded, "interval", seconds=seconds, args=[job, self._chores.house], id=job.__name__
            )
        self._redate_soon()
        self._scheduler.start()
        chores_.begin()
        self._watch = asyncio.create_task(self._watch_clock(), name="clock watch")

    def adopt(self, sweep_s: float) -> None:
        """Sessions end by other rules from now on, or are looked at more or less often."""
        if sweep_s != self._sweep_s:
            self._sweep_s = sweep_s
            self._scheduler.reschedule_job(self._chores.sweep.__name__, trigger="interval", seconds=sweep_s)
        self._redate_soon()

    def _redate_soon(self) -> None:
        redate = self._chores.redate
        self._scheduler.add_job(_guarded, args=[redate, self._chores.house], id=redate.__name__, replace_existing=True)

    async def _watch_clock(self) -> None:
        """The scheduler goes by the wall clock: after a jump every chore is dated anew, or one set back would silence
        them for as long."""
        while True:
            wall, steady = self._clock.now(), self._clock.monotonic()
            await self._clock.sleep(self._watch_s)
            now = self._clock.now()
            jump = (now - wall).total_seconds() - (self._clock.monotonic() - steady)
            if abs(jump) > JUMP_S:
                log.warning("clock_jumped", seconds=round(jump))
                for job in self._scheduler.get_jobs():
                    job.modify(next_run_time=now)

    async def stop(self) -> None:
        self._scheduler.shutdown(wait=False)
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)


async def _guarded(job: Callable[[], Awaitable[None]], house: House) -> None:
    clock, chore, failed = house.clock, job.__name__, True
    began_s = clock.monotonic()
    try:
        await job()
        failed = False
    except StoreError as fault:
        house.store.faults.met("chore_store_fault", fault, clock.monotonic(), chore=chore)
    except asyncio.CancelledError:  # the scheduler ends, and would take this for a fault of the chore
        return
    except Exception:  # sweep: a fault in one chore stops no other
        log.exception("chore_fault", chore=chore)
    house.tally.chore_done(chore, clock.monotonic() - began_s, failed=failed)
    house.store.faults.look(clock.monotonic())
