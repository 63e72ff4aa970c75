"""What the service manager is told (sd_notify, https://www.freedesktop.org/software/systemd/man/sd_notify.html).

Without a manager nothing is sent. A word that does not get through is logged and not repeated: the manager has its own
time-outs.
"""

from __future__ import annotations

import asyncio
import socket

import structlog

log = structlog.get_logger("frontdesk.service")

PER_WATCH = 3
"""How often the watchdog is fed in its time, so that a loop may stall for most of it."""


class Notifier:
    """Lives on the main loop. `address` is what the manager gave in NOTIFY_SOCKET: a path, or an abstract name after
    an @; None: there is no manager."""

    def __init__(self, address: str | None) -> None:
        self._address = None if address is None else address.replace("@", "\0", 1) if address[:1] == "@" else address

    def ready(self, status: str) -> None:
        """The start is over."""
        self._send("READY=1", f"STATUS={_line(status)}")

    def reloading(self, monotonic_s: float) -> None:
        """The configuration is being read again since then; `ready` ends it (sd_notify(3))."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={int(monotonic_s * 1_000_000)}")

    def status(self, status: str) -> None:
        """One line for people, shown by `systemctl status`."""
        self._send(f"STATUS={_line(status)}")

    def stopping(self, within_s: float) -> None:
        """The end has begun, and may take so long."""
        self._send("STOPPING=1", f"EXTEND_TIMEOUT_USEC={int(within_s * 1_000_000)}")

    def alive(self) -> None:
        """The loop runs."""
        self._send("WATCHDOG=1")

    async def watch(self, every_s: float) -> None:
        """Feed the watchdog, which wants a word every `every_s` seconds, until cancelled. A loop that is blocked feeds
        nobody, and is restarted."""
        while True:
            self.alive()
            await asyncio.sleep(every_s / PER_WATCH)

    def _send(self, *words: str) -> None:
        if self._address is None:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as mouth:
                mouth.setblocking(False)
                mouth.sendto("\n".join(words).encode(), self._address)
        except OSError as error:
            log.warning("manager_not_told", words=words[0], why=error.strerror)


def _line(text: str) -> str:
    return " ".join(text.split())
