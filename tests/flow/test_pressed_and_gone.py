"""What buttons, drafts and signs leave behind is freed when they are done with, not when the collector comes."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Awaitable, Callable

from core.errors import FloodWait, NotSent, Rejected
from tests.flow.bot import Fault
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, HOUR, House
from tests.flow.pressing_bot import DRAFTING, ButtonBot, WorkingBot, button_bot, press
from tests.flow.test_consent import Paying
from tests.flow.test_growing import grow, growing
from tests.flow.test_moving import move

STOPPED = "core/desk/turn.py RunningTurn._task: a cancelled task holds its frame, and so the turn that holds the task"
DRAFTED = "core/delivery/preview.py close: the task of a draft is cancelled, holds its frame, and so the preview"

Episode = Callable[[House, str], Awaitable[None]]


async def left(house: House, episode: Episode) -> Counter[str]:
    """Objects of ours that only the collector would have freed, after the same thing happened to three people."""
    await episode(house, "50")
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for user in ("51", "52", "53"):
            await episode(house, user)
        await house.idle()
        gc.collect()
        return Counter(type(one).__name__ for one in gc.garbage if type(one).__module__.startswith(("core.", "bots.")))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def all_gates(house: House, *, set_: bool) -> None:
    for word in range(10):
        gate = house.stage.gate(f"{word}")
        if set_:
            gate.set()
        else:
            gate.clear()


async def test_an_answer_that_was_stopped_by_its_button(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), bots={"main": {"stop_button": True}})
    house.stage.on("slow", house.stage.waits(before=("word ",)))

    async def episode(house: House, user: str) -> None:
        await house.say("slow", user=user)
        await house.advance(1)
        await press(house, button_bot(house).button("Stop", user), user=user)
        await house.advance(2)
        assert house.seen(user)[-1] == "Stopped."

    assert await left(house, episode) == {}


async def test_an_answer_that_kept_its_button_to_its_end(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), bots={"main": {"stop_button": True}})
    await growing(house)

    async def episode(house: House, user: str) -> None:
        all_gates(house, set_=False)
        await house.say("grow", user=user)
        await grow(house, 10)
        await house.advance(3)
        assert button_bot(house).labels(user) == []

    assert await left(house, episode) == {}


async def test_questions_that_were_answered_and_pressed_too_late(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    house.stage.on("pay", Paying("a", "b"))

    async def episode(house: House, user: str) -> None:
        await house.say("please pay", user=user)
        data = [one.data for one in button_bot(house).buttons(user)]
        for one in (data[0], data[1], data[3], "nonsense"):
            await press(house, one, user=user)
        assert "Denied." in house.seen(user)[-2:] or "paid a" in house.seen(user)[-1]

    assert await left(house, episode) == {}


async def test_a_session_that_was_brought_back(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), session={"reset": {"mode": "idle", "idle_minutes": 60}})

    async def episode(house: House, user: str) -> None:
        await house.say("before", user=user)
        await house.advance(2 * HOUR.total_seconds())
        await house.say("after", user=user)
        await press(house, button_bot(house).button("Resume", user), user=user)

    assert await left(house, episode) == {}


async def test_drafts(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(capabilities=DRAFTING))
    await growing(house)

    async def episode(house: House, user: str) -> None:
        all_gates(house, set_=False)
        await house.say("grow", user=user)
        await grow(house, 10)
        await house.advance(5)
        assert len(house.seen(user)) == 1

    assert await left(house, episode) == {}


async def test_drafts_that_failed(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(capabilities=DRAFTING))
    await growing(house)

    async def episode(house: House, user: str) -> None:
        all_gates(house, set_=False)
        errors = (NotSent("x"), FloodWait(1), Rejected("x"))
        button_bot(house).draft_faults.extend(Fault(error=error) for error in errors)
        await house.say("grow", user=user)
        await grow(house, 10)
        await house.advance(5)
        assert len(house.seen(user)) == 1

    assert await left(house, episode) == {}


async def test_drafts_that_were_stopped(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(capabilities=DRAFTING))
    await growing(house)

    async def episode(house: House, user: str) -> None:
        all_gates(house, set_=False)
        await house.say("grow", user=user)
        await grow(house, 3)
        await house.say("/stop", user=user)
        await house.advance(3)
        assert house.seen(user) == ["Stopped."]

    assert await left(house, episode) == {}


async def test_reactions_signs_and_moved_chats(furnish: Furnish) -> None:
    house = await furnish(
        WorkingBot(),
        bots={"main": {"reaction": "\U0001f440", "groups": [int(f"{GROUP}{user}") for user in range(50, 54)]}},
    )

    async def episode(house: House, user: str) -> None:
        button_bot(house).answer_faults.append(NotSent("x"))
        await house.say_in_group("hello", user=user, chat=f"{GROUP}{user}")
        await move(house, f"{GROUP}{user}", f"-9{user}")
        await house.say_in_group("hello", user=user, chat=f"-9{user}")
        assert house.seen(f"-9{user}") == ["re: hello"]

    assert await left(house, episode) == {}
