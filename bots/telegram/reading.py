"""Reading the fields of raw JSON. Strict: a field of a wrong type raises. Loose: it counts as missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, TypeVar

Json = Mapping[str, object]
_T = TypeVar("_T")

_MAX_INT: Final = 2**63 - 1
_MAX_DATE: Final = 253402300799  # the last second of the year 9999
_UNSTORABLE: Final = re.compile("[\ud800-\udfff\x00]")  # lone surrogates have no UTF-8, PostgreSQL has no NUL


class Unreadable(Exception):
    """A field that is read is missing or has a wrong type; the text names it and holds nothing of its value."""


# -- strict ------------------------------------------------------------------------------------------------------------


def opt(record: Json, key: str, wanted: type[_T]) -> _T | None:
    """The field, or None where it is missing or null."""
    value = record.get(key)
    if value is None:
        return None
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise Unreadable(f"{key} has a wrong type")
    return value


def get(record: Json, key: str, wanted: type[_T]) -> _T:
    value = opt(record, key, wanted)
    if value is None:
        raise Unreadable(f"{key} is missing")
    return value


def integer(record: Json, key: str) -> int:
    value = get(record, key, int)
    if abs(value) > _MAX_INT:
        raise Unreadable(f"{key} is too large")
    return value


def time(record: Json, key: str) -> datetime:
    seconds = integer(record, key)
    if not 0 <= seconds <= _MAX_DATE:
        raise Unreadable(f"{key} is no time")
    return datetime.fromtimestamp(seconds, UTC)


# -- loose -------------------------------------------------------------------------------------------------------------


def part(record: Json, key: str) -> Json | None:
    """The object there."""
    value = record.get(key)
    return value if isinstance(value, dict) else None


def parts(record: Json, key: str) -> list[Json]:
    """The objects of the list there."""
    value = record.get(key)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def words(record: Json | None, key: str) -> str:
    """The text there, storable."""
    value = record.get(key) if record is not None else None
    return storable(value) if isinstance(value, str) else ""


def number(record: Json | None, key: str) -> int | None:
    value = record.get(key) if record is not None else None
    return value if type(value) is int and abs(value) <= _MAX_INT else None


def storable(text: str) -> str:
    """What every database takes."""
    return _UNSTORABLE.sub("\ufffd", text)


def one_line(text: str) -> str:
    return " ".join(text.split())
