"""Faults of the store in the log: everybody who writes meets the same one, and it is told as one."""

from __future__ import annotations

import asyncio
import gc
import threading

import structlog

from core.errors import FenceLost
from core.service.schedule import _guarded
from core.store.sql import Tx
from tests.flow.bot import Fault
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


async def test_c57_a_fault_in_a_bot_that_is_to_tell_of_a_full_disk_harms_nobody(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    slow = await house.say("slow")
    house.store.full = True
    house.bot.fail("7", Fault(error=ZeroDivisionError("bug")))  # type: ignore[arg-type]
    house.stage.gate().set()
    await house.advance(5)
    house.store.full = False
    await house.advance(5)
    assert await house.fate(slow) == "answered"
    assert house.seen() == ["done"]


async def test_a_unit_that_fails_when_its_caller_has_left_is_no_trouble(house: House) -> None:
    troubles: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: troubles.append(context))
    left = threading.Event()

    def unit(tx: Tx) -> None:
        left.wait(10)
        raise FenceLost("somebody else's")

    async def leave() -> None:
        asking = asyncio.create_task(house.store.write(unit))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait({asking})

    await leave()
    left.set()
    for _ in range(2):  # the second one: the writer's thread lets go of what it did last
        await house.store.write(lambda tx: None)
    gc.collect()
    assert troubles == []
