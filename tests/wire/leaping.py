"""The clock of the running loop, which a test moves on: for timeouts that are of real time."""

from __future__ import annotations

import asyncio

import pytest


class LeapingLoop:
    """Whatever waits on the loop wakes as if the seconds had passed. Undone at the end of the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead_s = 0.0
        loop = asyncio.get_running_loop()
        time = loop.time
        monkeypatch.setattr(loop, "time", lambda: time() + self._ahead_s)

    def leap(self, seconds: float) -> None:
        self._ahead_s += seconds
