"""`python -m tests.bench`: every figure, each as soon as it is there, then all in one table for the README.

`python -m tests.bench NAME...`: some parts. A platform's name is that platform's share of `wire`.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.figures import ASIDE, Figure, line, loaded, table

USUAL = (
    "wire", "model_start", "turns", "latency", "known", "memory", "long", "models", "streams", "model_memory",
)  # fmt: skip
"""Each is measured in a process of its own, so that none inherits another's memory."""
BY_NAME = ("platforms", "killed")
"""Evenings of many minutes with all platforms at once: measured if they are named."""
PLATFORMS = ("telegram", "discord", "slack")
ROOT = Path(__file__).parents[2]
CHILD = "--figures"


def main() -> int:
    if sys.argv[1:2] == [CHILD]:
        asyncio.run(_measure(sys.argv[2], sys.argv[3:]))
        return 0
    if unknown := [name for name in sys.argv[1:] if name not in (*USUAL, *BY_NAME, *PLATFORMS)]:
        there = f"{', '.join(USUAL)}; by name only: {', '.join(BY_NAME)}; of wire: {', '.join(PLATFORMS)}"
        print(f"There is no {', '.join(unknown)}. There is: {there}.", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    for part, platforms in _asked(sys.argv[1:]):
        began = time.perf_counter()
        for figure in _measured(part, platforms):
            figures.append(figure)
            print(line(figure), flush=True)
        print(f"{part}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    print("", table(figures), ASIDE, sep="\n\n")
    return 0


def _asked(names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The parts, and the platforms that a part is confined to."""
    platforms = [name for name in names if name in PLATFORMS]
    parts = [name for name in names if name not in PLATFORMS]
    if platforms and "wire" not in parts:
        parts = ["wire", *parts]
    return [(part, platforms if part == "wire" else []) for part in parts or USUAL]


async def _measure(part: str, platforms: Sequence[str]) -> None:
    module = importlib.import_module(f"tests.bench.{part}")
    async for figure in module.measure(*platforms):
        print(figure.dumped(), flush=True)


def _measured(part: str, platforms: Sequence[str]) -> Iterator[Figure]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "tests.bench", CHILD, part, *platforms]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as measuring:
        assert measuring.stdout is not None
        yield from loaded(measuring.stdout)
    if measuring.returncode:
        raise subprocess.CalledProcessError(measuring.returncode, command)


sys.exit(main())
