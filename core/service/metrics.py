"""What `/metrics` says, for Prometheus. Imported on a thread once the desk is ready.

Nothing is counted here: a scrape reads the tally, and asks the parts themselves for what is cheap to read. Names and
units follow https://prometheus.io/docs/practices/naming/.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isinf
from typing import TypeVar, get_args

from msgspec import Struct
from msgspec.structs import fields
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector, CollectorRegistry

from core.agents.signature import AgentSignature
from core.clock import booted_at
from core.desk.desk import Desk
from core.desk.house import House
from core.desk.resets import ResetReason
from core.errors import StoreError
from core.service.lateness import Lateness
from core.service.readiness import Part, Readiness
from core.service.status import DAY, OUTBOX
from core.service.supervisor import BotHealth, State
from core.store import deliveries, inbox, turns
from core.store.sql import Tx
from core.tally import Delivered, Limit, PutOff, Reading
from core.vocabulary import BotName, Outcome, Verdict

STORE_S = 2.0
"""A store that does not answer keeps its own figures from a scrape, and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where a scrape looks."""

    house: House
    desk: Desk
    health: BotHealth
    readiness: Readiness
    lateness: Lateness
    version: str


class Depths(Struct, frozen=True, kw_only=True):
    """What waits in the store."""

    turns: Mapping[str, int]
    outbox: Mapping[str, int]
    pending: int


def depths(tx: Tx, now: datetime) -> Depths:
    """By index: it costs what it finds."""
    return Depths(turns=turns.counts(tx), outbox=deliveries.counts(tx, now - DAY), pending=inbox.pending_count(tx))


class Metrics:
    """One daemon's figures. Lives on the main loop."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._one_at_a_time = asyncio.Lock()
        self._scraped = _Scraped()
        self._registry = CollectorRegistry()
        self._registry.register(self._scraped)
        _Process(registry=self._registry)
        PlatformCollector(registry=self._registry)

    async def render(self, accept: str) -> tuple[bytes, str]:
        """The text and its content type, in the format that the Accept header asks for: 0.0.4, or OpenMetrics.

        The figures are read on the loop at one moment, the text is made on a thread. A store that is not well is not
        asked for its own.
        """
        async with self._one_at_a_time:
            parts = await self._sources.readiness.parts()
            stored = await self._stored() if parts["store"].ok else None
            self._scraped.families = list(_families(self._sources, stored, parts))
            encode, kind = choose_encoder(accept)
            return await asyncio.to_thread(encode, self._registry), kind

    async def _stored(self) -> Depths | None:
        house = self._sources.house
        try:
            async with asyncio.timeout(STORE_S):
                return await house.store.read(lambda tx: depths(tx, house.clock.now()))
        except (StoreError, TimeoutError):
            return None


class _Scraped(Collector):
    """What the last scrape read."""

    def __init__(self) -> None:
        self.families: list[Metric] = []

    def collect(self) -> Iterable[Metric]:
        return self.families


class _Process(ProcessCollector):
    """Where a service sees nothing of /proc but processes (ProtectProc, ProcSubset), the clocks tell the time of the
    boot, without which the library tells nothing at all."""

    def _boot_time(self) -> float:
        return booted_at()


def _families(sources: Sources, stored: Depths | None, parts: Mapping[str, Part]) -> Iterator[Metric]:
    yield from _about(sources, parts)
    yield from _messages(sources)
    yield from _stages(sources)
    yield from _queues(sources, stored)
    yield from _limits(sources)
    yield from _agents(sources)
    yield from _deliveries(sources)
    yield from _chores(sources)
    yield from _store(sources)
    yield from _loop(sources)
    yield from _bots(sources)


