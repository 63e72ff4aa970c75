"""When a session ends: monotone, exact, and once for each daily hour of its zone."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from core.desk.resets import Mode, Policy, ResetReason, due, expires_at, expiry, next_boundary

ZONES = [
    ZoneInfo(name)
    for name in (
        "UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Bangkok", "Pacific/Apia", "Europe/Berlin",
        "America/St_Johns", "Africa/Casablanca", "Antarctica/Troll", "Asia/Kathmandu",
    )
]  # fmt: skip
MINUTES = st.integers(0, 33 * 366 * 24 * 60)
TIMES = MINUTES.map(lambda minutes: datetime(2005, 1, 2, tzinfo=UTC) + timedelta(minutes=minutes))
HOURS = st.times().map(lambda at: at.replace(second=0, microsecond=0))
POLICIES = st.builds(
    Policy,
    mode=st.sampled_from(Mode),
    idle=st.timedeltas(timedelta(seconds=1), timedelta(days=40)),
    at=HOURS,
    zone=st.sampled_from(ZONES),
)
SPANS = st.timedeltas(timedelta(0), timedelta(days=60))


@given(POLICIES, TIMES, SPANS, SPANS, SPANS)
def test_once_due_always_due(policy: Policy, start: datetime, spoke: timedelta, at: timedelta, more: timedelta) -> None:
    heard, asked = start + spoke, start + at
    if due(policy, start, heard, asked) is not None:
        assert due(policy, start, heard, asked + more) is not None


@given(POLICIES, TIMES, SPANS, SPANS)
def test_due_is_exactly_from_the_end_on(policy: Policy, start: datetime, spoke: timedelta, at: timedelta) -> None:
    heard, asked = start + spoke, start + at
    end = expires_at(policy, start, heard)
    assert (due(policy, start, heard, asked) is not None) is (end is not None and asked >= end)
    if end is not None:
        assert due(policy, start, heard, end) is not None
        assert due(policy, start, heard, end - timedelta(microseconds=1)) is None


@given(POLICIES, TIMES, SPANS, SPANS)
def test_another_message_never_brings_the_end_closer(
    policy: Policy, start: datetime, spoke: timedelta, more: timedelta
) -> None:
    first = expires_at(policy, start, start + spoke)
    later = expires_at(policy, start, start + spoke + more)
    assert (first is None) is (later is None)
    assert first is None or later is None or later >= first


@given(POLICIES, TIMES, SPANS)
def test_the_reason_is_of_the_mode(policy: Policy, start: datetime, spoke: timedelta) -> None:
    end = expiry(policy, start, start + spoke)
    allowed = {
        Mode.NONE: set(),
        Mode.IDLE: {ResetReason.IDLE},
        Mode.DAILY: {ResetReason.DAILY},
        Mode.BOTH: {ResetReason.IDLE, ResetReason.DAILY},
    }[policy.mode]
    assert end is None if not allowed else end is not None and end[1] in allowed


@given(HOURS, st.sampled_from(ZONES), TIMES)
def test_the_boundary_is_the_first_after_and_of_this_hour(at: time, zone: ZoneInfo, after: datetime) -> None:
    boundary = next_boundary(at, zone, after)
    assert after < boundary <= after + timedelta(hours=50)
    local = boundary.astimezone(zone)
    skipped = datetime.combine(local.date(), at, zone).astimezone(UTC).astimezone(zone).time() != at
    assert local.time() == at or skipped or local.time().replace(fold=0) == at or _gap_before(zone, boundary)


def _gap_before(zone: ZoneInfo, at: datetime) -> bool:
    """Did the zone skip time within the last day?"""
    offsets = [(at - timedelta(hours=hours)).astimezone(zone).utcoffset() for hours in range(26)]
    return len(set(offsets)) > 1


@given(HOURS, st.sampled_from(ZONES), TIMES)
def test_boundaries_follow_each_other_day_by_day(at: time, zone: ZoneInfo, after: datetime) -> None:
    """No day has two, and no two days share one: a skipped or repeated hour resets once."""
    boundaries = [next_boundary(at, zone, after)]
    for _ in range(20):
        boundaries.append(next_boundary(at, zone, boundaries[-1]))
    for one, following in itertools.pairwise(boundaries):
        assert timedelta(hours=20) < following - one < timedelta(hours=50)


@given(HOURS, st.sampled_from(ZONES), TIMES, st.lists(st.timedeltas(timedelta(0), timedelta(hours=9)), max_size=30))
def test_whoever_talks_on_is_reset_once_for_each_boundary(
    at: time, zone: ZoneInfo, start: datetime, pauses: list[timedelta]
) -> None:
    policy = Policy(mode=Mode.DAILY, idle=timedelta(hours=1), at=at, zone=zone)
    now = started = start
    resets, passed = 0, 0
    for pause in pauses:
        before, now = now, now + pause
        boundary = next_boundary(at, zone, before)
        passed += boundary <= now
        if due(policy, started, before, now) is not None:
            resets += 1
            started = now
    assert resets == passed


def test_c55_spring_in_new_york() -> None:
    zone = ZoneInfo("America/New_York")
    policy = Policy(mode=Mode.DAILY, idle=timedelta(days=1), at=time(2), zone=zone)
    start = datetime(2026, 3, 7, 2, 30, tzinfo=zone)
    one = datetime(2026, 3, 8, 1, 0, tzinfo=zone)
    gap_end = datetime(2026, 3, 8, 3, 0, tzinfo=zone)
    assert due(policy, start, start, one) is None
    assert due(policy, start, start, gap_end) is ResetReason.DAILY
    assert due(policy, gap_end, gap_end, gap_end + timedelta(hours=20)) is None


def test_c54_four_in_bangkok() -> None:
    boundary = next_boundary(time(4), ZoneInfo("Asia/Bangkok"), datetime(2026, 3, 2, 20, 0, tzinfo=UTC))
    assert boundary == datetime(2026, 3, 2, 21, 0, tzinfo=UTC)


def test_a_day_that_a_zone_left_out_has_no_boundary_of_its_own() -> None:
    """Samoa had no 30 December 2011."""
    zone = ZoneInfo("Pacific/Apia")
    first = next_boundary(time(4), zone, datetime(2011, 12, 29, 0, 0, tzinfo=zone))
    second = next_boundary(time(4), zone, first)
    third = next_boundary(time(4), zone, second)
    assert [at.astimezone(zone).date().day for at in (first, second, third)] == [29, 31, 1]
