"""What the machine boots from: a small Debian, and the packages that pip installs there. Both are made once and kept.

They are kept in /var/cache/frontdesk-service-test, or the folder that FRONTDESK_SERVICE_CACHE names; it may be deleted
at any time. What is made there takes its mirror and its package index from the machine that runs the tests.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from config.extras import ALL

ROOT: Final = Path(__file__).parents[2]
CACHE: Final = Path(os.environ.get("FRONTDESK_SERVICE_CACHE", "/var/cache/frontdesk-service-test"))
SUITE: Final = "bookworm"
PYTHON: Final = (3, 11)
"""Of that suite; the packages are built by the Python that runs the tests, which has to be the same."""
PACKAGES: Final = ("systemd", "systemd-sysv", "dbus", "make", "python3", "python3-venv", "sudo", "ca-certificates")
CHECKOUT: Final = ("Makefile", "pyproject.toml", "constraints.txt", "README.md", "LICENSE")
CHECKOUT_FOLDERS: Final = ("bots", "core", "config", "systemd")
_BUILD_S: Final = 600


@contextmanager
def one_run_at_a_time() -> Iterator[None]:
    """Hold the cache; the leavings of runs that were killed go. Raises `RuntimeError` if another run holds it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(
                f"another run of these tests uses {CACHE}; wait for it, and run them without -n"
            ) from None
        for left in CACHE.glob("running-*"):
            shutil.rmtree(left)
        yield


@contextmanager
def fresh_root() -> Iterator[Path]:
    """A root file system for one run, with this checkout in /srv/frontdesk and the packages in /srv/packages."""
    debian = _kept("debian", f"{SUITE} {PACKAGES}", _debootstrap)
    packages = _kept(
        "packages", f"{sys.version_info[:3]} {_file('pyproject.toml')} {_file('constraints.txt')}", _wheels
    )
    folder = Path(tempfile.mkdtemp(prefix="running-", dir=CACHE))
    try:
        root = folder / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", str(debian), str(root)], check=True)
        shutil.copytree(packages, root / "srv" / "packages")
        copy_checkout(root / "srv" / "frontdesk")
        yield root
    finally:
        shutil.rmtree(folder)


def copy_checkout(to: Path) -> None:
    """What somebody who clones it has, as far as an install needs it."""
    to.mkdir()
    for name in CHECKOUT:
        shutil.copy(ROOT / name, to / name)
    for name in CHECKOUT_FOLDERS:
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))


def _file(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _kept(name: str, made_from: str, make: Callable[[Path], None]) -> Path:
    """The folder `name`, made if there is none from the same; those from something else go."""
    digest = hashlib.blake2b(made_from.encode(), digest_size=8).hexdigest()
    kept = CACHE / f"{name}-{digest}"
    if kept.exists():
        return kept
    for other in CACHE.glob(f"{name}-*"):
        shutil.rmtree(other)
    unfinished = CACHE / f"{name}-unfinished"
    make(unfinished)
    return unfinished.rename(kept)


def _debootstrap(to: Path) -> None:
    mirror = _mirror()
    _run("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, str(to), *mirror)


def _mirror() -> list[str]:
    """Where apt gets this suite on this machine; nothing if it is another system: then debootstrap's own choice."""
    told = ["apt-get", "indextargets", "--format", "$(CODENAME) $(RELEASE) $(REPO_URI)"]
    done = subprocess.run(told, capture_output=True, text=True, check=False)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [row[2] for row in rows if len(row) == 3 and row[:2] == [SUITE, SUITE]][:1]


def _wheels(to: Path) -> None:
    project = tomllib.loads(_file("pyproject.toml"))
    extras = [one for extra in ALL for one in project["project"]["optional-dependencies"][extra]]
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"], *extras]
    constraints = str(ROOT / "constraints.txt")
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(to), "--constraint", constraints, *wanted)


def _run(*words: str) -> None:
    """Raises `RuntimeError` with what the program said last."""
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=_BUILD_S
    )
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} failed ({done.returncode}): {done.stdout[-2000:]}")
