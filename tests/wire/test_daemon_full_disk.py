"""C57: the disk of the state directory fills up under a running daemon, and is freed again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

from tests.crash.daemon import until
from tests.fakes.telegram import ThreadedTelegramServer
from tests.fakes.telegram.model import JsonObject
from tests.wire.daemon_world import OFFLINE, desk, person, telegram_bot, wait_for

SIZE = "96m"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few MiB, mounted where the daemon keeps its state."""
    place = tmp_path / "home" / "state"
    place.mkdir(parents=True, mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk takes the right to mount one: run the tests as root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> Path:
    """Take all the room that is left, to the last byte."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            _fill_with(file, size)
    return ballast


def _fill_with(file: IO[bytes], size: int) -> None:
    with suppress(OSError):
        while file.write(b"\0" * size) == size:
            pass


def test_c57_people_are_told_once_and_all_is_answered_when_there_is_room_again(small_disk: Path) -> None:
    with ThreadedTelegramServer() as server:
        config = '[access]\ndirect = "open"\n' + OFFLINE + telegram_bot(server)
        ada = person(server)
        with desk(small_disk.parent, [("telegram", server)], config) as daemon:
            daemon.start()
            ada.type("before")
            wait_for(server, daemon, lambda: ada.count("\nbefore") == 1)
            ballast = fill(small_disk)
            # More than the database's log has room for already, and than Telegram lets a message be.
            where: JsonObject = {"message_id": 900, "date": 1, "chat": ada.chat.json(), "from": ada.user.json()}
            server.raw({"message": {**where, "text": "while full " + "x" * 5_000_000}})
            wait_for(server, daemon, lambda: ada.count("the disk is full") == 1)
            until(lambda: daemon.status()["ready"] is False, "status follows the disk")
            assert daemon.call("status").stdout.splitlines()[:2] == [
                "not ready:", "  store: its disk is full; free some space, and what waits is stored by itself",
            ]  # fmt: skip
            ballast.unlink()
            ada.type("after")
            wait_for(server, daemon, lambda: ada.count("while full xxx") == 1)
            wait_for(server, daemon, lambda: ada.count("\nafter") == 1)
            assert ada.count("the disk is full") == 1
            until(lambda: daemon.status()["ready"] is True, "ready again")
            daemon.terminate()
            assert daemon.wait_exit() == 0
        assert server.violations == ()
