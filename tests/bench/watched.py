"""`python -m tests.bench.watched run ...`: as `frontdesk run ...`, with its main loop watched while models are loaded.

Prints one line of JSON to stdout once they are: `stall_s` and `loaded_s`, both from the moment that loading began.
"""

from __future__ import annotations

import asyncio
import json
import time

from core.agents.backend import ModelBackend
from core.cli.app import main
from tests.bench.lateness import Ticks

AFTER_S = 0.5
"""What loading leaves behind may hold up the loop a little later."""

_warm = ModelBackend.warm
_reports: list[asyncio.Task[None]] = []


def warm(backend: ModelBackend) -> None:
    if _reports:
        _warm(backend)
        return
    ticks = Ticks()
    ticks.start()
    _warm(backend)
    _reports.append(asyncio.create_task(_report(backend, ticks)))


async def _report(backend: ModelBackend, ticks: Ticks) -> None:
    began = time.perf_counter()
    await backend.engine()
    loaded_s = time.perf_counter() - began
    await asyncio.sleep(AFTER_S)
    ticks.stop()
    print(json.dumps({"stall_s": ticks.worst_s, "loaded_s": loaded_s}), flush=True)


if __name__ == "__main__":
    ModelBackend.warm = warm  # type: ignore[method-assign, assignment]  # the daemon itself tells nobody when it begins
    main()
