"""A wall clock that only moves when a test says so."""

import threading
import time


class ManualClock:
    """Callable like `time.time`. Thread-safe; the server looks at it every few milliseconds of real time.

    It starts at the real time, so that a client that checks the age of a signature by its own clock agrees.
    """

    def __init__(self, start_s: float | None = None) -> None:
        self._now_s = time.time() if start_s is None else start_s
        self._lock = threading.Lock()

    def __call__(self) -> float:
        with self._lock:
            return self._now_s

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("this clock does not go back")
        with self._lock:
            self._now_s += seconds
