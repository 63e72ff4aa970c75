"""Reading Telegram's JSON: numbers and times, on top of `core.fields`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from core.fields import MOST, Json, Unreadable, get

_MAX_DATE: Final = 253402300799  # the last second of the year 9999


def integer(record: Json, key: str) -> int:
    value = get(record, key, int)
    if abs(value) > MOST:
        raise Unreadable(f"{key} is too large")
    return value


def time(record: Json, key: str) -> datetime:
    seconds = integer(record, key)
    if not 0 <= seconds <= _MAX_DATE:
        raise Unreadable(f"{key} is no time")
    return datetime.fromtimestamp(seconds, UTC)


def one_line(text: str) -> str:
    return " ".join(text.split())
