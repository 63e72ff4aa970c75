"""Whose rights a verb works with: in a state directory of somebody else's, root goes on as that one.

What lies there is its owner's: with root's rights a planted link would lead to any file of the machine.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Owner(NamedTuple):
    """Numbers of a user and its group."""

    uid: int
    gid: int


def owner_of(state: Path) -> Owner | None:
    """Whom root has to become there; None: this is not root, or it is root's. One that is not there yet belongs to the
    folder in which it would be made."""
    if os.geteuid() != 0:
        return None
    for folder in (state, *state.parents):
        with contextlib.suppress(FileNotFoundError):
            found = folder.stat()
            return None if found.st_uid == 0 else Owner(found.st_uid, found.st_gid)
    return None


def step_down(state: Path) -> None:
    """Go on as the state directory's owner, for good."""
    if (owner := owner_of(state)) is not None:
        os.setgroups([owner.gid])
        os.setresgid(owner.gid, owner.gid, owner.gid)
        os.setresuid(owner.uid, owner.uid, owner.uid)


@contextlib.contextmanager
def stepped_down(state: Path) -> Iterator[None]:
    """As the state directory's owner within the block. On Linux a process keeps its real user meanwhile, so that the
    owner can neither signal nor trace it (kill(2), ptrace(2))."""
    owner, groups = owner_of(state), os.getgroups()
    if owner is None:
        yield
        return
    try:
        os.setgroups([owner.gid])
        os.setegid(owner.gid)
        os.seteuid(owner.uid)
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)
