"""The daemon as a process: start to ready, memory when idle, and how it ends."""

from __future__ import annotations

import asyncio
import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.house import new_state
from tests.fakes.telegram.server import ThreadedTelegramServer

FRONTDESK = Path(sys.executable).with_name("frontdesk")
STARTS = 5
IDLE_S = 2.0
IMPORTS = "import telegram, sqlalchemy, pysqlite3, pydantic, typer, structlog, apscheduler.schedulers.asyncio"


class Running:
    """One daemon with one Telegram bot. `command` runs it."""

    def __init__(self, config: Path, state: Path, command: Sequence[str | Path] = (FRONTDESK,)) -> None:
        began = time.perf_counter()
        self._process = subprocess.Popen(
            [*command, "run", "--config", config, "--state", state],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        while json.loads(self._process.stderr.readline())["event"] != "ready":
            pass
        self.ready_s = time.perf_counter() - began

    def said(self) -> str:
        """The next line of its stdout."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def resident_mib(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024

    def end(self) -> float:
        """Seconds from SIGTERM to a good end."""
        began = time.perf_counter()
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=30)
        assert self._process.returncode == 0
        return time.perf_counter() - began


def secret(folder: Path, name: str, value: str) -> str:
    """As a config file names it: the secret itself is in a file of its own."""
    file = folder / name
    file.write_text(value, encoding="utf-8")
    file.chmod(0o600)
    return f"file:{file}"


def telegram(server: ThreadedTelegramServer, folder: Path) -> str:
    """The bot in a config file."""
    token = secret(folder, "token", server.token)
    return f'[bots.telegram]\ntoken = "{token}"\napi_base = "{server.url}"\n'


def bare_s() -> float:
    """The interpreter and the libraries alone."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
    return time.perf_counter() - began


async def measure() -> list[Figure]:
    firsts, seconds, ends, bare, resident = [], [], [], [], []
    with ThreadedTelegramServer(limits=None) as server:
        for number in range(STARTS + 1):
            async with new_state() as folder:
                config, state = folder / "frontdesk.toml", folder / "state"
                config.write_text(telegram(server, folder))
                first = Running(config, state)
                await asyncio.sleep(0.2)
                first.end()
                second = Running(config, state)
                await asyncio.sleep(IDLE_S if number == 0 else 0.2)
                resident.append(second.resident_mib())
                ends.append(second.end())
                bare.append(bare_s())
                firsts.append(first.ready_s)
                seconds.append(second.ready_s)
    alone = statistics.median(bare[1:])
    return [
        Figure(
            what="start to ready, one bot, second start (bare: its libraries imported)",
            value=statistics.median(seconds[1:]),
            unit="s",
            budget=1.0,
            bare=alone,
        ),
        Figure(
            what="start to ready, first start, empty database",
            value=statistics.median(firsts[1:]),
            unit="s",
            budget=2.0,
            bare=alone,
        ),
        Figure(what="resident memory, one bot, idle", value=max(resident), unit="MiB", budget=110),
        Figure(what="SIGTERM with nothing running to exit 0", value=statistics.median(ends), unit="s", budget=1.0),
    ]
