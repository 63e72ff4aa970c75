"""When the garbage collector looks at everything: while nobody waits for an answer.

A full collection over the objects of many running turns holds up every thread for up to 100 ms.
"""

from __future__ import annotations

import gc

from core.ports import Clock

YOUNG, MIDDLE = 700, 10
"""Python's own thresholds for the two younger generations; they cost fractions of a millisecond."""
NEVER = 1_000_000
MOST_REST_S = 600.0
"""A desk that is never quiet is looked through after this long all the same."""


class Garbage:
    """Lives on the main loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looked_s = clock.monotonic()

    def begin(self) -> None:
        """Everything is there that stays; from here on full collections come by `look`."""
        gc.freeze()
        gc.set_threshold(YOUNG, MIDDLE, NEVER)
        gc.enable()

    def look(self, *, quiet: bool) -> None:
        """Collect everything if nothing runs, or if it has to be."""
        now = self._clock.monotonic()
        if quiet or now - self._looked_s >= MOST_REST_S:
            self._looked_s = now
            gc.collect()
