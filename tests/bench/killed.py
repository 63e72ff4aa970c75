"""The crash suite's evening with three platforms and the terminal, at full length: 300 people, 5,000 messages, random
kills, lost answers, one platform after the other failing. Its audit counts every message.

FRONTDESK_BENCH_SHARE=0.1 makes it a tenth as long.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from tests.bench.figures import Figure

SHARE: Final = float(os.environ.get("FRONTDESK_BENCH_SHARE", "1"))
PEOPLE: Final = max(24, int(300 * SHARE))
MESSAGES: Final = max(240, int(5_000 * SHARE))
SCENE: Final = "tests/crash/test_three_platforms.py::test_killed_at_any_instant_while_platforms_fail[0]"
ROOT: Final = Path(__file__).parents[2]
LONGEST_S: Final = 3_000.0


async def measure() -> AsyncIterator[Figure]:
    environment = {
        **os.environ, "FRONTDESK_THREE_PEOPLE": str(PEOPLE), "FRONTDESK_THREE_MESSAGES": str(MESSAGES),
    }  # fmt: skip
    began = time.monotonic()
    run = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", SCENE,
        cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    async with asyncio.timeout(LONGEST_S):
        said, _ = await run.communicate()
    if run.returncode != 0:
        print(said.decode(errors="replace")[-4000:], file=sys.stderr)
    took_s = time.monotonic() - began
    what = f"{PEOPLE} people, {MESSAGES:,} messages, 5 kills, platforms failing"
    yield Figure(
        what=f"{what}: audits that found one lost, doubled or out of order",
        value=float(run.returncode != 0),
        unit="",
        budget=0,
    )
    yield Figure(what=f"{what}: all of it", value=took_s, unit="s")
