"""Old sessions are deleted whole, never one in use, and never on the word of a clock that jumped."""

from __future__ import annotations

import pytest
import structlog

from core.service import retention
from core.store import checks
from tests.flow.conftest import Furnish
from tests.flow.house import DAY, House

DAY_S = 86_400.0
KEEP_A_WEEK = {"retention": {"days": 7}, "session": {"reset": {"mode": "none"}}}


async def live(house: House, days: int) -> None:
    """Days on which the desk runs: its heart beats all the time."""
    for _ in range(days):
        await house.clock.leap(DAY_S)
        await house.chores.heartbeat()


async def test_an_old_session_goes_whole_and_the_current_one_stays(furnish: Furnish) -> None:
    house = await furnish(**KEEP_A_WEEK)
    await house.chores.heartbeat()
    await house.say("first")
    old = await house.session()
    await house.say("/reset")
    await house.say("second")
    await live(house, 10)
    kept = await house.sessions()
    assert old.id not in [session.id for session in kept]
    assert [session.title for session in kept] == ["second"]
    assert await house.store.read(checks.check) == []


async def test_every_batch_leaves_an_audit_line_with_what_went_and_from_when(
    furnish: Furnish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    house = await furnish(**KEEP_A_WEEK)
    await house.chores.heartbeat()
    old = []
    for _ in range(3):
        await house.say("secret words")
        old.append(await house.session())
        await house.say("/reset")
        await house.clock.leap(60.0)
    with structlog.testing.capture_logs() as logs:
        await live(house, 10)
    lines = [line for line in logs if line["event"] == "sessions_deleted"]
    assert [line["count"] for line in lines] == [2, 1]
    assert [one for line in lines for one in line["sessions"]] == [session.id for session in old]
    assert lines[0]["oldest"] < lines[0]["newest"] < lines[1]["oldest"] == lines[1]["newest"]
    assert "secret" not in str(logs)


async def test_a_session_that_was_used_lately_stays(furnish: Furnish) -> None:
    house = await furnish(**KEEP_A_WEEK)
    await house.chores.heartbeat()
    await house.say("first")
    await house.say("/reset")
    await live(house, 6)
    assert len(await house.sessions()) == 2


async def test_without_the_option_nothing_is_ever_deleted(furnish: Furnish) -> None:
    house = await furnish(session={"reset": {"mode": "none"}})
    await house.say("first")
    await house.say("/reset")
    await live(house, 400)
    assert len(await house.sessions()) == 2


async def test_a_clock_that_jumped_deletes_nothing_until_two_days_have_passed(furnish: Furnish) -> None:
    house = await furnish(**KEEP_A_WEEK)
    await house.chores.heartbeat()
    await house.say("first")
    await house.say("/reset")
    house.clock.jump(30 * DAY)
    await house.chores.heartbeat()
    await live(house, 1)
    assert len(await house.sessions()) == 2
    await live(house, 2)
    assert len(await house.sessions()) == 1
