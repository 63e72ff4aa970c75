"""The figures of a desk agree with what was done, and tell nothing of who did it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from core.agents.agent import AgentEvent, TurnContext
from core.errors import ChatDead, FloodWait, NotSent, Rejected, Unknown
from core.service.metrics import _Process
from core.service.schedule import Schedule, _guarded
from core.vocabulary import TextDelta
from tests.fakes.agents import raises, says
from tests.flow.bot import GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import House, opened
from tests.flow.test_consent import Paying
from tests.flow.watcher import Watcher, watching

SERIES = 600
"""More than a desk with two bots has, whoever writes to it."""


@pytest.fixture
async def watch(house: House) -> AsyncIterator[Watcher]:
    async with watching(house) as watcher:
        yield watcher


async def test_the_figures_are_those_of_what_was_done(watch: Watcher) -> None:
    house = watch.house
    house.stage.on("bad", raises(ValueError("no")))
    for number in range(5):
        await house.say(f"one {number}")
    for number in range(3):
        await house.say(f"two {number}", user="8")
    said = await house.say("bad", user="9")
    await house.redeliver(said)
    await watch.scrape()
    assert watch["frontdesk_inbound_total main accepted"] == 9
    assert watch["frontdesk_inbound_total main duplicate"] == 1
    assert watch["frontdesk_turns_total main done"] == 8
    assert watch["frontdesk_turns_total main failed"] == 1
    assert watch["frontdesk_turns_total main cancelled"] == 0
    assert watch["frontdesk_cache_hits_total"] == 6
    assert watch["frontdesk_cache_misses_total absent"] == 3
    assert watch["frontdesk_cache_agents"] == 2
    assert watch["frontdesk_cache_bytes"] == house.core.cache.bytes > 0
    assert watch["frontdesk_deliveries_total main sent"] == 9
    assert watch["frontdesk_turn_wait_seconds_count"] == 9
    assert watch["frontdesk_turn_first_text_seconds_count"] == 8
    assert watch["frontdesk_turn_answer_seconds_count"] == 8
    assert watch["frontdesk_reply_handover_seconds_count"] == 8
    assert watch["frontdesk_mailboxes"] == 0
    assert watch["frontdesk_inbox_pending"] == 0
    assert watch["frontdesk_build_info 1.2.3"] == 1
    assert watch["frontdesk_ready"] == 1
    assert watch["frontdesk_commit_units_count"] == watch["frontdesk_commit_seconds_count"] > 0
    assert watch["frontdesk_commit_units_sum"] >= watch["frontdesk_commit_units_count"]
    assert watch["frontdesk_bot_last_inbound_timestamp_seconds main"] == house.clock.now().timestamp()
    for name in ("process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"):
        assert watch[name] > 0


async def test_every_histogram_s_buckets_ascend_to_its_count(watch: Watcher) -> None:
    for number in range(3):
        await watch.house.say(f"{number}")
    text = (await watch.client.get("/metrics")).text
    checked = 0
    for family in text_string_to_metric_families(text):
        if family.type != "histogram" or not family.samples:
            continue
        counts = [sample.value for sample in family.samples if sample.name.endswith("_bucket")]
        (total,) = (sample.value for sample in family.samples if sample.name.endswith("_count"))
        assert counts == sorted(counts)
        assert counts[-1] == total
        checked += 1
    assert checked >= 7


async def test_open_metrics_are_told_to_whoever_asks_for_them(watch: Watcher) -> None:
    await watch.house.say("hello")
    answer = await watch.client.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    families = openmetrics.text_string_to_metric_families(answer.text)  # type: ignore[no-untyped-call]  # as it comes
    turns = {family.name: family for family in families}["frontdesk_turns"]
    assert sum(sample.value for sample in turns.samples) == 1
    plain = await watch.client.get("/metrics")
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


async def test_stages_take_what_they_took(watch: Watcher) -> None:
    house = watch.house
    gate, word = asyncio.Event(), asyncio.Event()

    async def slow(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await word.wait()
        yield TextDelta(text="a word")
        await gate.wait()

    house.stage.on("slow", slow)
    said = await house.say("slow")
    later = await house.say("behind it")
    await watch.scrape()
    assert watch["frontdesk_turns_open running"] == 1
    assert watch["frontdesk_inbox_pending"] == 1
    assert watch["frontdesk_mailboxes"] == 1
    await house.advance(2.0)
    word.set()
    await house.idle()
    await house.advance(3.0)
    gate.set()
    await house.ended(said)
    await house.ended(later)
    await watch.scrape()
    assert watch["frontdesk_turn_first_text_seconds_sum"] == pytest.approx(2.0, abs=0.05)
    assert watch["frontdesk_turn_answer_seconds_sum"] == pytest.approx(5.0, abs=0.05)
    assert watch["frontdesk_turn_wait_seconds_sum"] == pytest.approx(5.0, abs=0.05)
    assert watch["frontdesk_turn_wait_seconds_bucket 2.5"] == 1
    assert watch["frontdesk_reply_handover_seconds_count"] == 2


async def test_what_became_of_parts_is_counted_once_each(watch: Watcher) -> None:
    house = watch.house
    house.bot.fail("7", NotSent("no route"), FloodWait(3.0))
    await house.say("late")
    await house.advance(30)
    house.bot.fail("8", Unknown("silence"))
    await house.say("perhaps", user="8")
    house.bot.fail("9", Rejected("too odd"))
    await house.say("odd", user="9")
    house.stage.on("long", says("\n\n".join(f"{n} " + "x" * 300 for n in range(3))))
    house.bot.fail("10", ChatDead("blocked"))
    await house.say("long", user="10")
    await watch.scrape()
    assert watch["frontdesk_deliveries_total main sent"] == 1
    assert watch["frontdesk_deliveries_total main unknown"] == 1
    assert watch["frontdesk_deliveries_total main failed"] == 1 + 3
    assert watch["frontdesk_delivery_retries_total main not_sent"] == 1
    assert watch["frontdesk_delivery_retries_total main flood_wait"] == 1
    assert watch["frontdesk_outbox unknown"] == 1
    assert watch["frontdesk_outbox failed"] == 4
    await house.advance(10)
    await watch.scrape()
    assert watch["frontdesk_deliveries_total main sent"] == 2, "the notice that it may not have arrived"


async def test_an_answer_that_grew_to_its_end_is_one_part_that_was_sent(furnish: Furnish) -> None:
    house = await furnish(GrowingBot())
    async with watching(house) as watch:
        for number in range(3):
            await house.ask(f"hello {number}")
        await house.advance(5)
        await watch.scrape()
        assert watch["frontdesk_deliveries_total main sent"] == 3 == len(house.seen())


async def test_a_turn_that_waits_for_somebody_is_suspended_and_then_another(watch: Watcher) -> None:
    house = watch.house
    house.stage.on("pay", Paying())
    await house.say("pay", user="1")
    await watch.scrape()
    assert watch["frontdesk_turns_total main suspended"] == 1
    assert watch["frontdesk_turns_open suspended"] == 1
    await house.say("/approve", user="1")
    await watch.scrape()
    assert watch["frontdesk_turns_total main done"] == 1
    assert watch["frontdesk_turns_open suspended"] == 0


async def test_a_turn_that_was_stopped_is_cancelled(watch: Watcher) -> None:
    house = watch.house
    house.stage.on("wait", house.stage.waits())
    await house.say("wait")
    await house.say("/stop")
    await watch.scrape()
    assert watch["frontdesk_turns_total main cancelled"] == 1
    assert watch["frontdesk_turn_answer_seconds_count"] == 0


async def test_sessions_that_a_sweep_ended_are_counted_by_reason(furnish: Furnish) -> None:
    house = await furnish(session={"reset": {"mode": "idle", "idle_minutes": 1}})
    async with watching(house) as watch:
        for user in ("7", "8"):
            await house.say("hello", user=user)
        await house.clock.leap(120)
        await house.expire()
        await watch.scrape()
        assert watch["frontdesk_sessions_expired_total idle"] == 2


async def test_chores_are_counted_with_those_that_failed(watch: Watcher) -> None:
    house = watch.house
    schedule = Schedule(house.chores, house.clock, 30.0)
    schedule.begin()
    await watch.scrape()
    assert watch["frontdesk_chore_failures_total heartbeat"] == 0
    house.store.full = True
    await _guarded(house.chores.heartbeat, house.core)
    await _guarded(house.chores.sweep, house.core)
    house.store.full = False
    await watch.scrape()
    assert watch["frontdesk_chore_failures_total heartbeat"] == 1
    assert watch["frontdesk_chore_failures_total sweep"] == 0
    assert watch["frontdesk_chore_seconds_count heartbeat"] >= 1
    assert watch["frontdesk_chore_seconds_count sweep"] >= 1
    await schedule.stop()


async def test_a_reload_is_counted_by_its_result(watch: Watcher) -> None:
    watch.house.core.tally.reloaded(good=False)
    await watch.scrape()
    assert watch["frontdesk_reloads_total refused"] == 1
    assert watch["frontdesk_last_reload_good"] == 0


async def test_a_thousand_chats_make_no_more_series_than_one(watch: Watcher) -> None:
    house = watch.house
    await house.say("hello")
    await watch.scrape()
    before = set(watch.samples)
    await house.receive(*(house.message("hello", user=str(number)) for number in range(2000, 3000)))
    await house.idle()
    await watch.scrape()
    assert set(watch.samples) == before
    assert len(before) < SERIES
    assert watch["frontdesk_turns_total main done"] == 1001


async def test_what_people_say_and_who_they_are_is_in_no_page(watch: Watcher) -> None:
    secret = "sesame-4711"
    await watch.house.say(secret, user="4242424242", name="Scheherazade")
    for path in ("/livez", "/readyz", "/metrics"):
        text = (await watch.client.get(path)).text
        assert not any(word in text for word in (secret, "4242424242", "Scheherazade"))


async def test_two_daemons_in_one_process_count_for_themselves(
    furnish: Furnish, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one = await furnish()
    async with opened(tmp_path_factory.mktemp("second"), {}) as two, watching(one) as first, watching(two) as second:
        await one.say("hello")
        await first.scrape()
        await second.scrape()
        assert first["frontdesk_turns_total main done"] == 1
        assert second["frontdesk_turns_total main done"] == 0


def test_the_process_is_measured_also_where_a_service_sees_nothing_else_of_proc(tmp_path: Path) -> None:
    (tmp_path / "self").symlink_to("/proc/self")
    registry = CollectorRegistry()
    _Process(proc=str(tmp_path), registry=registry)
    assert registry.get_sample_value("process_resident_memory_bytes")
    seen = CollectorRegistry()
    ProcessCollector(registry=seen)
    started = "process_start_time_seconds"
    assert registry.get_sample_value(started) == pytest.approx(seen.get_sample_value(started), abs=2)
