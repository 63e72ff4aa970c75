"""One daemon per store: whoever owns it holds a lock that ends with the process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import Protocol

from core.errors import StoreError, StoreLocked

LOOKS, LOOK_S = 20, 0.05
"""How often, and how far apart, a lock that somebody holds is tried."""


class ProcessLock(Protocol):
    def renew(self) -> None:
        """Make sure that it is still held; take it again if the connection that held it is gone.

        Blocking. Raises `StoreLocked` when another process took it meanwhile.
        """

    def release(self) -> None: ...


class NoLock:
    """Where several processes share one store (`[cluster]`)."""

    def renew(self) -> None:
        return

    def release(self) -> None:
        return


class FileLocks:
    """flock on files; the kernel frees them with the process, whatever kills it. The pid inside is for people."""

    def __init__(self, paths: list[Path]) -> None:
        """Raises `StoreLocked`, or `StoreError` if a file can't be opened."""
        self._files: list[int] = []
        for path in paths:
            try:
                self._files.append(_lock_file(path))
            except StoreError:
                self.release()
                raise

    def renew(self) -> None:
        return

    def release(self) -> None:
        while self._files:
            file = self._files.pop()
            with contextlib.suppress(OSError):
                os.ftruncate(file, 0)
            os.close(file)


def _lock(file: int) -> None:
    """Whoever holds it may be a verb of the command line, which takes moments."""
    for _ in range(LOOKS):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOOK_S)
        else:
            return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_file(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StoreError(f"the lock file {path} can't be opened ({error.strerror})") from error
    try:
        _lock(file)
    except BlockingIOError as error:
        pid = os.pread(file, 32, 0).decode("ascii", "replace").strip()
        os.close(file)
        raise StoreLocked(
            f"another Frontdesk ({f'process {pid}' if pid else 'process unknown'}) uses {path.parent}; "
            f"stop it, or give this one another state directory with --state"
        ) from error
    with contextlib.suppress(OSError):  # a full disk: the lock holds without the pid
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
    return file
