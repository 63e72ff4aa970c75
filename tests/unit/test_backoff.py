"""Waits between tries."""

from __future__ import annotations

import pytest

from core.backoff import Backoff, backoff_s
from tests.clock import ManualClock


class Least:
    """The least that chance may leave."""

    def uniform(self, low: float, high: float) -> float:
        return low


class Most:
    def uniform(self, low: float, high: float) -> float:
        return high


@pytest.mark.parametrize(("failures", "wait_s"), [(0, 1.0), (1, 2.0), (5, 32.0), (6, 60.0), (10_000, 60.0)])
def test_each_failure_doubles_the_wait_up_to_the_most(failures: int, wait_s: float) -> None:
    assert backoff_s(failures, 1.0, 60.0) == wait_s


def test_without_a_most_it_ends_growing_all_the_same() -> None:
    assert backoff_s(10_000, 0.05) == backoff_s(16, 0.05)


def test_the_upper_half_of_a_wait_is_left_to_chance() -> None:
    clock = ManualClock()
    assert [Backoff(clock, Least()).next_s(2, 60), Backoff(clock, Most()).next_s(2, 60)] == [1, 2]


def test_success_begins_anew_and_a_short_one_does_not() -> None:
    clock = ManualClock()
    waits = Backoff(clock, Most())
    assert [waits.next_s(), waits.next_s(), waits.next_s()] == [2, 4, 8]
    waits.worked()
    assert waits.next_s() == 2
    began_s = clock.monotonic()
    assert not waits.worked_since(began_s)
    assert waits.next_s() == 4
    clock.advance(60)
    assert waits.worked_since(began_s)
    assert waits.next_s() == 2
