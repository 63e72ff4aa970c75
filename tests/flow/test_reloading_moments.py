"""A reload that comes at the wrong moment for what runs in the same process."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from apscheduler.events import EVENT_JOB_EXECUTED, EVENT_JOB_MAX_INSTANCES

from config.bots import BotSettings
from core.clock import SystemClock
from core.desk import recall
from core.errors import FloodWait
from core.ports import Bot
from core.service.schedule import Schedule
from core.service.supervisor import BotHealth, Supervisor
from core.vocabulary import BotName, Capabilities, Pace, TextUnit
from tests.flow.bot import FakeBot, GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import House
from tests.flow.reloading import Reloaded
from tests.flow.store import corrupting

MAIN = BotName("main")
SLOW = Capabilities(text_limit=400, text_unit=TextUnit.UTF16, direct_pace=Pace(burst=1, interval_s=5.0))


async def test_nothing_is_sent_by_a_bot_that_is_held_once_it_is_at_rest(furnish: Furnish) -> None:
    """A part that waits for its chat's pace when its bot is dismissed."""
    house = await furnish(FakeBot(capabilities=SLOW))
    await house.say("one")
    await house.say("two")
    house.core.outbox.hold(MAIN)
    await house.core.outbox.at_rest(MAIN)
    calls = len(house.bot.calls)
    await house.advance(20)
    assert len(house.bot.calls) == calls
    house.core.outbox.open(MAIN)
    await house.idle()
    assert house.seen() == ["re: one", "re: two"]


