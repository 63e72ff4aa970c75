"""Hands: how much is done at once, and whose turn it is."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from core.desk.hands import Hands


class Works:
    """Pieces of work that end when a test says so. `doing` names those that have a hand, in the order they got it."""

    def __init__(self, *limits: int) -> None:
        self.hands = Hands(*limits)
        self.doing: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self._ends: dict[str, asyncio.Event] = {}

    async def want(self, name: str, *whose: str) -> None:
        self._ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._work(name, *whose))
        await self._settled()

    async def _work(self, name: str, *whose: str) -> None:
        async with self.hands.free(*whose):
            self.doing.append(name)
            try:
                await self._ends[name].wait()
            finally:
                self.doing.remove(name)

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self._settled()

    async def cancel(self, *names: str) -> None:
        for name in names:
            self.tasks[name].cancel()
        await self._settled()

    async def close(self) -> None:
        await self.cancel(*self.tasks)
        assert self.doing == []
        assert (self.hands._busy, self.hands._waiting) == ({}, {})

    async def _settled(self) -> None:
        for _ in range(6):
            await asyncio.sleep(0)


async def test_each_level_has_its_limit() -> None:
    works = Works(5, 3, 2)
    for number in range(3):
        await works.want(f"a1-{number}", "a", "1")
    for number in range(2):
        await works.want(f"a2-{number}", "a", "2")
    for number in range(3):
        await works.want(f"b1-{number}", "b", "1")
    assert works.doing == ["a1-0", "a1-1", "a2-0", "b1-0", "b1-1"]
    await works.close()


async def test_who_holds_all_that_it_may_holds_up_nobody_else() -> None:
    works = Works(4, 2)
    for number in range(10):
        await works.want(f"hog {number}", "hog")
    await works.want("other", "other")
    assert works.doing == ["hog 0", "hog 1", "other"]
    await works.close()


async def test_a_free_hand_goes_to_whoever_has_the_fewest_and_then_in_turn() -> None:
    works = Works(2, 2)
    for number in range(4):
        await works.want(f"hog {number}", "hog")
    await works.want("b 0", "b")
    await works.want("b 1", "b")
    await works.want("c 0", "c")
    await works.end("hog 0")
    assert works.doing == ["hog 1", "b 0"]
    await works.end("hog 1")
    assert works.doing == ["b 0", "hog 2"]
    await works.end("hog 2")
    assert works.doing == ["b 0", "c 0"]
    await works.end("c 0")
    assert works.doing == ["b 0", "hog 3"]
    await works.close()


async def test_of_two_that_have_as_many_whoever_waits_longest_gets_it() -> None:
    works = Works(3, 3)
    for name, whose in (("hog 0", "hog"), ("hog 1", "hog"), ("b 0", "b"), ("b 1", "b"), ("hog 2", "hog")):
        await works.want(name, whose)
    await works.end("hog 0")
    assert works.doing == ["hog 1", "b 0", "b 1"]
    await works.close()


async def test_who_gives_up_waiting_takes_no_hand_and_who_gives_up_working_gives_it_back() -> None:
    works = Works(1, 1)
    for name in "abc":
        await works.want(name, name)
    await works.cancel("b")
    await works.cancel("a")
    assert works.doing == ["c"]
    await works.close()


async def test_who_gives_up_as_a_hand_becomes_free_passes_it_on() -> None:
    works = Works(1, 1)
    for name in "abc":
        await works.want(name, name)
    works._ends["a"].set()
    await asyncio.sleep(0)  # a's hand has gone to b, whose task does not run yet
    await works.cancel("b")
    assert works.doing == ["c"]
    await works.close()


@given(
    st.lists(
        st.tuples(st.sampled_from(["want", "end", "cancel"]), st.integers(0, 2), st.integers(0, 2)), max_size=40
    )
)  # fmt: skip
def test_whatever_happens_no_limit_is_passed_and_no_hand_is_idle_while_somebody_may_have_it(
    steps: list[tuple[str, int, int]],
) -> None:
    async def play() -> None:
        works = Works(4, 3, 2)
        for number, (what, outer, inner) in enumerate(steps):
            if what == "want":
                await works.want(f"{outer}{inner}{number}", str(outer), str(inner))
            elif what == "end" and works.doing:
                await works.end(works.doing[(outer + inner) % len(works.doing)])
            elif what == "cancel" and (left := [name for name, task in works.tasks.items() if not task.done()]):
                await works.cancel(left[(outer * 3 + inner) % len(left)])
            busy = works.doing
            assert len(busy) <= 4
            free = [f"{a}{b}" for a in range(3) for b in range(3) if _may(busy, str(a), str(b))]
            waits = {name[:2] for name, task in works.tasks.items() if not task.done() and name not in busy}
            assert not waits & set(free)
        await works.close()

    asyncio.run(play())


def _may(busy: list[str], outer: str, inner: str) -> bool:
    of_outer = [name for name in busy if name[0] == outer]
    return len(busy) < 4 and len(of_outer) < 3 and sum(name[1] == inner for name in of_outer) < 2
