"""Commands in a tenth of the time: a process that has imported everything forks each one.

Importing is what a start costs, and the suite starts a thousand. What is forked then runs `tests.crash.victim` like
any other process: its own arguments, environment, files and threads; kill -9 ends it alone. `tests/wire/
test_daemon_starts.py` and its like start the installed command from nothing.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NoReturn, Self

import core.main  # noqa: F401  # for the forked ones
from tests.crash import victim

ROOT: Final = Path(__file__).parents[2]

WARM: Final = (
    "core.agents.engine", "core.agents.tool_server", "pydantic_ai.models.openai", "pydantic_ai.providers.openai",
    "openai.resources.chat.completions", "genai_prices.data", "httpcore", "anyio._backends._asyncio",
)  # fmt: skip
"""What a first request finds imported."""
BOTS: Final = ("bots.telegram.bot", "bots.discord.bot", "bots.slack.bot")
"""What a first connection finds imported."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be run, and where its output goes. `terminal`: where it sits instead, with keys that end it."""

    argv: Sequence[str]
    environ: Mapping[str, str]
    cwd: str
    stdout: str = ""
    stderr: str = ""
    terminal: str = ""


class Child:
    """A forked daemon, with what is used of `subprocess.Popen`."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self.pid = pid
        self._nursery = nursery
        self._handle = os.pidfd_open(pid)
        self._code: int | None = None

    def poll(self) -> int | None:
        return self._look(0.0)

    def wait(self, timeout: float) -> int:
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("tests.crash.victim", timeout)
        return code

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            signal.pidfd_send_signal(self._handle, number)

    def _look(self, timeout_s: float) -> int | None:
        if self._code is None:
            ended, _, _ = select.select([self._handle], [], [], timeout_s)
            if ended:
                self._code = self._nursery.ask({"reap": self.pid})
                os.close(self._handle)
        return self._code


class Nursery:
    """The other end: `with Nursery() as nursery: child = nursery.bear(order)`."""

    def __init__(self, *modules: str) -> None:
        """`modules`: what the forked ones find imported besides what every start imports."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.nursery", *modules],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10.0)

    def bear(self, order: Order) -> Child:
        return Child(self, self.ask({"bear": vars(order)}))

    def ask(self, question: Mapping[str, object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@cache
def shared() -> Nursery:
    """The one of this test process, with all SDKs imported. It ends with the test process."""
    made = Nursery(*WARM, *BOTS)
    atexit.register(made.__exit__)
    return made


def main() -> None:
    """Until the end of the questions; who asked may have been killed, so nobody is left behind."""
    for module in sys.argv[1:]:
        importlib.import_module(module)
    gc.freeze()
    alive: set[int] = set()
    for line in sys.stdin.buffer:
        question = json.loads(line)
        if "reap" in question:
            pid, status = os.waitpid(question["reap"], 0)
            alive.discard(pid)
            answer = os.waitstatus_to_exitcode(status)
        elif not (answer := os.fork()):
            _become(Order(**question["bear"]))
        else:
            alive.add(answer)
        print(answer, flush=True)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)


def _become(order: Order) -> NoReturn:
    """Never returns: whatever happens ends the process, as the interpreter would."""
    code = 1
    try:
        if order.terminal:
            _sit_down(order.terminal)
        else:
            _redirect(order.stdout, order.stderr)
        os.closerange(3, 20)
        os.chdir(order.cwd)
        os.environ.clear()
        os.environ.update(order.environ)
        time.tzset()
        sys.argv = ["victim", *order.argv]
        victim.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:  # noqa: BLE001  # the process's own boundary
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _redirect(stdout: str, stderr: str) -> None:
    written = os.O_WRONLY | os.O_CREAT
    for number, (path, flags) in enumerate([(os.devnull, os.O_RDONLY), (stdout, written), (stderr, written)]):
        os.dup2(os.open(path, flags, 0o600), number)


def _sit_down(terminal: str) -> None:
    """Whoever has no terminal gets the first one that it opens, and with it the signals of its keys."""
    os.setsid()
    opened = os.open(terminal, os.O_RDWR)
    for number in range(3):
        os.dup2(opened, number)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))


if __name__ == "__main__":
    main()
