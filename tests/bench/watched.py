"""`python -m tests.bench.watched run ...`: as `frontdesk run ...`, with its main loop watched while models are loaded.

Prints one line of JSON to stdout once they are: `stall_s` and `loaded_s`, both from the moment that loading began.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Final

from bots import open_bot
from config.bots import BotSettings
from core.main import Wiring
from core.ports import Bot, Clock, Random
from core.vocabulary import BotName
from tests.bench.lateness import Ticks
from tests.bench.threads import AGENTS, NOTHING, Threads
from tests.wire.wired import run

FIRST: Final = "pydantic_ai"
"""Of what models need, the first that is imported."""
LOOK_S: Final = 0.05
AFTER_S: Final = 0.5
"""All is loaded once the agents' thread used no processor for so long. What loading leaves behind may hold up the loop
a little later, too."""


class Watch(MetaPathFinder):
    """Finds nothing; it is asked for the first module on the thread that loads, and its loop is the one that is
    watched."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._report = asyncio.create_task(self._reported())

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name == FIRST:
            self._loop.call_soon_threadsafe(self._begun.set)

    async def _reported(self) -> None:
        threads, ticks, used_s = Threads(), Ticks(), 0.0
        await self._begun.wait()
        ticks.start()
        began = loaded = time.perf_counter()
        while time.perf_counter() - loaded < AFTER_S:
            await asyncio.sleep(LOOK_S)
            now_s, _ = threads.since().get(AGENTS, NOTHING)
            if now_s > used_s:
                used_s, loaded = now_s, time.perf_counter()
        ticks.stop()
        print(json.dumps({"stall_s": ticks.worst_s, "loaded_s": loaded - began}), flush=True)


def watching(name: BotName, settings: BotSettings, *, clock: Clock, random: Random) -> Bot:
    """`bots.open_bot`, which the daemon calls on the loop that is to be watched."""
    sys.meta_path.insert(0, Watch())
    return open_bot(name, settings, clock=clock, random=random)


if __name__ == "__main__":
    run(Wiring(open_bot=watching))
