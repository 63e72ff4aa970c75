"""No chat and no account gets more than its platform allows, in any window."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.delivery.pacing import Bucket, ChatPace
from core.errors import FloodWait
from core.vocabulary import Capabilities, ChatKind, Pace, TextUnit

PACES = st.builds(Pace, interval_s=st.sampled_from([0.04, 0.5, 1.0, 4.0]), burst=st.integers(1, 6))
GAPS = st.lists(st.floats(0, 20, allow_nan=False), min_size=1, max_size=60)
STARTS = st.sampled_from([0.0, 1000.0])
EPSILON = 1e-6


def send_all(pace: ChatPace | Bucket, start: float, gaps: list[float]) -> list[float]:
    """Somebody who wants to send after each gap, and waits as long as told."""
    now, times = start, []
    for gap in gaps:
        now += gap
        now += pace.send_in(now) if isinstance(pace, ChatPace) else pace.ready_in(now)
        pace.spend(now)
        times.append(now)
    return times


def most_within(times: list[float], seconds: float) -> int:
    return max(sum(1 for other in times if first <= other < first + seconds - EPSILON) for first in times)


@given(PACES, STARTS, GAPS, st.floats(0.1, 100))
def test_a_bucket_lets_no_more_than_its_burst_and_its_refill_through(
    pace: Pace, start: float, gaps: list[float], window: float
) -> None:
    times = send_all(Bucket(pace), start, gaps)
    assert most_within(times, window) <= pace.burst + window / pace.interval_s + EPSILON


@given(PACES, STARTS, GAPS)
def test_a_bucket_fills_again(pace: Pace, start: float, gaps: list[float]) -> None:
    bucket = Bucket(pace)
    last = send_all(bucket, start, gaps)[-1]
    rested = last + (pace.burst + 1) * pace.interval_s
    assert bucket.full(rested)
    assert bucket.ready_in(rested) == 0


@given(STARTS, GAPS)
def test_a_group_gets_twenty_a_minute(start: float, gaps: list[float]) -> None:
    capabilities = Capabilities(
        text_limit=4096, text_unit=TextUnit.UTF16, edit_interval_s=1.0, direct_pace=Pace(interval_s=1.0, burst=5),
        group_pace=Pace(interval_s=4.0, burst=5), account_pace=Pace(interval_s=1 / 25, burst=5),
    )  # fmt: skip
    pace = ChatPace(capabilities, ChatKind.GROUP, Bucket(capabilities.account_pace))
    times = send_all(pace, start, [gap / 10 for gap in gaps])
    assert most_within(times, 60) <= 20
    assert most_within(times, 4) <= 5 + 1


@given(STARTS, GAPS, st.floats(0, 100))
def test_a_flood_wait_is_obeyed(start: float, gaps: list[float], wait: float) -> None:
    capabilities = Capabilities(text_limit=4096, text_unit=TextUnit.UTF16, edit_interval_s=1.0)
    pace = ChatPace(capabilities, ChatKind.DIRECT, Bucket(None))
    now = send_all(pace, start, gaps)[-1]
    pace.obey(now, FloodWait(wait))
    pace.obey(now, FloodWait(wait / 2, account=True))
    assert pace.send_in(now) >= wait - EPSILON
    assert pace.edit_in(now) >= wait - EPSILON
    assert pace.send_in(now + wait) == 0


@given(STARTS, st.floats(0, 5))
def test_edits_keep_their_interval_and_a_send_does_not_wait_for_it(start: float, gap: float) -> None:
    capabilities = Capabilities(text_limit=4096, text_unit=TextUnit.UTF16, edit_interval_s=2.0)
    pace = ChatPace(capabilities, ChatKind.DIRECT, Bucket(None))
    pace.spend(start)
    assert abs(pace.edit_in(start + gap) - max(0.0, 2.0 - gap)) < EPSILON
    assert pace.send_in(start + gap) == 0
