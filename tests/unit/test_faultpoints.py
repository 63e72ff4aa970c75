"""Fault points: each is in the product, killed at by a crash test and named in the README; without a test none does
anything."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import core.faultpoints
from core.faultpoints import faultpoint, on_faultpoint
from tests.crash.points import POINTS

ROOT: Final = Path(__file__).parents[2]
TABLE: Final = ROOT / "tests/crash/points.py"
ITSELF: Final = Path(core.faultpoints.__file__)


def calls(name: str) -> Iterator[ast.Call]:
    """Of a function of `core.faultpoints`, in the product."""
    paths = [path for folder in ("core", "bots", "config") for path in (ROOT / folder).rglob("*.py")]
    for node in (node for path in paths for node in nodes_of(path)):
        if isinstance(node, ast.Call) and name in (getattr(node.func, "id", ""), getattr(node.func, "attr", "")):
            yield node


def nodes_of(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def in_the_product() -> set[str]:
    first = [call.args[0] for call in calls("faultpoint")]
    return {str(one.value) if isinstance(one, ast.Constant) else ast.unparse(one) for one in first}


def in_the_tests() -> set[str]:
    """What crash tests kill at: their literals that are names of points."""
    paths = [path for path in (ROOT / "tests/crash").glob("*.py") if path != TABLE]
    return {
        node.value
        for path in paths
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in POINTS
    }


def in_the_readme() -> set[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tables = text.partition("## When it is killed")[2].partition("\n## ")[0]
    firsts = [row.split("|")[1] for row in tables.splitlines() if row.startswith("| ")]
    return set(re.findall(r"`([a-z_]+\.[a-z_]+(?::[a-z_0-9]+)?)`", " ".join(firsts)))


def test_every_fault_point_of_the_product_is_killed_at_and_no_other_is() -> None:
    assert in_the_product() == {point.partition(":")[0] for point in POINTS}
    assert in_the_tests() == set(POINTS)


def test_the_readme_names_what_is_killed_at() -> None:
    assert in_the_readme() == set(POINTS)


def test_nothing_in_the_product_switches_them_on() -> None:
    assert not list(calls("on_faultpoint"))
    assert not [name for name in imports_of(ITSELF) if name not in ("__future__", "typing")]


def imports_of(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_without_a_handler_nothing_happens_and_with_one_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core.faultpoints, "_handler", None)
    heard: list[tuple[object, ...]] = []
    faultpoint("turn.recorded", 1)
    on_faultpoint(lambda name, *things: heard.append((name, *things)))
    faultpoint("turn.recorded", 2, "more")
    on_faultpoint(None)
    faultpoint("turn.recorded", 3)
    assert heard == [("turn.recorded", 2, "more")]


def test_a_process_that_starts_has_no_handler() -> None:
    """Whatever its environment says."""
    ask = "import core.faultpoints, core.main; print(core.faultpoints._handler)"
    names = ("FAULTPOINT", "FAULTPOINTS", "FRONTDESK_FAULTPOINT", "FRONTDESK_FAULTPOINTS")
    environ = {"PYTHONPATH": str(ROOT), **dict.fromkeys(names, "turn.recorded")}
    assert subprocess.check_output([sys.executable, "-c", ask], env=environ, text=True) == "None\n"
