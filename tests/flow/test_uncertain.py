"""A connection breaks during a commit that happened all the same: nobody hears of it, nothing is lost or doubled."""

from __future__ import annotations

from typing import TypeVar

import pytest

from core.errors import StoreError, StoreUncertain
from core.store.engine import Unit
from tests.flow.house import House

T = TypeVar("T")


def lose_the_answer_of(house: House, number: int) -> list[int]:
    """The unit of that number, from now on, is committed, and its caller is told that this is not certain."""
    write, seen = house.store.write, [0]

    async def unheard(unit: Unit[T]) -> T:
        result = await write(unit)
        seen[0] += 1
        if seen[0] == number:
            raise StoreUncertain("the connection broke during a commit, which may have happened")
        return result

    house.store.write = unheard  # type: ignore[method-assign]
    return seen


@pytest.mark.parametrize("number", range(1, 5))
async def test_one_message_is_answered_once_whichever_commit_is_not_heard_of(house: House, number: int) -> None:
    await house.say("before")
    seen = lose_the_answer_of(house, number)
    message = house.message("hello")
    for _ in range(2):  # a bot offers again what it was not told is stored
        try:
            await house.receive(message)
        except StoreError:
            continue
        break
    await house.idle()
    await house.advance(5)
    await house.advance(5)
    assert seen[0] >= number
    assert house.seen() == ["re: before", "re: hello"]
    assert [text for kind, text in await house.told() if kind == "user"] == ["before", "hello"]
    await house.sound()
    await house.say("after")
    assert house.seen()[-1] == "re: after"