async def test_no_preview_is_begun_by_a_bot_that_is_held(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    house.stage.on("", house.stage.waits(before=("begun ",)))
    said = await house.offer(house.message("one"))
    house.core.outbox.hold(MAIN)
    await house.core.outbox.at_rest(MAIN)
    await house.advance(20)
    assert house.bot.calls == []
    house.stage.gate().set()
    house.core.outbox.open(MAIN)
    await house.idle()
    assert await house.fate(said) == "answered"
    assert house.seen() == ["begun done"]


async def test_a_turn_that_looked_its_agent_up_before_it_was_removed_is_answered(
    furnish: Furnish, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = await furnish()
    usual = {"backend": "tests.fakes.agents:make", "options": {"stage": house.stage_name}}
    place = Reloaded(house)
    await place.to(agents={"default": usual, "other": {**usual, "options": {"stage": house.stage_name, "x": 1}}})
    await house.say("/agent other")
    await house.say("one")
    house.core.cache.evict((await house.conversation()).id)
    reached, gate, real = asyncio.Event(), asyncio.Event(), recall._past

    async def past(*arguments: object) -> object:
        reached.set()
        await gate.wait()
        return await real(*arguments)  # type: ignore[arg-type]  # handed through

    monkeypatch.setattr(recall, "_past", past)
    said = await house.offer(house.message("two"))
    await asyncio.wait_for(reached.wait(), 5)
    house.options = {**house.options, "agents": {"default": usual}}
    assert (await place.reload_.reload()).faults == ()
    gate.set()
    await house.idle()
    assert await house.fate(said) == "answered"
    assert house.seen()[-1] == "re: two"


async def test_a_chosen_agent_that_is_removed_and_brought_back_is_chosen_still(furnish: Furnish) -> None:
    house = await furnish()
    usual = {"backend": "tests.fakes.agents:make", "options": {"stage": house.stage_name}}
    both = {"default": {"backend": "offline"}, "other": usual}
    place = Reloaded(house)
    await place.to(agents=both)
    await house.say("/agent other")
    await house.say("one")
    await place.to(agents={"default": {"backend": "offline"}})
    await house.say("two")
    await place.to(agents=both)
    await house.say("three")
    assert house.seen()[1] == "re: one"
    assert "No model is connected" in house.seen()[2] or "Message 2" in house.seen()[2]
    assert house.seen()[3] == "re: three"


async def test_fewer_turns_than_run_lets_them_end_and_holds_for_what_comes(furnish: Furnish) -> None:
    house = await furnish(desk={"max_turns": 3})
    place = Reloaded(house)
    house.stage.on("", house.stage.waits())
    for user in ("7", "8", "9", "10"):
        await house.offer(house.message("go", user=user))
    await house.idle()
    await place.to(desk={"max_turns": 1})
    assert (house.core.slots.taken, house.core.slots.waiting) == (3, 1)
    house.stage.gate().set()
    await house.idle()
    assert (house.core.slots.taken, house.core.slots.waiting) == (0, 0)
    assert [house.seen(user) for user in ("7", "8", "9", "10")] == [["done"]] * 4


async def test_a_cache_of_one_keeps_one_while_turns_run(furnish: Furnish) -> None:
    house = await furnish()
    place = Reloaded(house)
    for user in ("7", "8", "9"):
        await house.say("hello", user=user)
    house.stage.on("wait", house.stage.waits())
    for user in ("7", "8", "9"):
        await house.offer(house.message("wait", user=user))
    await house.idle()
    await place.to(cache={"agents": 1})
    house.stage.gate().set()
    await house.idle()
    assert len(house.core.cache) == 1
    assert [house.seen(user)[-1] for user in ("7", "8", "9")] == ["done"] * 3


async def test_an_owner_who_is_struck_off_while_a_command_waits_is_owner_no_more(furnish: Furnish) -> None:
    """Who may speak is asked again at the next message."""
    house = await furnish(access={"direct": "allow", "owners": ["telegram:7"]})
    place = Reloaded(house)
    house.stage.on("one", house.stage.waits())
    await house.offer(house.message("one"))
    await house.idle()
    await place.to(access={"direct": "allow", "owners": ["telegram:8"]})
    late = await house.offer(house.message("two"))
    house.stage.gate().set()
    await house.idle()
    assert house.seen() == ["done"]
    assert await house.fate(late) == "ignored"


async def test_a_group_that_is_struck_off_and_put_back_keeps_its_conversation(furnish: Furnish) -> None:
    house = await furnish()
    place = Reloaded(house)
    bots = {"main": {"platform": "telegram", "token": "1:main", "groups": [-100]}}
    await house.say_in_group("one")
    await place.to(bots={"main": {**bots["main"], "groups": []}})
    await house.say_in_group("two")
    await place.to(bots=bots)
    await house.say_in_group("three")
    assert house.seen("-100") == ["re: one", "re: three"]
    assert [text for _, text in house.stage.asked[-1].history] == ["one", "re: one"]


async def test_the_last_reset_rule_dates_every_session_however_fast_rules_change(furnish: Furnish) -> None:
    """While sessions are dated by one rule, another comes."""
    house = await furnish(session={"reset": {"mode": "none"}})
    await house.say("one")
    place = Reloaded(house)
    schedule = Schedule(house.chores, SystemClock(), 3600.0)
    turned_away, ended = asyncio.Event(), asyncio.Event()
    schedule._scheduler.add_listener(lambda _: turned_away.set(), EVENT_JOB_MAX_INSTANCES)
    schedule._scheduler.add_listener(lambda job: ended.set() if job.job_id == "redate" else None, EVENT_JOB_EXECUTED)
    place.reload_._staff = replace(place.reload_._staff, schedule=schedule)
    schedule.begin()
    try:
        await house.idle()
        gate = house.store.hears = asyncio.Event()
        await _reset_after(place, house, 60)
        async with asyncio.timeout(5):
            while (await house.session()).expires_at is None:  # noqa: ASYNC110  # the chore tells nobody
                await asyncio.sleep(0.01)
        await _reset_after(place, house, 120)
        await asyncio.wait_for(turned_away.wait(), 5)
        ended.clear()
        gate.set()
        house.store.hears = None
        await asyncio.wait_for(ended.wait(), 5)
        await house.idle()
    finally:
        await schedule.stop()
    session = await house.session()
    assert session.expires_at == session.last_human_at + timedelta(minutes=120)


async def _reset_after(place: Reloaded, house: House, minutes: int) -> None:
    house.options = {**house.options, "session": {"reset": {"mode": "idle", "idle_minutes": minutes}}}
    assert (await place.reload_.reload()).faults == ()


class Wanted:
    """A house whose one bot is made anew at each reload."""

    def __init__(self, house: House) -> None:
        self.place = Reloaded(house)
        reload, health = self.place.reload_, house.desk.health
        assert isinstance(health, BotHealth)
        health.on_up = house.core.outbox.open
        self.supervisor: Supervisor = reload._staff.supervisor
        self.made: list[FakeBot] = []
        self.before = house.bot

        def open_bot(name: BotName, settings: BotSettings) -> Bot:
            bot = FakeBot(name)
            bot.chats, bot._ids = self.before.chats, self.before._ids
            self.made.append(bot)
            return bot

        reload._reading = replace(reload._reading, open_bot=open_bot)


async def test_a_store_that_fails_during_a_reload_costs_no_bot_and_no_later_reload(furnish: Furnish) -> None:
    house = await furnish()
    wanted = Wanted(house)
    wanted.supervisor.start(house.bot, house.desk)
    corrupting(house.state, "ALTER TABLE facts RENAME TO elsewhere")
    house.options = {**house.options, "bots": {"main": {"platform": "telegram", "token": "1:other"}}}
    try:
        await wanted.place.reload_.reload()
    finally:
        corrupting(house.state, "ALTER TABLE elsewhere RENAME TO facts")
    await wanted.place.reload_.reload()
    assert MAIN in house.bots, "the bot is gone for good"
    await wanted.supervisor.stop()


async def test_a_flood_wait_and_a_bot_that_is_made_anew(furnish: Furnish) -> None:
    """The wait is obeyed, and what waited goes out once, by the new bot."""
    house = await furnish()
    wanted = Wanted(house)
    wanted.supervisor.start(house.bot, house.desk)
    house.bot.fail("7", FloodWait(1000))
    await house.say("one")
    house.options = {**house.options, "bots": {"main": {"platform": "telegram", "token": "1:other"}}}
    assert (await wanted.place.reload_.reload()).faults == ()
    house.desk.health.up(MAIN)
    await house.idle()
    (bot,) = wanted.made
    await house.advance(990)
    assert bot.calls == []
    before = len(wanted.before.calls)
    await house.advance(20)
    assert len(wanted.before.calls) == before, "the bot that left was told to send"
    assert [text for _, _, text in bot.calls] == ["re: one"]
    await wanted.supervisor.stop()