def _about(sources: Sources, parts: Mapping[str, Part]) -> Iterator[Metric]:
    tally = sources.house.tally
    yield InfoMetricFamily("frontdesk_build", "Which Frontdesk this is.", {"version": sources.version})
    yield _gauge("frontdesk_ready", "1 while messages can be taken in, else 0.", all(one.ok for one in parts.values()))
    by_part = GaugeMetricFamily("frontdesk_ready_part", "1 while that part is well, else 0.", labels=["part"])
    for name, part in parts.items():
        by_part.add_metric([name], part.ok)
    yield by_part
    reloads = CounterMetricFamily("frontdesk_reloads", "Times the configuration was read again.", labels=["result"])
    for result, good in (("good", True), ("refused", False)):
        reloads.add_metric([result], tally.reloads[good])
    yield reloads
    words = "1 if the configuration that was read last holds, 0 if it was refused."
    yield _gauge("frontdesk_last_reload_good", words, tally.last_reload_good)


def _messages(sources: Sources) -> Iterator[Metric]:
    bots, tally = sources.health.states, sources.house.tally
    inbound = CounterMetricFamily(
        "frontdesk_inbound", "Events that platforms brought and that are stored.", labels=["bot", "verdict"]
    )
    yield _by_bot(inbound, tally.inbound, bots, Verdict)
    ended = CounterMetricFamily("frontdesk_turns", "Turns that have ended, by how.", labels=["bot", "outcome"])
    yield _by_bot(ended, tally.turns, bots, Outcome)


def _stages(sources: Sources) -> Iterator[Metric]:
    tally = sources.house.tally
    yield _histogram(
        "frontdesk_turn_wait_seconds", "From a message's receipt until an agent is asked.", tally.wait_s.read()
    )
    yield _histogram(
        "frontdesk_turn_first_text_seconds", "From asking the agent to its first text.", tally.first_text_s.read()
    )
    yield _histogram(
        "frontdesk_turn_answer_seconds", "From asking the agent to the end of its answer.", tally.answer_s.read()
    )
    yield _histogram(
        "frontdesk_reply_handover_seconds",
        "From the end of an answer until its first part is handed to the bot; the chat's pace is in it.",
        tally.handover_s.read(),
    )


def _queues(sources: Sources, stored: Depths | None) -> Iterator[Metric]:
    house, router = sources.house, sources.desk.router
    going = GaugeMetricFamily("frontdesk_turns_open", "Turns that are not over, by what they do.", labels=["state"])
    going.add_metric(["running"], router.running)
    going.add_metric(["waiting"], house.slots.waiting + house.retries.waiting)
    yield _gauge("frontdesk_turn_slots", "Turns that may run at once.", house.slots.limit)
    yield _gauge("frontdesk_mailboxes", "Conversations that have something to do.", len(router))
    if stored is not None:
        going.add_metric(["suspended"], stored.turns.get("suspended", 0))
        yield _gauge("frontdesk_inbox_pending", "Messages that wait for their turn.", stored.pending)
        outbox = GaugeMetricFamily(
            "frontdesk_outbox", "Parts of answers: queued, unknown, failed within a day.", labels=["state"]
        )
        for state in OUTBOX:
            outbox.add_metric([state], stored.outbox.get(state, 0))
        yield outbox
    yield going


def _limits(sources: Sources) -> Iterator[Metric]:
    met = CounterMetricFamily(
        "frontdesk_limits_met", "Times that a limit refused, cut or held back something.", labels=["limit"]
    )
    for limit in get_args(Limit):
        known = sources.house.tally.limits.get(limit)
        met.add_metric([limit], 0 if known is None else known.count)
    yield met


def _agents(sources: Sources) -> Iterator[Metric]:
    cache = sources.house.cache
    yield _gauge("frontdesk_cache_agents", "Agents kept ready.", len(cache))
    yield _gauge("frontdesk_cache_bytes", "What their histories hold, about.", cache.bytes)
    yield CounterMetricFamily("frontdesk_cache_hits", "Turns that found their agent ready.", cache.hits)
    misses = CounterMetricFamily(
        "frontdesk_cache_misses",
        "Turns that did not: there was none (absent), or the first thing that differed.",
        labels=["reason"],
    )
    for reason in ("absent", *(field.name for field in fields(AgentSignature))):
        misses.add_metric([reason], cache.misses[reason])
    yield misses
    yield CounterMetricFamily(
        "frontdesk_cache_evictions", "Agents let go of for room, for idleness or for a change.", cache.evictions
    )


