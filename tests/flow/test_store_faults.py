"""Faults of the store in the log: everybody who writes meets the same one, and it is told as one."""

from __future__ import annotations

import structlog

from core.service.schedule import _guarded
from tests.flow.house import House


async def test_c57_a_fault_of_the_store_is_logged_once_at_growing_distances_and_when_it_is_over(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    for user in ("7", "8", "9"):
        await house.say("slow", user=user)
    house.store.full = True
    house.stage.gate().set()
    with structlog.testing.capture_logs() as logged:
        for _ in range(100):
            await house.advance(1)
            await _guarded(house.chores.index, house.core)
        told = [(one["event"], one["times"]) for one in logged if "store_fault" in one["event"]]
        assert len(told) == 2
        assert told[1][1] > 200, "three owners and a chore met it each second"
        house.store.full = False
        for _ in range(12):
            await house.advance(1)
            await _guarded(house.chores.index, house.core)
    (over,) = [one for one in logged if one["event"] == "store_fault_over"]
    assert (over["fault"], over["log_level"]) == ("StoreFull", "info")
    assert house.seen()[-1] == "done"
