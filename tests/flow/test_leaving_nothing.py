"""What a turn leaves behind is freed when it ends, and does not wait for the garbage collector, which under load comes
late."""

from __future__ import annotations

import gc
from collections import Counter

from tests.flow.bot import GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import House


async def _left(house: House) -> Counter[str]:
    """Objects of ours that only the collector would have freed, after some turns."""
    await house.say("warm up", user="50")
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for user in ("51", "52", "53"):
            await house.say("hello", user=user)
            await house.say("/reset", user=user)
            await house.say("hello again", user=user)
        await house.idle()
        gc.collect()
        return Counter(type(one).__name__ for one in gc.garbage if type(one).__module__.startswith(("core.", "bots.")))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


async def test_a_turn_is_freed_when_it_ends(house: House) -> None:
    assert await _left(house) == {}


async def test_so_is_one_whose_answer_grew(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    house.stage.on("hello", house.stage.waits(before=("word ",)))
    house.stage.gate().set()
    assert await _left(house) == {}
