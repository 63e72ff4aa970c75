"""What the service manager hears, on a socket of its kind."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from config.load import load
from core.service.notify import Notifier


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(tmp_path / "notify"))
        ear.settimeout(5)
        yield ear


def heard(manager: socket.socket) -> list[str]:
    return manager.recv(4096).decode().split("\n")


def test_ready_comes_with_one_line_of_status(manager: socket.socket) -> None:
    Notifier(manager.getsockname()).ready("bots:\n telegram")
    assert heard(manager) == ["READY=1", "STATUS=bots: telegram"]


def test_stopping_asks_for_the_time_that_it_may_take(manager: socket.socket) -> None:
    Notifier(manager.getsockname()).stopping(45)
    assert heard(manager) == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=45000000"]


def test_an_abstract_address_is_reached(tmp_path: Path) -> None:
    name = f"frontdesk-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(f"\0{name}")
        ear.settimeout(5)
        Notifier(f"@{name}").alive()
        assert heard(ear) == ["WATCHDOG=1"]


def test_without_a_manager_nothing_is_said_and_one_that_is_gone_stops_nobody(tmp_path: Path) -> None:
    with structlog.testing.capture_logs() as logs:
        Notifier(None).ready("x")
        assert logs == []
        Notifier(str(tmp_path / "gone")).ready("x")
    assert [line["event"] for line in logs] == ["manager_not_told"]


async def test_the_watchdog_is_fed_three_times_in_its_time(manager: socket.socket) -> None:
    manager.setblocking(False)
    loop = asyncio.get_running_loop()
    watching = asyncio.create_task(Notifier(manager.getsockname()).watch(0.15))
    words = [await asyncio.wait_for(loop.sock_recv(manager, 100), 5) for _ in range(4)]
    watching.cancel()
    assert words == [b"WATCHDOG=1"] * 4


@pytest.mark.parametrize(
    ("environ", "watchdog_s"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_watchdog_s_time_is_read_as_the_manager_gives_it(
    tmp_path: Path, environ: dict[str, str], watchdog_s: float | None
) -> None:
    loaded = load(config=None, state=tmp_path, environ={"HOME": str(tmp_path), "NOTIFY_SOCKET": "/n", **environ})
    assert loaded.manager.socket == "/n"
    assert loaded.manager.watchdog_s == watchdog_s
