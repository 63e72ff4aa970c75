"""S08: what runs as the desk's own user, such as a tool server, can't look into the desk's process."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.service.memory_guard import guard_memory
from core.service.socket import address_of
from tests.unit.test_handing import Place
from tests.unit.test_rights import SOMEBODY, in_a_child, theirs

__all__ = ["place", "theirs"]
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc and prctl"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else: run the tests as root"),
]
PR_SET_DUMPABLE = 4
LOOKS = ("environ", "mem", "maps", "fd/0", "root/etc/hostname", "cwd/.")


@pytest.fixture
def place(theirs: Path) -> Iterator[Place]:
    made = Place(theirs)
    for path in (*theirs.rglob("*"), theirs):
        os.chown(path, *SOMEBODY)
    yield made


def become_somebody() -> None:
    """As a service that was started as its own user: a program that is executed has that user from its beginning, and
    may be looked into."""
    os.setgroups([])
    os.setresgid(SOMEBODY.gid, SOMEBODY.gid, SOMEBODY.gid)
    os.setresuid(SOMEBODY.uid, SOMEBODY.uid, SOMEBODY.uid)
    assert ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0


def seen_by_a_child() -> set[str]:
    """What a program of the same user can open of the process that started it."""
    asked = "; ".join(f"head -c 1 /proc/$PPID/{look} >/dev/null 2>&1 || test -d /proc/$PPID/{look} && echo {look}"
                      for look in LOOKS)  # fmt: skip
    told = subprocess.run(["sh", "-c", asked], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return set(told.stdout.split())


def test_s08_without_the_guard_a_program_of_the_same_user_reads_the_environment() -> None:
    """Else the next test would show nothing."""

    def looks() -> bool:
        become_somebody()
        return "environ" in seen_by_a_child()

    assert in_a_child(looks)


def test_s08_with_the_guard_it_reads_nothing_of_the_process() -> None:
    def looks() -> bool:
        become_somebody()
        guard_memory()
        return not seen_by_a_child()

    assert in_a_child(looks)


def test_s08_what_goes_by_the_process_s_own_files_goes_on(place: Place) -> None:
    """A file is handed over, and a socket is bound whose path is too long for the kernel."""
    folder = place.root / ("long" * 40)
    folder.mkdir()
    os.chown(folder, *SOMEBODY)

    def works() -> bool:
        become_somebody()
        guard_memory()
        with socket.socket(socket.AF_UNIX) as made, address_of(folder / "desk.sock") as address:
            made.bind(address)
        return place.take("good.txt") == [b"good"] and (folder / "desk.sock").is_socket()

    assert in_a_child(works)
