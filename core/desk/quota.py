"""How much each may use within a span of time. Kept in memory: a new process begins at nothing."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable

HOUR_S, DAY_S = 3600.0, 86_400.0
SAMPLE_S = 900.0
"""Between two strangers of a crowd of whom owners are asked."""


class Quota:
    """What was used within the last `span_s` seconds by a monotonic clock. Threadsafe: a store may have several
    writers."""

    def __init__(self, span_s: float) -> None:
        self._span_s = span_s
        self._uses: dict[Hashable, tuple[float, str, int]] = {}
        """By what it was used for, oldest first."""
        self._used: Counter[str] = Counter()
        self._lock = threading.RLock()

    def used(self, whose: str, now_s: float) -> int:
        """What one has used."""
        with self._lock:
            while self._uses and (oldest := next(iter(self._uses.items())))[1][0] <= now_s - self._span_s:
                key, (_, who, amount) = oldest
                del self._uses[key]
                self._used[who] -= amount
                if not self._used[who]:
                    del self._used[who]
            return self._used[whose]

    def use(self, whose: str, amount: int, now_s: float, key: Hashable = None) -> None:
        """Count it; what has the same key counts once."""
        key = object() if key is None else key
        with self._lock:
            if amount and key not in self._uses:
                self._uses[key] = (now_s, whose, amount)
                self._used[whose] += amount

    def take(self, whose: str, most: int, now_s: float, key: Hashable) -> bool:
        """Use one of `most`, if there is one left. A key that was counted may have it again: a unit of the store may
        run twice."""
        with self._lock:
            left = self.used(whose, now_s) < most
            if left:
                self.use(whose, 1, now_s, key)
            return left or key in self._uses


class IntakeQuotas:
    """What intake goes by, on the threads of the store's writers."""

    def __init__(self) -> None:
        self.conversations = Quota(HOUR_S)
        """Begun, by identity."""
        self.told = Quota(HOUR_S)
        """Who was told that they have begun too many."""
        self.asked = Quota(HOUR_S)
        """Strangers of whom the owners of a bot were asked."""
        self.sampled = Quota(SAMPLE_S)
        """The same, of those who came when many had been asked about."""
        self.crowds = Quota(HOUR_S)
        """Bots whose owners were told how many wait."""
