"""The finished daemon under a service manager: what it tells, and when."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FRONTDESK = (sys.executable, "-c", "from core.cli.app import main; main()")


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(tmp_path / "notify"))
        ear.settimeout(30)
        yield ear


def until(manager: socket.socket, word: bytes) -> bytes:
    """The next message that begins so."""
    while not (said := manager.recv(1000)).startswith(word):
        pass
    return said


def test_it_is_ready_is_alive_loads_anew_and_says_that_it_stops(tmp_path: Path, manager: socket.socket) -> None:
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT),
        "NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "600000",
    }  # fmt: skip
    with subprocess.Popen(
        [*FRONTDESK, "run", "--state", str(tmp_path / "state")], env=environ, cwd=tmp_path,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as daemon:  # fmt: skip
        try:
            assert manager.recv(1000) == b"READY=1\nSTATUS=terminal starting"
            assert manager.recv(1000) in (b"WATCHDOG=1", b"STATUS=terminal up")
            for _ in range(3):
                assert until(manager, b"WATCHDOG=1")
            daemon.send_signal(signal.SIGHUP)
            assert b"\nMONOTONIC_USEC=" in until(manager, b"RELOADING=1")
            assert until(manager, b"READY=1") == b"READY=1\nSTATUS=terminal up"
            daemon.send_signal(signal.SIGTERM)
            assert b"\nEXTEND_TIMEOUT_USEC=" in until(manager, b"STOPPING=1")
            assert daemon.wait(30) == 0
        finally:
            daemon.kill()
