"""When a desk begins in these tests, and what it has for chance."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
"""A Monday at noon."""


class FakeRandom:
    """`ports.Random` without chance: ids ascend, codes count, jitter is none."""

    def __init__(self) -> None:
        self._made = itertools.count(1)

    def uuid7(self) -> str:
        number = next(self._made)
        return f"019c0000-{number >> 28 & 0xFFFF:04x}-7000-8000-{number & 0xFFFFFFFFFFF:012x}"

    def token(self, characters: int) -> str:
        return f"{next(self._made)}".rjust(characters, "K")[:characters]

    def uniform(self, low: float, high: float) -> float:
        return (low + high) / 2
