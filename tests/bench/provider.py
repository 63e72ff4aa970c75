"""A provider of models as agents of a benchmark see it: the double, in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(kw_only=True)
class Provider:
    """`late_s`: how late its own deltas were at worst; known once it has ended."""

    url: str
    key: str
    pid: int = 0
    late_s: float = 0.0

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    def agent(self, model: str) -> dict[str, object]:
        """`[agents.NAME]` as in the config file."""
        return {"backend": "model", "model": f"openai:{model}", "base_url": self.base_url, "api_key": self.key}


@asynccontextmanager
async def provider() -> AsyncIterator[Provider]:
    """Its replies are those of `tests.bench.double`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.double", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    url, key = [(await process.stdout.readline()).decode().strip() for _ in range(2)]
    made = Provider(url=url, key=key, pid=process.pid)
    try:
        yield made
    finally:
        process.stdin.close()
        made.late_s = float(await process.stdout.read())
        await process.wait()
