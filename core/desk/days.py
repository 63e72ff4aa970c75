"""The day by which people's use is counted."""

from __future__ import annotations

from datetime import UTC, datetime, time


def day_start(local: datetime) -> datetime:
    """When the day of a time began in that time's zone. A midnight that the zone skips is where its gap ends, one that
    it repeats is the first (PEP 495, fold 0)."""
    return datetime.combine(local.date(), time(), local.tzinfo).astimezone(UTC)
