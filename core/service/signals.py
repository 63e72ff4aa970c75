"""What the process is told by signals."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress

_STDIN = 0


class Signals:
    """Made first of all, since a SIGHUP that nobody heeds ends the process. SIGTERM and SIGINT do end it, until a loop
    listens: then they mean stop, and the second time hurry. SIGHUP: read the configuration again; but where it says
    that our own terminal is gone, stop. After the loop nobody has to be told anything any more."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.hurry = asyncio.Event()
        self.reload = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_terminal = os.isatty(_STDIN)
        if not self._on_terminal:
            self._heed(signal.SIGHUP, self._hung_up)

    def listen(self) -> None:
        """From now on, on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._heed(signal.SIGHUP, self._hung_up)
        for number in (signal.SIGTERM, signal.SIGINT):
            self._heed(number, self._told_to_stop)

    def over(self) -> None:
        """The process ends by itself: no signal changes how."""
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    def _heed(self, number: signal.Signals, act: Callable[[], None]) -> None:
        """Not by the loop's own handlers, which go with it and leave the last moments to the default."""
        signal.signal(number, lambda *_: self._pass_on(act))

    def _pass_on(self, act: Callable[[], None]) -> None:
        if self._loop is None:
            act()
            return
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(act)

    def _told_to_stop(self) -> None:
        if self.stop.is_set():
            self.hurry.set()
        self.stop.set()

    def _hung_up(self) -> None:
        if self._on_terminal and not os.isatty(_STDIN):
            self._told_to_stop()
        else:
            self.reload.set()
