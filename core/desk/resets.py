"""When a session ends by itself. Pure: nothing here reads a clock."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum

from msgspec import Struct


class Mode(StrEnum):
    NONE = "none"
    IDLE = "idle"
    DAILY = "daily"
    BOTH = "both"


class ResetReason(StrEnum):
    COMMAND = "command"
    IDLE = "idle"
    DAILY = "daily"
    DAMAGED = "damaged"
    """Its row can't be read any more."""


class Policy(Struct, frozen=True, kw_only=True):
    """`idle` counts from the last human message, `at` is the daily hour in `zone`."""

    mode: Mode
    idle: timedelta
    at: time
    zone: tzinfo
    announce: bool = True


def next_boundary(at: time, zone: tzinfo, after: datetime) -> datetime:
    """The first daily hour after an instant. An hour that the zone skips falls as far behind the gap as it lay inside
    it (PEP 495, fold 0); one that it repeats counts the first time only."""
    day = after.astimezone(zone).date() - timedelta(days=1)
    while True:
        boundary = datetime.combine(day, at, zone).astimezone(UTC)
        if boundary > after:
            return boundary
        day += timedelta(days=1)


def expiry(policy: Policy, started_at: datetime, last_human_at: datetime) -> tuple[datetime, ResetReason] | None:
    """When and why a session ends that hears nothing more; None: never."""
    ends: list[tuple[datetime, ResetReason]] = []
    if policy.mode in (Mode.IDLE, Mode.BOTH):
        ends.append((last_human_at + policy.idle, ResetReason.IDLE))
    if policy.mode in (Mode.DAILY, Mode.BOTH):
        ends.append((next_boundary(policy.at, policy.zone, started_at), ResetReason.DAILY))
    return min(ends, key=lambda end: end[0]) if ends else None


def expires_at(policy: Policy, started_at: datetime, last_human_at: datetime) -> datetime | None:
    end = expiry(policy, started_at, last_human_at)
    return None if end is None else end[0]


def due(policy: Policy, started_at: datetime, last_human_at: datetime, at: datetime) -> ResetReason | None:
    """Has the session ended by `at`, and why? Once due it stays due as `at` grows."""
    end = expiry(policy, started_at, last_human_at)
    return end[1] if end is not None and at >= end[0] else None
