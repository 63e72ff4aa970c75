"""How long to wait between two tries."""

from __future__ import annotations

from typing import Protocol

from core.ports import Clock


class Chance(Protocol):
    """What is needed of `ports.Random`."""

    def uniform(self, low: float, high: float) -> float: ...


class Waits:
    """Doubled with each failure, the upper half of it left to chance."""

    def __init__(self, clock: Clock, chance: Chance) -> None:
        self.clock = clock
        self.failures = 0
        self._chance = chance

    def next_s(self, first_s: float, most_s: float) -> float:
        longest_s = min(most_s, first_s * 2 ** min(self.failures, 16))
        self.failures += 1
        return self._chance.uniform(longest_s / 2, longest_s)
