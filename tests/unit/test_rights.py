"""Root in a state directory of somebody else's goes on as that one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.cli.rights import Owner, owner_of, step_down, stepped_down

SOMEBODY = Owner(61_234, 61_235)
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else: run the tests as root")


def in_a_child(work: Callable[[], bool]) -> bool:
    """What becomes of a process does not become of the tests."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def theirs() -> Iterator[Path]:
    """Where everybody may go to."""
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, *SOMEBODY)
        yield Path(folder)


def test_root_s_own_directory_asks_for_nobody(tmp_path: Path) -> None:
    assert owner_of(tmp_path) is None
    assert owner_of(tmp_path / "not" / "there") is None


def test_one_that_is_not_there_yet_belongs_to_the_folder_around_it(theirs: Path) -> None:
    assert owner_of(theirs) == owner_of(theirs / "not" / "there") == SOMEBODY


def test_who_stepped_down_can_not_become_root_again(theirs: Path) -> None:
    def work() -> bool:
        step_down(theirs)
        try:
            os.setuid(0)
        except PermissionError:
            return (os.getresuid(), os.getresgid(), os.getgroups()) == (
                (SOMEBODY.uid,) * 3, (SOMEBODY.gid,) * 3, [SOMEBODY.gid]
            )  # fmt: skip
        return False

    assert in_a_child(work)


def test_within_the_block_only(theirs: Path) -> None:
    def work() -> bool:
        groups = os.getgroups()
        with stepped_down(theirs):
            (theirs / "made").touch()
            within = os.geteuid(), os.getegid(), os.getgroups()
        after = os.geteuid(), os.getegid(), os.getgroups()
        return within == (*SOMEBODY, [SOMEBODY.gid]) and after == (0, 0, groups)

    assert in_a_child(work)
    assert (theirs / "made").stat().st_uid == SOMEBODY.uid


def test_a_fault_within_the_block_gives_root_back(theirs: Path) -> None:
    def work() -> bool:
        with pytest.raises(ValueError, match="fault"), stepped_down(theirs):
            raise ValueError("fault")
        return os.geteuid() == 0

    assert in_a_child(work)
