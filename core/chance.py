"""The only source of chance."""

from __future__ import annotations

import os
import random
import secrets

from core.ports import Clock

ALPHABET = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
"""Letters and digits that people don't confuse when they read them to each other."""
_SEQUENCE = 1 << 12


class SystemRandom:
    """As `ports.Random`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0

    def uuid7(self) -> str:
        """RFC 9562, 5.7: milliseconds, then 12 bits that count within one, so that ids ascend even where the clock
        stands still or is set back."""
        stamp = int(self._clock.now().timestamp() * 1000) * _SEQUENCE
        self._last = max(self._last + 1, stamp)
        milliseconds, count = divmod(self._last, _SEQUENCE)
        tail = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
        value = (milliseconds & ((1 << 48) - 1)) << 80 | 0x7 << 76 | count << 64 | 0b10 << 62 | tail
        digits = f"{value:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def token(self, characters: int) -> str:
        return "".join(secrets.choice(ALPHABET) for _ in range(characters))

    def uniform(self, low: float, high: float) -> float:
        return random.uniform(low, high)  # noqa: S311  # jitter
