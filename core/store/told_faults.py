"""Faults of the store, as the log tells them.

Every owner and every chore that has something to write meets the same fault each second. It is told when it begins, at
growing distances while it lasts, and when it is over.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from core.errors import StoreError

log = structlog.get_logger("frontdesk.store")

FIRST_S = 60.0
"""From the first line to the second; the distance doubles."""
MOST_S = 3600.0
OVER_S = 10.0
"""A fault that nobody met for so long is over: whoever has something to write tries every second or two."""


@dataclass(slots=True)
class _Spell:
    """One fault for as long as it lasts. Monotonic seconds."""

    began_s: float
    next_s: float
    wait_s: float
    last_s: float = 0.0
    times: int = 0


class StoreFaults:
    """Lives on the main loop."""

    def __init__(self) -> None:
        self._spells: dict[tuple[type[StoreError], str], _Spell] = {}

    def met(self, event: str, fault: StoreError, now_s: float, **facts: str | int) -> None:
        """Somebody ran into it. `event` and `facts` say who; `now_s` is monotonic."""
        key = (type(fault), str(fault))
        spell = self._spells.setdefault(key, _Spell(began_s=now_s, next_s=now_s, wait_s=FIRST_S))
        spell.last_s = now_s
        spell.times += 1
        if now_s >= spell.next_s:
            log.error(event, exc_info=fault, times=spell.times, **facts)
            spell.next_s = now_s + spell.wait_s
            spell.wait_s = min(2 * spell.wait_s, MOST_S)

    def look(self, now_s: float) -> None:
        """To be called every few seconds: tell what is over."""
        for key, spell in list(self._spells.items()):
            if now_s - spell.last_s > OVER_S:
                del self._spells[key]
                lasted = round(spell.last_s - spell.began_s)
                log.info("store_fault_over", fault=key[0].__name__, times=spell.times, seconds=lasted)
