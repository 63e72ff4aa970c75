"""A daemon with a model agent: start to ready, what loading the model's SDK does to the main loop, and memory."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
from pathlib import Path

from tests.bench.double import ANSWER, AT_ONCE
from tests.bench.figures import Figure
from tests.bench.house import new_state
from tests.bench.provider import Provider, provider
from tests.bench.start import FRONTDESK, IDLE_S, Running, bare_s, secret, telegram
from tests.fakes.telegram.server import ThreadedTelegramServer

STARTS = 4
WATCHED = (sys.executable, "-m", "tests.bench.watched")


def _config(server: ThreadedTelegramServer, source: Provider, folder: Path) -> str:
    table = {**source.agent(AT_ONCE), "api_key": secret(folder, "key", source.key)}
    agent = "\n".join(f"{name} = {json.dumps(value)}" for name, value in table.items())
    return f"{telegram(server, folder)}\n[agents.default]\n{agent}\n"


def _ask(config: Path, state: Path) -> None:
    """One turn over the daemon's socket."""
    asked: list[str | Path] = [FRONTDESK, "chat", "--config", config, "--state", state]
    answered = subprocess.run(asked, input="hello\n", capture_output=True, text=True, timeout=30, check=True)
    assert ANSWER in answered.stdout, answered


async def measure() -> list[Figure]:
    ready, bare, stalls, loaded = [], [], [], []
    with ThreadedTelegramServer(limits=None) as server:
        async with provider() as source, new_state() as folder:
            config, state = folder / "frontdesk.toml", folder / "state"
            config.write_text(_config(server, source, folder), encoding="utf-8")
            Running(config, state).end()
            for _ in range(STARTS):
                second = Running(config, state)
                ready.append(second.ready_s)
                second.end()
                bare.append(bare_s())
            for _ in range(STARTS):
                watched = Running(config, state, WATCHED)
                report = json.loads(await asyncio.to_thread(watched.said))
                watched.end()
                stalls.append(report["stall_s"])
                loaded.append(report["loaded_s"])
            last = Running(config, state)
            await asyncio.to_thread(_ask, config, state)
            await asyncio.sleep(IDLE_S)
            resident = last.resident_mib()
            last.end()
    print(f"model_start: loaded in {statistics.median(loaded):.2f} s, stalls {stalls}", file=sys.stderr, flush=True)
    return [
        Figure(
            what="start to ready with a model agent, second start (bare: libraries without the model's)",
            value=statistics.median(ready),
            unit="s",
            budget=1.0,
            bare=statistics.median(bare),
        ),
        Figure(
            what="main loop's longest stall while the model's SDK is loaded, after ready",
            value=statistics.median(stalls) * 1000,
            unit="ms",
            budget=20,
        ),
        Figure(what="resident memory, one bot and one model in use, idle", value=resident, unit="MiB", budget=160),
    ]
