"""What is counted: spreads whose parts add up, whoever adds to them."""

from __future__ import annotations

import math
import threading

import pytest

from core.errors import FloodWait, NotSent, Rejected, SendError, StoreError, StoreFull, Unknown, Unreachable
from core.tally import UNITS, Spread, Tally
from core.vocabulary import BotName

BOT = BotName("main")


def test_a_value_counts_for_its_bound_and_all_above() -> None:
    spread = Spread((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 9.0):
        spread.add(value)
    reading = spread.read()
    assert reading.upto == ((1.0, 2), (2.0, 4), (math.inf, 5))
    assert (reading.count, reading.total) == (5, 14.0)


def test_nothing_is_lost_between_threads() -> None:
    spread = Spread(UNITS)

    def add() -> None:
        for _ in range(20_000):
            spread.add(1.0)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (spread.read().count, spread.read().total) == (80_000, 80_000.0)


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        (FloodWait(3.0), "flood_wait"),
        (Unreachable("nobody"), "unreachable"),
        (Unknown("silence"), "unknown"),
        (NotSent("no route"), "not_sent"),
        (Rejected("no"), "not_sent"),
    ],
)
def test_why_a_part_was_put_off_is_one_of_a_few_words(why: SendError, reason: str) -> None:
    tally = Tally()
    tally.put_off(BOT, why)
    assert dict(tally.put_offs) == {(BOT, reason): 1}


def test_a_wait_told_by_a_clock_that_was_set_back_is_none() -> None:
    tally = Tally()
    tally.asked(-5.0)
    tally.asked(None)
    reading = tally.wait_s.read()
    assert (reading.count, reading.total) == (1, 0.0)


def test_faults_of_writes_are_numbered() -> None:
    tally = Tally()
    assert tally.last_write_fault is None
    tally.write_failed(StoreFull("full"))
    last = StoreError("gone")
    tally.write_failed(last)
    assert tally.write_faults == {"full": 1, "other": 1}
    assert tally.last_write_fault == (last, 2)


def test_a_reload_that_was_refused_is_told_until_a_good_one() -> None:
    tally = Tally()
    told = []
    for good in (False, True):
        tally.reloaded(good=good)
        told.append(tally.last_reload_good)
    assert told == [False, True]
    assert (tally.reloads[True], tally.reloads[False]) == (1, 1)
