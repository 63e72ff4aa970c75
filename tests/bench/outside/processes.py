"""Processes that a benchmark starts: what each has used, and how one of the bench's own is told what to do."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
LONGEST_LINE = 1 << 24
ANSWER_S = 300.0
END_S = 20.0


def cpu_s(pid: int) -> float:
    """Processor time of all threads that the process has or had, user and system: proc_pid_stat(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def resident_mib(pid: int) -> float:
    """VmRSS: what the process holds in memory, shared libraries included."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


class Child:
    """One line of JSON in, one line of JSON out."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def cpu_s(self) -> float:
        return cpu_s(self._process.pid)

    async def ask(self, order: Mapping[str, object]) -> dict[str, Any]:
        """Send an order, return its answer. `RuntimeError` if the process ended instead."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        await self._process.stdin.drain()
        async with asyncio.timeout(ANSWER_S):
            line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process of the benchmark ended while it was asked for {order}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@asynccontextmanager
async def child(module: str, *arguments: str) -> AsyncIterator[Child]:
    """`python -m MODULE ARGUMENTS`, until the end of the block; its standard error is ours."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LONGEST_LINE,
    )  # fmt: skip
    try:
        yield Child(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), END_S)
        except TimeoutError:
            process.kill()
            await process.wait()
