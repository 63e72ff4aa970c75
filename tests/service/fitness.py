"""Whether this computer may boot a machine with systemd, and if not, why, and what to do about it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.service.image import PYTHON

_TOOLS: Final = {"systemd-nspawn": "systemd-container", "debootstrap": "debootstrap", "nsenter": "util-linux"}
_UNSHARE: Final = ("unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "sh", "-c")
_MOUNTS: Final = "mount --make-rprivate / && mount -t tmpfs tmpfs /run && mount -t proc proc /proc"
_CGROUPS: Final = ("systemd", "unified", "")


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """Why none can be booted. `forbidden`: root with every tool is refused by the kernel or the container around it,
    so that nothing which can be installed would help."""

    words: str
    forbidden: bool


def obstacle() -> Obstacle | None:
    """The first thing in the way; None if there is nothing.

    What the kernel forbids is found by trying it as root: the namespaces and mounts that a boot makes, and a cgroup. A
    boot that fails although these work is a failure, not an obstacle.
    """
    return next(_obstacles(), None)


def _obstacles() -> Iterator[Obstacle]:
    if os.geteuid() != 0:
        yield Obstacle(words="it takes root: sudo make test-service", forbidden=False)
    missing = [package for tool, package in _TOOLS.items() if shutil.which(tool) is None]
    if missing:
        yield Obstacle(words=f"tools are missing: apt-get install {' '.join(missing)}", forbidden=False)
    if sys.version_info[:2] != PYTHON:
        yield Obstacle(words=f"it takes Python {PYTHON[0]}.{PYTHON[1]}: make test-service PYTHON=...", forbidden=False)
    tried = subprocess.run([*_UNSHARE, _MOUNTS], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        yield _forbidden(f"namespaces and mounts ({tried.stderr.strip()})")
    if not any(_takes_cgroups(Path("/sys/fs/cgroup", name)) for name in _CGROUPS):
        yield _forbidden("control groups (none can be made in /sys/fs/cgroup)")


def _forbidden(what: str) -> Obstacle:
    return Obstacle(
        words=f"the kernel refuses root {what}; run it on a machine, or in a container with --privileged",
        forbidden=True,
    )


def _takes_cgroups(tree: Path) -> bool:
    probe = tree / "frontdesk-probe"
    if not (tree / "cgroup.procs").exists():
        return False
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError:
        return False
    return True