def _deliveries(sources: Sources) -> Iterator[Metric]:
    bots, tally = sources.health.states, sources.house.tally
    fates = CounterMetricFamily(
        "frontdesk_deliveries", "Parts of answers, by what became of them.", labels=["bot", "outcome"]
    )
    yield _by_bot(fates, tally.deliveries, bots, get_args(Delivered))
    retries = CounterMetricFamily(
        "frontdesk_delivery_retries", "Times a part was put off to be tried again.", labels=["bot", "reason"]
    )
    yield _by_bot(retries, tally.put_offs, bots, get_args(PutOff))


def _chores(sources: Sources) -> Iterator[Metric]:
    tally = sources.house.tally
    took = HistogramMetricFamily("frontdesk_chore_seconds", "Rounds of each chore.", labels=["chore"])
    faults = CounterMetricFamily("frontdesk_chore_failures", "Rounds that failed.", labels=["chore"])
    for chore, spread in tally.chores.items():
        took.add_metric([chore], *_buckets(spread.read()))
        faults.add_metric([chore], tally.chore_faults[chore])
    yield took
    yield faults
    expired = CounterMetricFamily(
        "frontdesk_sessions_expired", "Sessions that were ended because their time had come.", labels=["reason"]
    )
    for reason in (ResetReason.IDLE, ResetReason.DAILY):
        expired.add_metric([reason], tally.expired[reason])
    yield expired


def _store(sources: Sources) -> Iterator[Metric]:
    tally = sources.house.store.tally
    yield _histogram("frontdesk_commit_seconds", "Transactions that wrote, begin to commit.", tally.commit_s.read())
    yield _histogram("frontdesk_commit_units", "Units of work that shared a commit.", tally.commit_units.read())
    faults = CounterMetricFamily(
        "frontdesk_store_write_failures", "Units of work that the database could not take.", labels=["reason"]
    )
    for reason, count in tally.write_faults.items():
        faults.add_metric([reason], count)
    yield faults


def _loop(sources: Sources) -> Iterator[Metric]:
    words = "How late the main loop comes to what is due"
    yield _gauge("frontdesk_loop_lag_last_seconds", f"{words}, at the last look.", sources.lateness.last_s)
    yield _histogram(
        "frontdesk_loop_lag_seconds", f"{words}, looked at once a second.", sources.house.tally.late_s.read()
    )


def _bots(sources: Sources) -> Iterator[Metric]:
    states = GaugeMetricFamily("frontdesk_bot_state", "1 for the state that a bot is in.", labels=["bot", "state"])
    heard = GaugeMetricFamily(
        "frontdesk_bot_last_inbound_timestamp_seconds", "When the bot's platform brought something last.",
        labels=["bot"],
    )  # fmt: skip
    for bot in sources.health.states.values():
        for state in get_args(State):
            states.add_metric([bot.name, state], bot.state == state)
        if bot.last_inbound_at is not None:
            heard.add_metric([bot.name], bot.last_inbound_at.timestamp())
    yield states
    yield heard


Kind = TypeVar("Kind", bound=str)


def _by_bot(
    family: CounterMetricFamily,
    counted: Mapping[tuple[BotName, Kind], int],
    bots: Iterable[BotName],
    kinds: Iterable[Kind],
) -> Metric:
    """From zero on for every bot that there is, so that the first of a kind is seen as a rise."""
    known = list(kinds)
    for bot in sorted({*bots, *(bot for bot, _ in counted)}):
        for kind in known:
            family.add_metric([bot, kind], counted.get((bot, kind), 0))
    return family


def _gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(name, words, value=float(value))


def _histogram(name: str, words: str, reading: Reading) -> Metric:
    buckets, total = _buckets(reading)
    return HistogramMetricFamily(name, words, buckets=buckets, sum_value=total)


def _buckets(reading: Reading) -> tuple[list[tuple[str, float]], float]:
    return [("+Inf" if isinf(bound) else repr(bound), float(count)) for bound, count in reading.upto], reading.total
