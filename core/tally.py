"""What the daemon counts while it works, cheaply enough for every turn. Nothing here knows who reads it.

Whatever is measured is handed in: seconds by the caller's clock, names from a closed list or from the configuration.
Nothing is kept by chat, person or conversation, so it does not grow with them.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from core.errors import FloodWait, SendError, StoreError, StoreFull, Unknown, Unreachable
from core.vocabulary import BotName, Outcome, Verdict

Delivered = Literal["sent", "failed", "unknown"]
PutOff = Literal["flood_wait", "unreachable", "unknown", "not_sent"]
Limit = Literal[
    "turns_at_once",
    "conversations_per_hour",
    "turn_chars",
    "tokens_per_day",
    "file_mib_per_day",
    "disk_free",
    "pairing_codes",
]
"""What keeps somebody from taking more than their share; README, "Limits", says what each is."""

QUICK_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""For what takes milliseconds, and minutes when something is wrong: the desk's own time, commits, lateness."""
PATIENT_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""For what a model takes; the default limit of a turn is the last."""
UNITS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
"""Of one commit; a group has 256 at most."""


class Reading(Struct, frozen=True, kw_only=True):
    """A spread at one moment. `upto`: each bound with how many were not above it; the last bound is infinity."""

    upto: tuple[tuple[float, int], ...]
    total: float

    @property
    def count(self) -> int:
        return self.upto[-1][1]


class Met(Struct, frozen=True, kw_only=True):
    """A limit that was met: how often since the start, and when last."""

    count: int
    last_at: datetime


class Spread:
    """How values are spread over bounds. Any thread."""

    __slots__ = ("_bounds", "_counts", "_door", "_total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self._total = 0.0
        self._door = threading.Lock()

    def add(self, value: float) -> None:
        place = bisect_left(self._bounds, value)
        with self._door:
            self._counts[place] += 1
            self._total += value

    def read(self) -> Reading:
        with self._door:
            counts, total = list(self._counts), self._total
        upto, seen = [], 0
        for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
            seen += count
            upto.append((bound, seen))
        return Reading(upto=tuple(upto), total=total)


def _put_off_because(why: SendError) -> PutOff:
    match why:
        case FloodWait():
            return "flood_wait"
        case Unreachable():
            return "unreachable"
        case Unknown():
            return "unknown"
        case _:
            return "not_sent"


class Tally:
    """Everything that is counted in one daemon. The store's threads tell of commits; all else is told on the main
    loop, where it is also read."""

    def __init__(self) -> None:
        self.inbound: Counter[tuple[BotName, Verdict]] = Counter()
        self.turns: Counter[tuple[BotName, Outcome]] = Counter()
        self.deliveries: Counter[tuple[BotName, Delivered]] = Counter()
        self.put_offs: Counter[tuple[BotName, PutOff]] = Counter()
        self.expired: Counter[str] = Counter()
        self.chore_faults: Counter[str] = Counter()
        self.chores: dict[str, Spread] = {}
        self.limits: dict[Limit, Met] = {}
        self.reloads: Counter[bool] = Counter()
        self.last_reload_good = True
        self.wait_s = Spread(QUICK_S)
        self.first_text_s = Spread(PATIENT_S)
        self.answer_s = Spread(PATIENT_S)
        self.handover_s = Spread(QUICK_S)
        self.late_s = Spread(QUICK_S)
        self.commit_s = Spread(QUICK_S)
        self.commit_units = Spread(UNITS)
        self._door = threading.Lock()
        self._write_faults: Counter[str] = Counter()
        self._last_fault: tuple[StoreError, int] | None = None

    # the way of a message

    def received(self, bot: BotName, verdict: Verdict) -> None:
        """Intake made this of one inbound, and it is stored."""
        self.inbound[bot, verdict] += 1

    def asked(self, after_s: float | None) -> None:
        """An agent is asked, so long after the first of its messages was received; None: nobody waits for that."""
        if after_s is not None:
            self.wait_s.add(max(0.0, after_s))  # told by the wall clock, which may be set back

    def spoke(self, after_s: float) -> None:
        """The first text of an answer, so long after the agent was asked."""
        self.first_text_s.add(after_s)

    def answered(self, after_s: float) -> None:
        """The agent has come to its end by itself, so long after it was asked."""
        self.answer_s.add(after_s)

    def handed_over(self, after_s: float) -> None:
        """The bot is given the first part of an answer, so long after the answer was complete."""
        self.handover_s.add(after_s)

    def turn_ended(self, bot: BotName, outcome: Outcome) -> None:
        """How a turn ended is recorded."""
        self.turns[bot, outcome] += 1

    def delivered(self, bot: BotName, fate: Delivered, count: int = 1) -> None:
        """Parts have their fate, and it is stored."""
        self.deliveries[bot, fate] += count

    def put_off(self, bot: BotName, why: SendError) -> None:
        """A part waits for another try."""
        self.put_offs[bot, _put_off_because(why)] += 1

    def limit_met(self, limit: Limit, at: datetime) -> None:
        """Something was refused, cut or held back by a limit."""
        known = self.limits.get(limit)
        self.limits[limit] = Met(count=1 if known is None else known.count + 1, last_at=at)

    def limits_met(self, limits: Iterable[Limit], at: datetime) -> None:
        """Each of these."""
        for limit in limits:
            self.limit_met(limit, at)

    # what happens from time to time

    def session_expired(self, reason: str) -> None:
        """A session was ended because its time had come, with nobody writing."""
        self.expired[reason] += 1

    def chore_planned(self, chore: str) -> None:
        """It will be done from time to time: it is told of from zero on."""
        self.chores.setdefault(chore, Spread(QUICK_S))

    def chore_done(self, chore: str, took_s: float, *, failed: bool) -> None:
        """One round of a chore is over. `chore` is its name in the code."""
        self.chore_planned(chore)
        self.chores[chore].add(took_s)
        self.chore_faults[chore] += failed

    def woke_late(self, late_s: float) -> None:
        """The main loop had something to do so much later than it should have."""
        self.late_s.add(late_s)

    def reloaded(self, *, good: bool) -> None:
        """The configuration was read again; one that is not good changed nothing."""
        self.reloads[good] += 1
        self.last_reload_good = good

    # the store's threads

    def committed(self, units: int, took_s: float) -> None:
        """So many units were stored by one commit; `took_s` from its begin on."""
        self.commit_units.add(units)
        self.commit_s.add(took_s)

    def write_failed(self, fault: StoreError) -> None:
        """The database itself could not take a unit."""
        with self._door:
            self._write_faults["full" if isinstance(fault, StoreFull) else "other"] += 1
            self._last_fault = (fault, self._write_faults.total())

    @property
    def write_faults(self) -> dict[str, int]:
        """By kind: `full` (no room on the disk) or `other`."""
        with self._door:
            return {kind: self._write_faults[kind] for kind in ("full", "other")}

    @property
    def last_write_fault(self) -> tuple[StoreError, int] | None:
        """The last fault and its number, counted from 1; None: there was none."""
        with self._door:
            return self._last_fault
