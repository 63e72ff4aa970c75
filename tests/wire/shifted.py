"""The daemon whose wall clock can be set: `FRONTDESK_SHIFT=FILE python -m tests.wire.shifted run ...`.

It is the real one, with a clock that is ahead of the machine's by the seconds that FILE holds at the moment. So is the
scheduler's, which is told of no clock and reads the machine's. The steady clock is the machine's, as after a real
change of the time.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final, Self

import apscheduler.schedulers.base
import apscheduler.triggers.interval

from core.clock import SystemClock
from core.main import Wiring
from tests.wire.wired import run

SHIFT: Final = "FRONTDESK_SHIFT"
WATCH_S: Final = 0.2
"""How often the daemon looks at its clock, so that no test has to wait for half a minute."""


def _shift() -> timedelta:
    return timedelta(seconds=float(Path(os.environ[SHIFT]).read_text(encoding="ascii")))


class Shifted(SystemClock):
    def now(self) -> datetime:
        return datetime.now(UTC) + _shift()


class ShiftedDatetime(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) + _shift()


def main() -> None:
    for library in (apscheduler.schedulers.base, apscheduler.triggers.interval):
        library.datetime = ShiftedDatetime
    run(Wiring(clock=Shifted(), watch_s=WATCH_S))


if __name__ == "__main__":
    main()
