"""The daemon whose wall clock can be set: `FRONTDESK_SHIFT=FILE python -m tests.wire.shifted run ...`.

It is the real one; the clock that its composition root makes, and the scheduler's, are ahead of the machine's by the
seconds that FILE holds at the moment. Its steady clock is the machine's, as after a real change of the time. Nothing in
the product knows of this.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final, Self

import apscheduler.schedulers.base
import apscheduler.triggers.interval

import core.main
from core.cli import app
from core.clock import SystemClock
from core.service import schedule
from tests.crash.victim import replace

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
    replace(core.main, "SystemClock", Shifted)
    replace(apscheduler.schedulers.base, "datetime", ShiftedDatetime)
    replace(apscheduler.triggers.interval, "datetime", ShiftedDatetime)
    replace(schedule, "WATCH_S", WATCH_S)
    app.main()


if __name__ == "__main__":
    main()
