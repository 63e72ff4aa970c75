"""What is one message: runs from the front, of one sender, close together; nothing is lost in joining."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from core.desk import coalesce
from core.desk.coalesce import Ref
from core.vocabulary import Address, BotName, ChatId, ChatKind, RowId

START = datetime(2026, 3, 2, tzinfo=UTC)


def ref(number: int, sender: str, command: str | None, seconds: float, more: bool) -> Ref:
    at = START + timedelta(seconds=seconds)
    return Ref(
        id=RowId(number), command=command, identity=sender, name=sender, role="user",
        address=Address(bot=BotName("b"), chat=ChatId("c")), kind=ChatKind.DIRECT, message=None, more_likely=more,
        sent_at=at, received_at=at,
    )  # fmt: skip


REFS = st.lists(
    st.tuples(
        st.sampled_from("xy"), st.sampled_from([None, None, None, "", "title"]), st.integers(-2, 4), st.booleans()
    ),
    min_size=1,
    max_size=120,
).map(
    lambda rows: [
        ref(number, sender, command, sum(gap for _, _, gap, _ in rows[: number + 1]), more)
        for number, (sender, command, _, more) in enumerate(rows)
    ]
)
DEBOUNCES = st.sampled_from([timedelta(0), timedelta(seconds=2)])


@given(REFS, DEBOUNCES)
def test_a_run_is_the_longest_from_the_front(refs: list[Ref], debounce: timedelta) -> None:
    run = coalesce.batch(refs, debounce)
    assert run == refs[: len(run)]
    assert all(coalesce.together(one, then, debounce) for one, then in itertools.pairwise(run))
    full = len(run) == min(len(refs), coalesce.MOST_ROWS)
    assert full or not coalesce.together(run[-1], refs[len(run)], debounce)


@given(REFS, DEBOUNCES)
def test_runs_are_of_one_sender_and_without_commands(refs: list[Ref], debounce: timedelta) -> None:
    run = coalesce.batch(refs, debounce)
    assert len({one.identity for one in run}) == 1
    assert len(run) == 1 or all(one.command is None for one in run)


@given(REFS, DEBOUNCES)
def test_nothing_waits_behind_a_command_and_never_longer_than_the_cap(refs: list[Ref], debounce: timedelta) -> None:
    run = coalesce.batch(refs, debounce)
    patience = coalesce.patience_s(run, whole=len(run) < len(refs), debounce=debounce)
    assert 0 <= patience <= coalesce.MOST_WAIT_S
    if len(run) < len(refs) or run[-1].command is not None:
        assert patience == 0


@given(st.lists(st.tuples(st.text(max_size=9), st.booleans()), min_size=1, max_size=9))
def test_joining_loses_nothing(texts: list[tuple[str, bool]]) -> None:
    whole = coalesce.join(texts)
    assert whole.replace("\n", "") == "".join(text for text, _ in texts).replace("\n", "")
    if all(split for _, split in texts[:-1]):
        assert whole == "".join(text for text, _ in texts)
    else:
        assert whole.count("\n") == sum(t.count("\n") for t, _ in texts) + sum(not s for _, s in texts[:-1])
