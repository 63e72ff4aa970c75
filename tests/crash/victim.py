"""The daemon that dies: `python -m tests.crash.victim POINT PASS ARMED run --config FILE --state DIR`.

It is the real one, killed at the fault point POINT, the PASS-th time that something new comes by there while the file
ARMED exists; the points are those of `tests.crash.points`. With `nowhere` it lives. Where `FRONTDESK_SHIFT` names a
file its clock can be set: see `tests.wire.shifted`. Where `FRONTDESK_UNPACED` is set it sends as fast as it can: see
`tests.wire.unpaced`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Hashable, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Final

from core.cli import app
from core.faultpoints import on_faultpoint
from core.main import Wiring
from tests.crash.points import POINTS
from tests.wire.shifted import SHIFT, Shifted
from tests.wire.unpaced import UNPACED, unpaced
from tests.wire.wired import run

NOWHERE: Final = "nowhere"
WHILE_LOADING: Final = "sdk.awaited"
SDK: Final = "openai"
"""Imported in the middle of all that a model needs."""
PATIENCE_S: Final = 30.0


class Trap:
    """Counts what comes by at a point, each thing once, and kills at the PASS-th."""

    def __init__(self, point: str, armed: Path, fatal: int) -> None:
        self._name = point.partition(":")[0]
        self._which = POINTS[point]
        self._armed = armed
        self._fatal = fatal
        self._seen: set[Hashable] = set()

    def __call__(self, name: str, *things: object) -> None:
        if name != self._name or (thing := self._which(*things)) is None or not self._armed.exists():
            return
        self._seen.add(thing)
        if len(self._seen) >= self._fatal:
            die()


class Door(MetaPathFinder):
    """Whoever imports the SDK waits here for the first turn that needs it, and dies: the SDK is half imported."""

    def __init__(self, armed: Path) -> None:
        self._armed = armed
        self._asked = threading.Event()

    def __call__(self, name: str, *_: object) -> None:
        if name == WHILE_LOADING:
            self._asked.set()

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name == SDK and self._armed.exists() and self._asked.wait(PATIENCE_S):
            die()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    point, fatal, armed, *arguments = sys.argv[1:]
    if point == WHILE_LOADING:
        door = Door(Path(armed))
        sys.meta_path.insert(0, door)
        on_faultpoint(door)
    elif point != NOWHERE:
        on_faultpoint(Trap(point, Path(armed), int(fatal)))
    sys.argv = ["frontdesk", *arguments]
    if "run" in arguments and SHIFT in os.environ:
        run(Wiring(clock=Shifted()))
    elif "run" in arguments and UNPACED in os.environ:
        run(Wiring(open_bot=unpaced))
    else:
        app.main()


if __name__ == "__main__":
    main()
