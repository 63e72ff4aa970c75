"""Keeps other processes of the same user out of this one's memory and environment."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

import structlog

log = structlog.get_logger("frontdesk.service")

_PR_SET_DUMPABLE: Final = 4
"""https://man7.org/linux/man-pages/man2/PR_SET_DUMPABLE.2const.html"""


def guard_memory() -> None:
    """From now on only root can trace this process, or read its memory or environment in /proc, where the kernel has
    the tokens. A program that is started gets no such guard. Elsewhere than on Linux nothing happens."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        log.warning("memory_not_guarded", why=os.strerror(ctypes.get_errno()))
