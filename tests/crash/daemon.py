"""The real daemon as a child process, and its store as another process may read it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, Self

from core.errors import NotRunning, VerbFailed
from core.service.socket import SOCKET_NAME, Json
from core.service.socket_client import ask
from core.store.open import database_at
from core.store.sql import Tx
from tests.crash.nursery import Nursery, Order, shared
from tests.secrets import shown_in

ROOT: Final = Path(__file__).parents[2]
FRONTDESK: Final = (str(Path(sys.executable).with_name("frontdesk")),)
"""The installed command, for what is about its start; everything else is forked from the nursery."""
UNHARMED: Final = ("nowhere", "1", "unarmed")
"""`tests.crash.victim` as the plain command."""
PATIENCE_S: Final = 60.0
"""For anything that a daemon does by itself, on a busy machine."""
LOOK_S: Final = (0.01, 0.1)
"""Between two looks at another process's state: at first, and at last, since each look costs processor time."""
ANY_PORT: Final = "\n[listen]\nport = 0\n"
"""Many daemons run side by side."""


def until(holds: Callable[[], bool], what: str, *, timeout_s: float = PATIENCE_S) -> None:
    """Look at another process's state until it is so. `TimeoutError` with words."""
    deadline = time.monotonic() + timeout_s
    pause, (look_s, longest_s) = threading.Event(), LOOK_S
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout_s} s: {what}")
        pause.wait(look_s)
        look_s = min(1.2 * look_s, longest_s)


def called(arguments: Sequence[str], environ: Mapping[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """`frontdesk ARGUMENTS`, forked, to its end, with nothing to read on its standard input."""
    with tempfile.TemporaryDirectory() as made:
        out, err = Path(made, "out"), Path(made, "err")
        order = Order(
            argv=[*UNHARMED, *arguments], environ=environ, cwd=str(cwd), stdout=str(out), stderr=str(err)
        )  # fmt: skip
        code = shared().bear(order).wait(2 * PATIENCE_S)
        return subprocess.CompletedProcess(list(arguments), code, out.read_text("utf-8"), err.read_text("utf-8"))


class Process(Protocol):
    """What is used of `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float) -> int: ...
    def kill(self) -> None: ...
    def terminate(self) -> None: ...
    def send_signal(self, number: signal.Signals, /) -> None: ...


@dataclass
class Daemon:
    """One desk in `home`: its config, its state, and the process that runs it, if one does."""

    home: Path
    config: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    process: Process | None = None
    starts: int = 0

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        if self.config:
            listens = "" if "[listen]" in self.config else ANY_PORT
            self.config_file.write_text(self.config + listens, encoding="utf-8")
            self.config_file.chmod(0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        assert not (shown := shown_in(self.everything_written)), shown

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def config_file(self) -> Path:
        return self.home / "frontdesk.toml"

    @property
    def output_file(self) -> Path:
        return self.home / f"stdout-{self.starts}"

    @property
    def log_file(self) -> Path:
        """What the process that was started last wrote on its standard error."""
        return self.home / f"stderr-{self.starts}"

    @property
    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8")

    @property
    def everything_written(self) -> str:
        """All that any of the processes wrote on standard output or error."""
        return "".join(path.read_text(encoding="utf-8") for path in sorted(self.home.glob("std*-*")))

    @property
    def arguments(self) -> list[str]:
        config = ["--config", str(self.config_file)] if self.config else []
        return [*config, "--state", str(self.state)]

    @property
    def environment(self) -> dict[str, str]:
        plain = {"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
        return {**plain, **self.environ}

    def start(self, *command: str) -> Process:
        """`frontdesk run`, forked; or another command with the same arguments, from nothing."""
        if not command:
            return self.start_in(shared(), *UNHARMED)
        self.starts += 1
        with open(self.output_file, "wb") as out, open(self.log_file, "wb") as err:
            self.process = subprocess.Popen(
                [*command, "run", *self.arguments],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.environment, cwd=self.home,
            )  # fmt: skip
        return self.process

    def start_in(self, nursery: Nursery, *arguments: str) -> Process:
        """The same, forked; the arguments are those of `tests.crash.victim` before `run`."""
        self.starts += 1
        self.process = nursery.bear(
            Order(
                argv=[*arguments, "run", *self.arguments],
                environ=self.environment,
                cwd=str(self.home),
                stdout=str(self.output_file),
                stderr=str(self.log_file),
            )
        )
        return self.process

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another verb of the command line, to its end."""
        return called([*arguments, *self.arguments], self.environment, self.home)

    def json(self, *arguments: str) -> object:
        done = self.call(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        found: object = json.loads(done.stdout)
        return found

    def wait_death(self) -> None:
        """It has killed itself."""
        assert self.wait_exit() == -signal.SIGKILL, self.log[-3000:]

    def wait_exit(self, timeout_s: float = PATIENCE_S) -> int:
        assert self.process is not None
        return self.process.wait(timeout_s)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE_S)
            self.process = None

    def terminate(self) -> None:
        assert self.process is not None
        self.process.terminate()

    @property
    def lives(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def status(self) -> Mapping[str, Json]:
        """As the socket tells it; empty while nobody answers there."""
        try:
            found = asyncio.run(ask(self.state / SOCKET_NAME, "status", {}))
        except (NotRunning, VerbFailed):
            return {}
        assert isinstance(found, Mapping)
        return found

    def bot(self, name: str = "telegram") -> Mapping[str, Json]:
        bots = self.status().get("bots", ())
        assert isinstance(bots, list | tuple)
        return next((bot for bot in bots if isinstance(bot, Mapping) and bot["name"] == name), {})

    def until_ready(self) -> None:
        def ready() -> bool:
            assert self.lives, f"the daemon has ended: {self.log[-3000:]}"
            return self.status().get("ready") is True

        until(ready, "ready")

    def until_logged(self, words: str) -> None:
        until(lambda: words in self.log, f"{words} in the log")

    def until_bot(self, state: str, name: str = "telegram", *, timeout_s: float = PATIENCE_S) -> Mapping[str, Json]:
        until(lambda: self.bot(name).get("state") == state, f"{name} is {state}", timeout_s=timeout_s)
        return self.bot(name)

    @contextmanager
    def reading(self) -> Iterator[Tx]:
        """A snapshot of the store, beside whoever runs on it."""
        database = database_at(self.url, self.state)
        connection = database.connect(readonly=True)
        try:
            cursor = connection.cursor()
            database.begin(cursor, readonly=True)
            yield Tx(cursor, database.dialect)
            connection.rollback()
        finally:
            connection.close()
