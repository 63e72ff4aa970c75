"""The two folds of a log that only grows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from core.store import history
from core.store.conversations import SessionId
from core.store.entries import Entry, Json, Kind

AT = datetime(2026, 3, 2, tzinfo=UTC)
SPOKEN = (Kind.USER, Kind.ASSISTANT, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.NOTICE)


@dataclass
class Log:
    """Grows as the desk lets it grow; `shown` and `seen` are kept by hand."""

    entries: list[Entry] = field(default_factory=list)
    live: list[int] = field(default_factory=list)
    summaries: list[tuple[int, int]] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)

    def add(self, kind: Kind, data: dict[str, Json] | None = None) -> None:
        entry = Entry(
            session=SessionId("s"), seq=len(self.entries) + 1, kind=kind, text=f"{len(self.entries) + 1}",
            data=data or {}, turn=None, sender=None, at=AT,
        )  # fmt: skip
        self.entries.append(entry)

    def say(self, kind: Kind) -> None:
        self.add(kind)
        seq = len(self.entries)
        self.seen.append(seq)
        if kind is not Kind.NOTICE:
            self.live.append(seq)

    def undo(self, back: int) -> None:
        users = [seq for seq in self.shown if self.entries[seq - 1].kind is Kind.USER]
        if back <= len(users):
            target = users[-back]
            self.add(Kind.REWIND, {"to": target})
            self.live = [seq for seq in self.live if seq < target]
            self.summaries = [(seq, upto) for seq, upto in self.summaries if upto < target]
            notices = {entry.seq for entry in self.entries if entry.kind is Kind.NOTICE}
            self.seen = [seq for seq in self.seen if seq < target or seq in notices]

    def clear(self) -> None:
        self.add(Kind.CLEAR)
        self.live, self.summaries = [], []

    def compact(self) -> None:
        spoken = [seq for seq in self.shown if self.entries[seq - 1].kind is not Kind.COMPACTION]
        if spoken:
            upto = spoken[len(spoken) // 2]
            self.add(Kind.COMPACTION, {"upto": upto})
            self.summaries.append((len(self.entries), upto))

    @property
    def shown(self) -> list[int]:
        """What is live and no summary stands for, behind the last summary."""
        if not self.summaries:
            return self.live
        summary, upto = self.summaries[-1]
        return [summary, *[seq for seq in self.live if seq > upto]]


STEPS = st.lists(
    st.sampled_from(SPOKEN) | st.integers(1, 4) | st.sampled_from(["clear", "compact"]), max_size=40
)  # fmt: skip


def play(steps: list[Kind | int | str]) -> Log:
    log = Log()
    for step in steps:
        match step:
            case Kind():
                log.say(step)
            case int():
                log.undo(step)
            case "clear":
                log.clear()
            case _:
                log.compact()
    return log


@given(STEPS)
def test_the_model_is_shown_what_is_left(steps: list[Kind | int | str]) -> None:
    log = play(steps)
    assert [entry.seq for entry in history.for_model(log.entries)] == log.shown


@given(STEPS)
def test_people_see_what_was_not_taken_back(steps: list[Kind | int | str]) -> None:
    log = play(steps)
    assert [entry.seq for entry in history.for_people(log.entries)] == log.seen


@given(STEPS, st.lists(st.sampled_from(SPOKEN)))
def test_a_fold_of_more_begins_from_the_fold_of_less(steps: list[Kind | int | str], more: list[Kind]) -> None:
    """Words that are added are added to the view, whatever was before."""
    log = play(steps)
    before = history.for_model(log.entries)
    spoken = [step for step in more if step is not Kind.NOTICE]
    for kind in spoken:
        log.say(kind)
    after = history.for_model(log.entries)
    assert after[: len(before)] == before
    assert len(after) == len(before) + len(spoken)


@given(STEPS)
def test_a_fold_changes_nothing_and_reads_any_iterable(steps: list[Kind | int | str]) -> None:
    log = play(steps)
    copy = list(log.entries)
    assert history.for_model(iter(log.entries)) == history.for_model(log.entries)
    assert log.entries == copy


@given(STEPS, st.integers(-2, 6))
def test_the_last_user_entries_are_counted_from_the_end(steps: list[Kind | int | str], back: int) -> None:
    log = play(steps)
    users = [seq for seq in log.shown if log.entries[seq - 1].kind is Kind.USER]
    found = history.last_user(log.entries, back)
    assert (None if found is None else found.seq) == (users[-back] if 0 < back <= len(users) else None)
