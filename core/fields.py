"""Fields of JSON from outside. Strict: what is missing or has a wrong type raises. Loose: it counts as missing.

Pure; bots read their platforms' JSON by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

from core.people.names import storable

Json = Mapping[str, object]
_T = TypeVar("_T")

MOST: Final = 2**63 - 1
"""The largest number that every database takes."""


class Unreadable(Exception):
    """A field that is read is missing or has a wrong type; the text names it and holds nothing of its value."""


# -- strict ------------------------------------------------------------------------------------------------------------


def opt(record: Json, key: str, wanted: type[_T]) -> _T | None:
    """The field, or None where it is missing or null. Raises `Unreadable`."""
    value = record.get(key)
    if value is None:
        return None
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise Unreadable(f"{key} has a wrong type")
    return value


def get(record: Json, key: str, wanted: type[_T]) -> _T:
    """The field. Raises `Unreadable`."""
    value = opt(record, key, wanted)
    if value is None:
        raise Unreadable(f"{key} is missing")
    return value


def objects(record: Json, key: str) -> Iterator[Json]:
    """The objects of a list; a missing list has none. Raises `Unreadable`."""
    for one in opt(record, key, list) or ():
        if not isinstance(one, dict):
            raise Unreadable(f"{key} holds something else than objects")
        yield one


# -- loose -------------------------------------------------------------------------------------------------------------


def part(record: Json, key: str) -> Json | None:
    """The object there."""
    value = record.get(key)
    return value if isinstance(value, dict) else None


def parts(record: Json, key: str) -> list[Json]:
    """The objects of the list there."""
    return records(record.get(key))


def records(listed: object) -> list[Json]:
    """The objects of what should be a list of them."""
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def words(record: Json | None, key: str) -> str:
    """The text there, storable."""
    value = record.get(key) if record is not None else None
    return storable(value) if isinstance(value, str) else ""


def number(record: Json | None, key: str) -> int | None:
    value = record.get(key) if record is not None else None
    return value if type(value) is int and abs(value) <= MOST else None
