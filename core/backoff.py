"""How long to wait between two tries of something that fails."""

from __future__ import annotations

import math
from typing import Final, Protocol

from core.ports import Clock

_MOST_DOUBLINGS: Final = 16
_STEADY_S: Final = 60.0


class Chance(Protocol):
    """What is needed of `ports.Random`."""

    def uniform(self, low: float, high: float) -> float: ...


def backoff_s(failures: int, first_s: float, most_s: float = math.inf) -> float:
    """The wait after a failure that so many failures came before: `first_s`, doubled with each, at most `most_s`."""
    return min(most_s, first_s * 2.0 ** min(failures, _MOST_DOUBLINGS))


class Backoff:
    """Counts failures; the waits are those of `backoff_s`, the upper half of each left to chance, so that many who
    failed together do not come back together. Whoever succeeds sets `failures` to 0."""

    def __init__(self, clock: Clock, chance: Chance) -> None:
        self.clock = clock
        self.failures = 0
        self._chance = chance

    def next_s(self, first_s: float = 2.0, most_s: float = 60.0) -> float:
        """The wait after one more failure."""
        longest_s = backoff_s(self.failures, first_s, most_s)
        self.failures += 1
        return self._chance.uniform(longest_s / 2, longest_s)

    def worked(self) -> None:
        """The next failure is the first one."""
        self.failures = 0

    def worked_since(self, began_s: float) -> bool:
        """It worked from that moment (`Clock.monotonic`) until now. True, and as `worked`, if that was for a minute."""
        steady = self.clock.monotonic() - began_s >= _STEADY_S
        self.failures = 0 if steady else self.failures
        return steady
