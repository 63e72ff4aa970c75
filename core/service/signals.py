"""What the process is told by signals."""

from __future__ import annotations

import asyncio
import os
import signal

_STDIN = 0


class Signals:
    """Lives on the main loop. SIGTERM and SIGINT: stop, and the second time hurry. SIGHUP: read the configuration
    again; but where it says that our own terminal is gone, stop."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.hurry = asyncio.Event()
        self.reload = asyncio.Event()
        self._on_terminal = os.isatty(_STDIN)

    def listen(self) -> None:
        """From now on, for the running loop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._told_to_stop)
        loop.add_signal_handler(signal.SIGHUP, self._hung_up)

    def _told_to_stop(self) -> None:
        if self.stop.is_set():
            self.hurry.set()
        self.stop.set()

    def _hung_up(self) -> None:
        if self._on_terminal and not os.isatty(_STDIN):
            self._told_to_stop()
        else:
            self.reload.set()
