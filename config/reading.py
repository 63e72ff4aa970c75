"""Reading small files that may be anything: whoever reads a config while a daemon runs must not be held up by one."""

from __future__ import annotations

import errno
import os
import select
import stat
from pathlib import Path
from typing import Final

PIPE_S: Final = 5.0
"""How long the other end of a pipe may be silent."""
_PIECE: Final = 65_536


def content_of(path: Path, most: int) -> tuple[os.stat_result, bytes]:
    """What the file was when it was opened, and its first `most + 1` bytes. Blocks for moments only: a pipe is read as
    far as somebody writes it.

    Raises `OSError`.
    """
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        found = os.fstat(file)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return found, _read(file, most + 1)
    finally:
        os.close(file)


def _read(file: int, most: int) -> bytes:
    content, poll = bytearray(), select.poll()
    poll.register(file, select.POLLIN)
    while len(content) < most:
        if not poll.poll(PIPE_S * 1000):
            raise TimeoutError(errno.ETIMEDOUT, f"nobody has written any of it for {PIPE_S:g} s")
        piece = os.read(file, min(_PIECE, most - len(content)))
        if not piece:
            break
        content += piece
    return bytes(content)
