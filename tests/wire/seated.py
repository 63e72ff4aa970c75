"""Somebody at a real terminal who is asked by `frontdesk init`."""

from __future__ import annotations

import os
import pty
import select
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.crash.daemon import UNHARMED, Process
from tests.crash.nursery import Order, shared
from tests.wire.desk_to_be import Home

DEADLINE_S: Final = 40.0
MODEL, ZONE = "Model [none]:", "Zone [Europe/Berlin]:"
OWNER, OWNER_UNTRIED = "Your id, Enter, or later:", "Your id, or later [later]:"
WRITE: Final = "Write it? [Y/n]:"
LEFT: Final = "nothing was written"


class Asked:
    """Somebody who is asked, one question after the other."""

    def __init__(self, terminal: int, theirs: int, process: Process) -> None:
        """`theirs`: the other end, held open until it is seen that the process has it."""
        self.process = process
        self.written = ""
        self._read_upto = 0
        self._terminal = terminal
        self._theirs = theirs

    def until(self, words: str) -> None:
        """Read until the words are there, after what was read before."""
        deadline = time.monotonic() + DEADLINE_S
        while words not in self.written[self._read_upto :]:
            ready, _, _ = select.select([self._terminal], [], [], deadline - time.monotonic())
            assert ready, f"{words!r} never came; there is:\n{self.written}"
            self._read()
        self._read_upto = self.written.index(words, self._read_upto) + len(words)

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def answer(self, question: str, text: str = "") -> None:
        self.until(question)
        self.type(f"{text}\r")

    def leave(self, code: int) -> None:
        """It ends by itself, with this exit code."""
        deadline = time.monotonic() + DEADLINE_S
        while self._hears(deadline - time.monotonic()):
            pass
        assert self.process.wait(DEADLINE_S) == code, self.written

    def end(self, keys: str, code: int) -> None:
        """These keys end it. They are pressed again where nothing comes of them: a question stands there a moment
        before anything waits for its answer."""
        deadline = time.monotonic() + DEADLINE_S
        self.type(keys)
        while time.monotonic() < deadline and self._is_there():
            if not self._hears(1.0) and LEFT not in self.written:
                self.type(keys)
        assert self.process.wait(DEADLINE_S) == code, self.written

    def _hears(self, seconds: float) -> bool:
        """Read what is written within the time; False: nothing is, or nobody has the terminal any more."""
        if not select.select([self._terminal], [], [], max(0.0, seconds))[0]:
            return False
        try:
            self._read()
        except OSError:
            return False
        return True

    def _read(self) -> None:
        """Raises `OSError` once nobody has the terminal."""
        self.written += os.read(self._terminal, 65_536).decode()
        self.close()

    def close(self) -> None:
        if self._theirs >= 0:
            os.close(self._theirs)
            self._theirs = -1

    def _is_there(self) -> bool:
        return self.process.poll() is None


@contextmanager
def sitting(home: Home, *options: str) -> Iterator[Asked]:
    terminal, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (60, 200))
    order = Order(
        argv=[*UNHARMED, "init", *options],
        environ=home.environment,
        cwd=str(home.path),
        terminal=os.ttyname(theirs),
    )
    process = shared().bear(order)
    asked = Asked(terminal, theirs, process)
    try:
        yield asked
    finally:
        process.kill()
        process.wait(DEADLINE_S)
        asked.close()
        os.close(terminal)
