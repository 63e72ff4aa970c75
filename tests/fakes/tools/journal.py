"""Reading what a tool server was asked and did, and the command that starts one."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.fakes.tools.recorder import JsonObject

SERVER = Path(__file__).with_name("server.py")
LOOK_S = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    pid: int
    at: float
    """Seconds since the epoch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Started(Record):
    """A process started; with `--fail-start` it may be one that ends at once."""

    arguments: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened(Record):
    """A client initialized a session."""

    session: str
    """Empty over stdio."""
    version: str
    """The protocol version agreed on."""
    client: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Called(Record):
    """A tool is about to run."""

    session: str
    call: str
    """The request's id, unique within its session."""
    tool: str
    arguments: JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered(Record):
    """A tool has run; its answer is about to be sent."""

    session: str
    call: str
    tool: str
    text: str
    """Of its first block, 200 characters at most."""
    is_error: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Cancelled(Record):
    """`notifications/cancelled` came for a call that was running."""

    session: str
    call: str
    tool: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Deleted(Record):
    """`delete_everything` ran."""

    what: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Exited(Record):
    """The process is about to exit by itself. One that is killed writes nothing."""

    code: int
    why: str


Kind = TypeVar("Kind", bound=Record)
KINDS: dict[str, type[Record]] = {
    kind.__name__.lower(): kind for kind in (Started, Opened, Called, Answered, Cancelled, Deleted, Exited)
}


class Journal:
    """The file given as `--journal`; it need not be there yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def records(self) -> tuple[Record, ...]:
        """Everything, in the order it was written."""
        if not self.path.exists():
            return ()
        lines = self.path.read_text(encoding="utf-8").split("\n")[:-1]
        return tuple(_record(json.loads(line)) for line in lines)

    def of(self, kind: type[Kind]) -> tuple[Kind, ...]:
        return tuple(record for record in self.records if isinstance(record, kind))

    def calls(self, tool: str | None = None) -> tuple[Called, ...]:
        return tuple(call for call in self.of(Called) if tool in (None, call.tool))

    async def until(self, holds: Callable[[Journal], bool], *, timeout_s: float = 30.0) -> None:
        """Returns when the condition holds; the file is looked at every 10 ms. `TimeoutError` after real seconds."""
        async with asyncio.timeout(timeout_s):
            while True:
                if holds(self):
                    return
                await asyncio.sleep(LOOK_S)

    def wait_until(self, holds: Callable[[Journal], bool], *, timeout_s: float = 30.0) -> None:
        """`until` for tests without an event loop."""
        deadline = time.monotonic() + timeout_s
        while not holds(self):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the condition did not hold within {timeout_s} s: {self.records}")
            time.sleep(LOOK_S)


def _record(facts: dict[str, Any]) -> Record:
    """The server writes the fields of a class by their names."""
    kind = KINDS[facts.pop("kind")]
    if kind is Started:
        facts["arguments"] = tuple(facts["arguments"])
    return kind(**facts)


def command_line(journal: Path | None = None, *options: str) -> list[str]:
    """The command that starts the server over stdio from any folder and environment. It answers after 40 ms.

    `-I -S`: it uses nothing but the standard library, and looks at no PYTHON* variable.
    """
    journalling = [] if journal is None else ["--journal", str(journal)]
    return [sys.executable, "-I", "-S", str(SERVER), "stdio", *journalling, *options]
