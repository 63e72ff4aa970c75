"""What loading the model's SDK does to the main loop of a daemon that is ready already."""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from tests.bench.double import AT_ONCE
from tests.bench.figures import Figure
from tests.bench.house import new_state
from tests.bench.outside.rounds import config_of
from tests.bench.provider import provider
from tests.fakes.telegram.server import ThreadedTelegramServer

STARTS = 3
WATCHED = (sys.executable, "-m", "tests.bench.watched")
END_S = 30.0


def _watched(config: Path, state: Path) -> dict[str, float]:
    """What one daemon, watched, says of itself."""
    log = state.with_name("log")
    command: list[str | Path] = [*WATCHED, "run", "--config", config, "--state", state]
    with (
        log.open("w") as file,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=file, text=True) as daemon,
    ):
        assert daemon.stdout is not None
        line = daemon.stdout.readline()
        assert line, log.read_text(encoding="utf-8")[-3000:]
        report: dict[str, float] = json.loads(line)
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(END_S) == 0
    return report


async def measure() -> AsyncIterator[Figure]:
    with ThreadedTelegramServer(limits=None) as server:
        async with provider() as source, new_state() as folder:
            config = folder / "frontdesk.toml"
            table = f'platform = "telegram"\ntoken = "{server.token}"\napi_base = "{server.url}"\n'
            config.write_text(config_of([{"table": table}], source.agent(AT_ONCE)), encoding="utf-8")
            config.chmod(0o600)
            reports = [_watched(config, folder / "state") for _ in range(STARTS)]
    stalls = [report["stall_s"] for report in reports]
    loaded_s = statistics.median(report["loaded_s"] for report in reports)
    print(f"model_start: loaded in {loaded_s:.2f} s, stalls {stalls}", file=sys.stderr, flush=True)
    yield Figure(
        what="main loop's longest stall while the model's SDK is loaded, after ready",
        value=statistics.median(stalls) * 1000,
        unit="ms",
        budget=20,
    )
