"""Frontdesk as people install it: a wheel of this tree, in a virtual environment of its own, bytecode compiled."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
OF_THIS_TREE = hashlib.sha256(os.fsencode(ROOT)).hexdigest()[:8]
CACHE = Path(tempfile.gettempdir()) / f"frontdesk-bench-wheel-{os.getuid()}-{OF_THIS_TREE}"
NOT_BUILT = (".*", "tests", "build", "__pycache__", "*.egg-info")


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """`packages`: the names that the wheel itself is imported by."""

    python: Path
    frontdesk: Path
    packages: frozenset[str]


def installed() -> Installed:
    """The environment is kept between runs until the dependencies change; the wheel is built and installed anew."""
    pinned = (ROOT / "pyproject.toml").read_bytes() + (ROOT / "constraints.txt").read_bytes() + sys.version.encode()
    home = CACHE / hashlib.sha256(pinned).hexdigest()[:16]
    python, complete = home / "bin" / "python", home / "complete"
    with tempfile.TemporaryDirectory(prefix="frontdesk-bench-") as folder:
        wheel = _built(Path(folder))
        if not complete.exists():
            print("wire: installing the wheel and its dependencies; kept for the next run", file=sys.stderr, flush=True)
            shutil.rmtree(CACHE, ignore_errors=True)
            venv.create(home, with_pip=True)
            _pip(python, "install", "--compile", "-c", str(ROOT / "constraints.txt"), str(wheel))
            complete.touch()
        else:
            _pip(python, "install", "--compile", "--no-deps", "--force-reinstall", str(wheel))
        packages = frozenset(name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist())
    return Installed(python=python, frontdesk=python.with_name("frontdesk"), packages=packages)


def _built(folder: Path) -> Path:
    """From a copy of the tree: setuptools would put what an earlier build left in `build/` into the wheel."""
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*NOT_BUILT))
    _pip(Path(sys.executable), "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(source))
    return next(folder.glob("*.whl"))


def _pip(python: Path, *arguments: str) -> None:
    command: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check", "-qq", *arguments]
    subprocess.run(command, check=True, stdout=sys.stderr, env={**os.environ, "PYTHONWARNINGS": "ignore"})
