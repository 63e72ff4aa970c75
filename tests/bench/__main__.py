"""`python -m tests.bench`: every figure in one table. `python -m tests.bench NAME...`: some of them."""

from __future__ import annotations

import asyncio
import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.figures import ASIDE, Figure, loaded, table

PARTS = (
    "start", "turns", "latency", "known", "memory", "long", "model_start", "models", "streams", "model_memory",
    "platforms", "killed",
)  # fmt: skip
"""Each is measured in a process of its own, so that none inherits another's memory."""
ROOT = Path(__file__).parents[2]
CHILD = "--figures"


def main() -> int:
    if sys.argv[1:2] == [CHILD]:
        module = importlib.import_module(f"tests.bench.{sys.argv[2]}")
        for figure in asyncio.run(module.measure()):
            print(figure.dumped(), flush=True)
        return 0
    figures: list[Figure] = []
    for part in sys.argv[1:] or PARTS:
        began = time.perf_counter()
        figures += _measured(part)
        print(f"{part}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    print(table(figures), ASIDE, sep="\n\n")
    return 0


def _measured(part: str) -> list[Figure]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", CHILD, part],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment,
    )
    return loaded(done.stdout.splitlines())


sys.exit(main())
