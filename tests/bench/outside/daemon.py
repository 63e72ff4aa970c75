"""The installed daemon as a process: start to ready, processor, memory, commits."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.bench.outside.processes import cpu_s, resident_mib
from tests.bench.outside.wheel import Installed

READY_S = 60.0
END_S = 30.0
LOOK_S = 0.05
IMPORTED = re.compile(r"import time:\s+\d+ \|\s+\d+ \|\s+(\S+)")
"""A line of `python -X importtime`; a module comes after those that it imports."""
IMPORT_ALL = """
import contextlib, gc, importlib, sys
gc.disable()
for name in sys.stdin.read().split():
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
print(flush=True)
"""


UNLIMITED = "[access.guests]\nconversations_per_hour = 1_000_000\ntokens_per_day = 1_000_000_000\n"
"""Nobody of these keeps to what a guest may."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Commits:
    """`units` of work were stored in `commits`; both since the daemon started."""

    commits: float
    units: float


@dataclass
class Daemon:
    """`with Daemon(...) as daemon`: runs from ready to the end of the block."""

    home: Path
    installed: Installed
    config: str
    """Without `[listen]`, which is written here."""
    options: Sequence[str] = ()
    """Of the interpreter."""
    modules: list[str] = field(default_factory=list)
    """What `-X importtime` told of until the daemon was ready."""

    def __enter__(self) -> Self:
        self._port = _free_port()
        more = f'[access]\ndirect = "open"\n\n{UNLIMITED}\n[listen]\nport = {self._port}\n'
        file = self.home / "frontdesk.toml"
        file.write_text(f"{self.config}\n{more}", encoding="utf-8")
        file.chmod(0o600)
        self._ready, self._ready_at, self._last = threading.Event(), 0.0, ""
        began = time.perf_counter()
        self._process = subprocess.Popen(
            [self.installed.python, *self.options, self.installed.frontdesk, "run",
             "--config", file, "--state", self.home / "state"],
            cwd=self.home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._ready.wait(READY_S) or not self._ready_at:
            self._process.kill()
            raise RuntimeError(f"the daemon did not become ready: {self._last}")
        self.ready_s = self._ready_at - began
        return self

    def __exit__(self, *_: object) -> None:
        began = time.perf_counter()
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(END_S)
        self.end_s = time.perf_counter() - began
        self._reader.join()
        assert code == 0, f"the daemon ended with {code}: {self._last}"

    def _read(self) -> None:
        """Its standard error, to the end."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if (imported := IMPORTED.match(line)) is not None:
                if not self._ready_at:
                    self.modules.append(imported[1])
            elif not self._ready_at and line.startswith("{") and json.loads(line)["event"] == "ready":
                self._ready_at = time.perf_counter()
                self._ready.set()
            else:
                self._last = line
        self._ready.set()

    @property
    def cpu_s(self) -> float:
        return cpu_s(self._process.pid)

    @property
    def resident_mib(self) -> float:
        return resident_mib(self._process.pid)

    def until_up(self) -> None:
        """Returns when every bot is connected: what is said before that, some platforms tell nobody."""
        deadline = time.monotonic() + READY_S
        while not all(bot["state"] == "up" for bot in self._bots()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"a bot did not connect: {self._bots()}")
            time.sleep(LOOK_S)

    def _bots(self) -> list[dict[str, str]]:
        """As `/readyz` says; one that is not up while nothing is served yet."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/readyz", timeout=10) as page:
                bots: list[dict[str, str]] = json.load(page)["bots"]
        except urllib.error.URLError:
            return [{"state": "unknown"}]
        return bots

    @property
    def commits(self) -> Commits:
        """As `/metrics` says."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=10) as page:
            said = dict(line.rsplit(" ", 1) for line in page.read().decode().splitlines() if not line.startswith("#"))
        return Commits(
            commits=float(said["frontdesk_commit_seconds_count"]), units=float(said["frontdesk_commit_units_sum"])
        )


def libraries(home: Path, installed: Installed, config: str) -> list[str]:
    """The modules that a start loads before it is ready and that are not ours, in the order in which they finish."""
    with Daemon(home, installed, config, options=("-X", "importtime")) as daemon:
        pass
    return [name for name in daemon.modules if name.partition(".")[0] not in {*installed.packages, "__main__"}]


def import_s(home: Path, installed: Installed, modules: Sequence[str]) -> float:
    """Seconds from the start of an interpreter until it has imported these, without garbage collection, as we do it."""
    began = time.perf_counter()
    with subprocess.Popen(
        [installed.python, "-c", IMPORT_ALL], cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as interpreter:
        assert interpreter.stdin is not None and interpreter.stdout is not None
        interpreter.stdin.write("\n".join(modules))
        interpreter.stdin.close()
        interpreter.stdout.readline()
        took_s = time.perf_counter() - began
    assert interpreter.returncode == 0
    return took_s


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
