"""Sessions end by time or by command, are announced, and come back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.errors import AgentError, FloodWait
from tests.fakes.agents import raises
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.house import DAY, GROUP, HOUR, OWNER, House

IDLE = {"session": {"reset": {"mode": "idle", "idle_minutes": 60}}}
DAILY = {"session": {"reset": {"mode": "daily", "at": "04:00"}}}


async def test_c04_an_idle_session_ends_by_its_stored_clock_also_over_a_restart(furnish: Furnish) -> None:
    house = await furnish(**IDLE)
    await house.say("one")
    old = await house.session()
    await house.clock.leap(5 * 3600)
    await house.restart()
    await house.say("hi")
    new = await house.session()
    assert new.id != old.id
    assert new.reset is not None
    assert (new.reset.reason, new.reset.parent, new.reset.parent_last_at) == ("idle", old.id, old.last_human_at)
    assert new.generation == old.generation + 1
    assert house.seen()[1:] == ["New conversation: the last one rested for 5 h. /resume brings it back.", "re: hi"]
    assert house.stage.asked[-1].history == ()
    assert "new conversation (idle)" in house.stage.asked[-1].line


@pytest.mark.parametrize(("minutes", "same"), [(59.9, True), (60, False)])
async def test_the_idle_hour_is_exact(furnish: Furnish, minutes: float, same: bool) -> None:
    house = await furnish(**IDLE)
    await house.say("one")
    old = await house.session()
    await house.clock.leap(minutes * 60)
    await house.say("two")
    assert ((await house.session()).id == old.id) is same


async def test_the_daily_hour_resets_once(furnish: Furnish) -> None:
    house = await furnish(**DAILY)
    await house.say("noon")
    await house.clock.leap(15 * 3600)
    await house.say("three in the morning")
    await house.clock.leap(2 * 3600)
    await house.say("five")
    await house.say("six")
    assert house.seen()[2] == "New conversation: a new day began. /resume brings the last one back."
    assert len(await house.sessions()) == 2


async def test_without_announcement_nothing_is_said(furnish: Furnish) -> None:
    house = await furnish(session={"reset": {"mode": "idle", "idle_minutes": 1, "announce": False}})
    await house.say("one")
    await house.clock.leap(120)
    await house.say("two")
    assert house.seen() == ["re: one", "re: two"]
    assert len(await house.sessions()) == 2


async def test_mode_none_never_ends(furnish: Furnish) -> None:
    house = await furnish(session={"reset": {"mode": "none"}})
    await house.say("one")
    await house.clock.leap(90 * 86400)
    await house.expire()
    await house.say("two")
    assert len(await house.sessions()) == 1


async def test_the_most_specific_policy_wins(furnish: Furnish) -> None:
    house = await furnish(
        AdminBot("main"),
        AdminBot("second"),
        session={"reset": {"mode": "idle", "idle_minutes": 60, "group": {"idle_minutes": 600}}},
        bots={"second": {"reset": {"mode": "none"}}},
    )
    await house.say("direct")
    await house.say_in_group("group")
    await house.say("other", bot="second")
    await house.clock.leap(2 * 3600)
    await house.expire()
    ended = {session.bot + session.kind: session.ended_at is not None for session in await house.sessions()}
    assert ended == {"maindirect": True, "maingroup": False, "seconddirect": False}


async def test_a_sweep_ends_and_says_nothing_and_the_next_message_begins_anew(furnish: Furnish) -> None:
    house = await furnish(**IDLE)
    await house.say("one")
    old = await house.session()
    await house.clock.leap(2 * 3600)
    await house.expire()
    swept = await house.session()
    assert (swept.id, swept.end_reason, swept.expires_at) == (old.id, "idle", None)
    assert house.seen() == ["re: one"]
    assert len(await house.sessions()) == 1
    assert len(house.core.cache) == 0
    await house.expire()
    await house.clock.leap(3600)
    await house.say("two")
    assert house.seen()[1:] == ["New conversation: the last one rested for 3 h. /resume brings it back.", "re: two"]
    new = await house.session()
    assert new.reset is not None
    assert new.reset.parent == old.id


async def test_a_sweep_touches_no_running_waiting_or_undelivered_work(furnish: Furnish) -> None:
    house = await furnish(desk={"turn_timeout_s": 86400.0}, **IDLE)

    house.stage.on("slow", house.stage.waits())
    await house.say("slow", user="7")
    house.bot.fail("8", FloodWait(4 * 3600))
    await house.say("undelivered", user="8")
    await house.clock.leap(2 * 3600)
    await house.expire()
    assert [session.ended_at for session in await house.sessions()] == [None, None]
    house.stage.gate().set()
    await house.clock.leap(3 * 3600)
    await house.expire()
    assert [session.end_reason for session in await house.sessions()] == ["idle", "idle"]


async def test_what_waited_belongs_to_the_session_of_its_arrival(furnish: Furnish) -> None:
    """A message that came before the end and is admitted after it stays in the old session."""
    house = await furnish(desk={"turn_timeout_s": 86400.0}, **IDLE)
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    await house.clock.leap(30 * 60)
    await house.say("waits")
    await house.clock.leap(5 * 3600)
    house.stage.gate().set()
    await house.idle()
    assert len(await house.sessions()) == 1
    await house.say("late")
    assert len(await house.sessions()) == 2


async def test_a_clock_that_was_wrong_for_a_while_harms_nothing(furnish: Furnish) -> None:
    house = await furnish(**IDLE)
    await house.say("one")
    house.clock.jump(-3 * DAY)
    await house.say("two")
    assert len(await house.sessions()) == 1
    assert house.stage.asked[-1].history == (("user", "one"), ("assistant", "re: one"))
    house.clock.jump(3 * DAY)
    await house.say("three")
    assert len(await house.sessions()) == 1
    await house.clock.leap(3601)
    await house.say("four")
    assert len(await house.sessions()) == 2


async def test_instant_commands_and_chores_move_no_clock(furnish: Furnish) -> None:
    house = await furnish(**IDLE)
    await house.say("one")
    for _ in range(7):
        await house.clock.leap(600)
        await house.say("/status")
        await house.chores.agents()
        await house.chores.redate()
        await house.expire()
    assert (await house.session()).end_reason == "idle"


async def test_a_changed_policy_gives_open_sessions_a_new_end(furnish: Furnish) -> None:
    house = await furnish(**IDLE)
    await house.say("one")
    before = (await house.session()).expires_at
    house.options = {"session": {"reset": {"mode": "idle", "idle_minutes": 10}}}
    await house.restart()
    after = (await house.session()).expires_at
    assert before is not None
    assert after == before - timedelta(minutes=50)
    house.options = {"session": {"reset": {"mode": "none"}}}
    await house.restart()
    assert (await house.session()).expires_at is None


async def test_c54_the_daily_hour_is_the_zones(furnish: Furnish) -> None:
    reset = {"mode": "daily", "at": "04:00", "timezone": "Asia/Bangkok"}
    house = await furnish(session={"reset": reset})
    house.clock.set_to(datetime(2026, 3, 2, 20, 59, tzinfo=UTC))
    await house.say("03:59 in Bangkok")
    assert (await house.session()).expires_at == datetime(2026, 3, 2, 21, 0, tzinfo=UTC)
    await house.clock.leap(59)
    await house.say("still")
    await house.clock.leap(1)
    await house.say("04:00")
    assert [asked.history == () for asked in house.stage.asked] == [True, False, True]


@pytest.mark.parametrize(
    ("zone", "at", "start", "fresh_at", "boundary"),
    [
        ("America/New_York", "02:00", (2026, 3, 7, 7, 30), (2026, 3, 8, 6, 0), (2026, 3, 8, 7, 0)),
        ("Australia/Lord_Howe", "02:00", (2026, 10, 2, 16, 0), (2026, 10, 3, 15, 0), (2026, 10, 3, 15, 30)),
        ("America/New_York", "01:30", (2026, 10, 31, 6, 0), (2026, 11, 1, 5, 0), (2026, 11, 1, 5, 30)),
    ],
)
async def test_c55_a_skipped_or_repeated_hour_resets_once(
    furnish: Furnish,
    zone: str,
    at: str,
    start: tuple[int, ...],
    fresh_at: tuple[int, ...],
    boundary: tuple[int, ...],
) -> None:
    house = await furnish(session={"reset": {"mode": "daily", "at": at, "timezone": zone}})
    house.clock.set_to(datetime(*start, tzinfo=UTC))  # type: ignore[arg-type, misc]
    await house.say("one")
    house.clock.set_to(datetime(*fresh_at, tzinfo=UTC))  # type: ignore[arg-type, misc]
    await house.say("still fresh")
    assert len(await house.sessions()) == 1
    after = datetime(*boundary, tzinfo=UTC)  # type: ignore[arg-type, misc]
    for minutes in (0, 30, 60, 90, 120, 600):
        house.clock.set_to(after + timedelta(minutes=minutes))
        await house.say(f"{minutes} minutes after")
    assert len(await house.sessions()) == 2


async def test_resume_brings_the_last_one_back(furnish: Furnish) -> None:
    house = await furnish(**IDLE)
    await house.say("one")
    old = await house.session()
    await house.clock.leap(2 * HOUR.total_seconds())
    await house.say("two")
    left = await house.session()
    await house.say("/resume")
    back = await house.session()
    assert back.id == old.id
    assert back.started_at == back.last_human_at == house.clock.now()
    assert house.seen()[-1] == "Back in “one” (1 message)."
    await house.say("three")
    assert house.stage.asked[-1].history == (("user", "one"), ("assistant", "re: one"))
    ended = {session.id: session.end_reason for session in await house.sessions()}
    assert ended == {old.id: None, left.id: "resumed_away"}
    await house.say("/resume two")
    assert (await house.session()).id == left.id


async def test_resume_by_number_title_and_id(house: House) -> None:
    ids = []
    for text in ("alpha", "beta", "gamma"):
        await house.say(text)
        ids.append((await house.session()).id)
        await house.say("/reset")
    for name, wanted in (("alpha", 0), ("BETA", 1), (ids[2], 2), ("alp", 0)):
        await house.say(f"/resume {name}")
        assert (await house.session()).id == ids[wanted], name
    await house.say("/sessions")
    lines = [line for line in house.seen()[-1].splitlines() if line[:1].isdigit()]
    number = next(line.split(".")[0] for line in lines if "gamma" in line)
    assert any("alpha" in line and "here" in line for line in lines)
    await house.say(f"/resume {number}")
    assert (await house.session()).id == ids[2]
    await house.say("/resume nothing like it")
    assert "No conversation of yours fits" in house.seen()[-1]
    await house.say("/resume gamma")
    assert house.seen()[-1] == "That is the conversation you are in."


async def test_an_empty_session_after_reset_is_left_by_resume(house: House) -> None:
    await house.say("one")
    old = await house.session()
    await house.say("/reset")
    await house.say("/resume")
    assert (await house.session()).id == old.id
    await house.say("two")
    assert house.stage.asked[-1].history == (("user", "one"), ("assistant", "re: one"))


async def test_resume_without_anything_to_resume(house: House) -> None:
    await house.say("/resume")
    assert "no earlier conversation" in house.seen()[-1]
    await house.say("one")
    await house.say("/resume")
    assert "no earlier conversation" in house.seen()[-1]


async def test_c47_nobody_resumes_what_they_took_no_part_in(house: House) -> None:
    await house.say("x", user="7")
    await house.say("/title Secret Plan", user="7")
    secret = await house.session("main/dm/7")
    await house.say("/reset", user="7")
    for name in ("Secret Plan", secret.id, "1", ""):
        await house.say(f"/resume {name}", user="8")
        assert "Secret" not in house.seen("8")[-1] or "No conversation of yours" in house.seen("8")[-1]
    await house.say("/sessions", user="8")
    assert "Secret" not in house.seen("8")[-1]
    theirs = (await house.conversation("main/dm/8")).id
    assert [session for session in await house.sessions() if session.conversation == theirs] == []


async def test_a_session_moves_to_another_chat_and_the_first_is_told(house: House) -> None:
    await house.say("in direct", user="7")
    moved = await house.session("main/dm/7")
    await house.say_in_group("here", user="7")
    await house.say_in_group("/resume in direct", user="7")
    assert (await house.session(f"main/group/{GROUP}")).id == moved.id
    await house.say_in_group("go on", user="7")
    assert house.stage.asked[-1].history[0] == ("user", "in direct")
    before = house.seen("7")
    await house.say("and here", user="7")
    assert house.heard_since(before, "7") == [
        "“in direct” was resumed in another chat; this is a new conversation.",
        "re: and here",
    ]
    assert house.stage.asked[-1].history == ()
    await house.say("twice", user="7")
    assert house.seen("7")[-1] == "re: twice"


async def test_a_session_with_work_elsewhere_stays_there(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow", user="7")
    await house.say_in_group("here", user="7")
    await house.say_in_group("/resume slow", user="7")
    assert "in use in another chat" in house.seen(GROUP)[-1]
    house.stage.gate().set()
    await house.idle()
    await house.say_in_group("/resume slow", user="7")
    assert "Back in" in house.seen(GROUP)[-1]


async def test_two_who_resume_one_session_do_not_share_it(furnish: Furnish) -> None:
    house = await furnish(access={"owners": ["telegram:7", "telegram:8"]})
    await house.say_in_group("ours", user="7")
    await house.say_in_group("ours too", user="8")
    wanted = (await house.session(f"main/group/{GROUP}")).id
    await house.say_in_group("/reset", user="8")
    await house.receive(house.message(f"/resume {wanted}", user="7"), house.message(f"/resume {wanted}", user="8"))
    await house.idle()
    holders = [key for key in ("main/dm/7", "main/dm/8") if (await house.conversation(key)).session == wanted]
    assert len(holders) == 1


async def test_what_a_group_shares_is_taken_elsewhere_only_by_an_owner(house: House) -> None:
    await house.say_in_group("ours", user=OWNER)
    await house.say_in_group("ours too", user="8")
    shared = (await house.session(f"main/group/{GROUP}")).id
    await house.say(f"/resume {shared}", user="8")
    assert house.seen("8") == [f"No conversation of yours fits “{shared}”. /sessions lists them."]
    await house.say(f"/resume {shared}", user=OWNER)
    assert (await house.conversation(f"main/dm/{OWNER}")).session == shared


async def test_c01_old_requests_are_closed_and_only_the_new_one_is_acted_on(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    old = [await house.say(f"old {n}") for n in range(3)]
    await house.die()
    house.clock.jump(3 * DAY)
    house.stage.gate().set()
    await house.open()
    await house.idle()
    await house.say("good morning")
    assert [await house.fate(said) for said in old] == ["stale"] * 3
    assert house.stage.texts == ["slow", "slow", "good morning"]
    assert sum("too old" in text for text in house.seen()) == 1
    assert "3 messages" in next(text for text in house.seen() if "too old" in text)


async def test_c01_failed_requests_are_not_asked_again(house: House) -> None:

    house.stage.on("fails", raises(AgentError("provider down")))
    for n in range(3):
        await house.say(f"fails {n}")
    await house.restart()
    await house.clock.leap(3 * 86400)
    await house.say("good morning")
    assert house.stage.texts[3:] == ["good morning"]


async def test_what_waits_behind_a_long_turn_becomes_stale_too(furnish: Furnish) -> None:
    house = await furnish(desk={"turn_timeout_s": 7 * 86400.0, "max_turns": 1})
    house.stage.on("slow", house.stage.waits())
    await house.say("slow", user="7")
    behind = await house.say("behind", user="7")
    other = await house.say("other", user="8")
    await house.clock.leap(25 * 3600)
    await house.chores.stale()
    await house.idle()
    assert await house.fate(other) == "stale"
    house.stage.gate().set()
    await house.idle()
    assert await house.fate(behind) == "stale"
    assert sum("too old" in text for text in house.seen("7")) == 1
    assert sum("too old" in text for text in house.seen("8")) == 1
    assert house.stage.texts == ["slow"]
