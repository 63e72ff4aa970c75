"""A mapping that keeps what was put into it last."""

from __future__ import annotations

from typing import Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(Generic[_K, _V]):
    """At most `most` entries; the oldest go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[_K, _V] = {}

    def put(self, key: _K, value: _V) -> None:
        self._kept.pop(key, None)
        self._kept[key] = value
        while len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]

    def get(self, key: _K) -> _V | None:
        return self._kept.get(key)

    def pop(self, key: _K) -> _V | None:
        return self._kept.pop(key, None)

    def __contains__(self, key: _K) -> bool:
        return key in self._kept
