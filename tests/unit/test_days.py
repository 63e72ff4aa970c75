"""The day by which people's use is counted."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.desk.days import day_start

ZONES = ("UTC", "Europe/Berlin", "Asia/Kathmandu", "America/Havana", "Africa/Cairo", "Pacific/Apia")


@pytest.mark.parametrize(
    ("zone", "at", "start"),
    [
        ("UTC", "2026-03-02T12:00", "2026-03-02T00:00"),
        ("Asia/Tokyo", "2026-03-02T15:30", "2026-03-02T15:00"),
        ("Europe/Berlin", "2026-03-29T12:00", "2026-03-28T23:00"),
        ("Africa/Cairo", "2026-04-24T06:00", "2026-04-23T22:00"),  # it has no midnight: the clock goes from 0 to 1
        ("America/Havana", "2026-11-01T05:30", "2026-11-01T04:00"),  # it has two: the clock goes from 1 to 0
    ],
)
def test_a_day_begins_at_its_first_midnight(zone: str, at: str, start: str) -> None:
    local = datetime.fromisoformat(at).replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    assert day_start(local) == datetime.fromisoformat(start).replace(tzinfo=UTC)


@given(st.integers(631_152_000, 2_208_988_800), st.sampled_from(ZONES))
def test_a_day_has_begun_within_the_last_25_hours(at: int, zone: str) -> None:
    now = datetime.fromtimestamp(at, UTC)
    start = day_start(now.astimezone(ZoneInfo(zone)))
    assert start <= now
    assert (now - start).total_seconds() < 25 * 3600
    assert start.astimezone(ZoneInfo(zone)).date() == now.astimezone(ZoneInfo(zone)).date()
