"""What each of this process's threads used, and how long it had to wait for a processor that others had."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

MAIN = "MainThread"
AGENTS = "agents"
NOTHING = (0.0, 0.0)


class Threads:
    """From here on. Linux's schedstat: nanoseconds on a processor, and ready without one."""

    def __init__(self) -> None:
        self._before = _now()

    def said(self) -> str:
        """For whoever looks closer."""
        return ", ".join(f"{name} {used:.2f} (waited {waited:.2f}) s" for name, (used, waited) in self.since().items())

    def since(self) -> dict[str, tuple[float, float]]:
        """(seconds used, seconds waited) by a thread's name."""
        now, before = _now(), self._before
        return {
            name: (used - before.get(name, NOTHING)[0], waited - before.get(name, NOTHING)[1])
            for name, (used, waited) in now.items()
        }


def _now() -> dict[str, tuple[float, float]]:
    used: Counter[str] = Counter()
    waited: Counter[str] = Counter()
    for thread in threading.enumerate():
        file = Path(f"/proc/self/task/{thread.native_id}/schedstat")
        on, ready, _ = file.read_text(encoding="ascii").split()
        used[thread.name] += int(on)
        waited[thread.name] += int(ready)
    return {name: (used[name] / 1e9, waited[name] / 1e9) for name in used}
