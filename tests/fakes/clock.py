"""A clock that only moves when a test says so."""

import threading


class ManualClock:
    """Callable like `time.monotonic` or `time.time`. Thread-safe; a server looks at it every few milliseconds of real
    time."""

    def __init__(self, start_s: float = 1_000.0) -> None:
        self._now_s = start_s
        self._lock = threading.Lock()

    def __call__(self) -> float:
        with self._lock:
            return self._now_s

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("this clock does not go back")
        with self._lock:
            self._now_s += seconds
