"""Another configuration holds from the next message on, and what runs ends as it began."""

from __future__ import annotations

from datetime import timedelta

from tests.flow.conftest import Furnish
from tests.flow.house import HOUR, House
from tests.flow.reloading import Reloaded


async def test_another_reset_rule_gives_open_sessions_their_new_end(furnish: Furnish) -> None:
    house = await furnish(session={"reset": {"mode": "none"}})
    await house.say("one")
    old = await house.session()
    assert old.expires_at is None
    await Reloaded(house).to(session={"reset": {"mode": "idle", "idle_minutes": 60}})
    assert (await house.session()).expires_at == old.last_human_at + timedelta(hours=1)
    await house.clock.leap(2 * HOUR.total_seconds())
    await house.expire()
    assert (await house.sessions())[0].end_reason == "idle"


async def test_a_running_turn_keeps_its_time_limit(furnish: Furnish) -> None:
    house = await furnish(desk={"turn_timeout_s": 50.0})
    place = Reloaded(house)
    house.stage.on("", house.stage.waits())
    first = await house.offer(house.message("one"))
    await house.idle()
    await place.to(desk={"turn_timeout_s": 5.0})
    await house.advance(20)
    assert await house.fate(first) is None
    house.stage.gate().set()
    await house.ended(first)
    assert house.seen() == ["done"]


async def test_who_may_speak_changes_at_once(furnish: Furnish) -> None:
    house = await furnish(access={"direct": "allow", "allow": ["telegram:7"]})
    place = Reloaded(house)
    await house.say("one")
    await place.to(access={"direct": "allow", "allow": ["telegram:8"]})
    await house.say("two")
    await house.say("me?", user="8")
    assert house.seen() == ["re: one"]
    assert house.seen("8") == ["re: me?"]


async def test_only_an_agent_whose_options_changed_is_made_anew(furnish: Furnish) -> None:
    house = await furnish()
    place = Reloaded(house)
    await house.say("one")
    await place.to(session={"reset": {"mode": "none"}}, desk={"max_turns": 7})
    await house.say("two")
    assert (house.core.cache.hits, house.core.cache.misses.total()) == (1, 1)
    agent = {"backend": "tests.fakes.agents:make", "options": {"stage": house.stage_name, "other": True}}
    await place.to(agents={"default": agent})
    await house.say("three")
    assert (house.core.cache.hits, dict(house.core.cache.misses)) == (1, {"absent": 1, "digest": 1})
    assert [text for _, text in house.stage.asked[-1].history] == ["one", "re: one", "two", "re: two"]


async def test_more_turns_may_run_at_once_and_who_waited_begins(furnish: Furnish) -> None:
    house = await furnish(desk={"max_turns": 1})
    place = Reloaded(house)
    house.stage.on("", house.stage.waits())
    await house.offer(house.message("one"))
    await house.offer(house.message("two", user="8"))
    await house.idle()
    assert (house.core.slots.taken, house.core.slots.waiting) == (1, 1)
    await place.to(desk={"max_turns": 2})
    assert (house.core.slots.taken, house.core.slots.waiting) == (2, 0)
    house.stage.gate().set()
    await house.idle()
    assert house.seen("8") == ["done"]


async def test_a_smaller_cache_lets_agents_go_and_the_mailbox_limit_holds_for_what_comes(furnish: Furnish) -> None:
    house = await furnish()
    place = Reloaded(house)
    for user in ("7", "8", "9"):
        await house.say("hello", user=user)
    assert len(house.core.cache) == 3
    await place.to(cache={"agents": 1}, mailbox={"limit": 1})
    assert len(house.core.cache) == 1
    house.stage.on("", house.stage.waits())
    for text in ("one", "two", "three"):
        await house.offer(house.message(text))
    await house.idle()
    house.stage.gate().set()
    await house.idle()
    assert sum("Too many messages are waiting" in text for text in house.seen()) == 1


async def test_c62_a_broken_file_leaves_everything_as_it_is(house: House) -> None:
    place = Reloaded(house)
    rules, agents, access = house.core.rules, house.core.agents, house.core.access
    loaded_at = place.reload_.state.loaded_at
    await house.clock.leap(HOUR.total_seconds())
    state = await place.refused("is broken")
    assert "frontdesk.toml:7" in state.faults[0]
    assert (state.loaded_at, state.refused_at) == (loaded_at, house.clock.now())
    assert house.core.rules is rules
    assert house.core.agents is agents
    assert house.core.access is access
    assert (await place.to()).refused_at is None
