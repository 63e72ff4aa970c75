"""What an install compiles."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from core.bytecode import LATER, PACKAGES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", LATER)
def test_what_is_named_is_there(name: str) -> None:
    assert find_spec(name) is not None


def test_bytecode_is_there_of_our_own_and_of_what_a_start_imports(tmp_path: Path) -> None:
    """Written elsewhere here, so that none that is there already serves."""
    environ = {"PYTHONPYCACHEPREFIX": str(tmp_path), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "core.bytecode"], cwd=ROOT, env=environ, check=True)
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.pyc")}
    for package in PACKAGES:
        for source in (ROOT / package).rglob("*.py"):
            assert f"{str(source)[1:-3]}.{sys.implementation.cache_tag}.pyc" in names
    packages = {name.split("/site-packages/")[1].split("/")[0] for name in names if "/site-packages/" in name}
    assert packages > {"aiohttp", "anthropic", "discord", "fastmcp", "openai", "pydantic_ai", "slack_sdk", "telegram"}
    assert not packages & {"mypy", "pytest", "setuptools"}
