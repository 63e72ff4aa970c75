"""The breaker against loops of bots: whatever the order of who speaks where, so many in a row and no more."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.desk.breaker import KEPT, MOST, Breaker
from core.vocabulary import (
    Address,
    BotName,
    ChatId,
    ChatKind,
    EventId,
    Message,
    MessageId,
    Receipt,
    RowId,
    Sender,
    ThreadId,
    UserId,
    Verdict,
)

SAID = Message(
    event=EventId("1"), message=MessageId("1"), address=Address(bot=BotName("b"), chat=ChatId("c")),
    kind=ChatKind.GROUP, sender=Sender(user=UserId("7"), name="x"), text="hi",
    sent_at=datetime(2026, 3, 2, tzinfo=UTC), addressed=True,
)  # fmt: skip


def said(bot: str, chat: str, *, is_bot: bool, thread: str | None = None) -> Message:
    address = Address(
        bot=BotName(bot), chat=ChatId(chat), thread=None if thread is None else ThreadId(thread)
    )  # fmt: skip
    return replace(SAID, address=address, sender=replace(SAID.sender, is_bot=is_bot))


def trips(breaker: Breaker, message: Message) -> bool:
    """Is it one too many? What is not is taken in."""
    [loops] = breaker.look([message])
    verdict = Verdict.IGNORED if loops else Verdict.ACCEPTED
    breaker.heard([message], [Receipt(verdict=verdict, row=RowId(1))])
    return loops


@given(st.integers(1, 30))
def test_a_batch_is_looked_at_as_if_its_messages_came_one_by_one(count: int) -> None:
    batch = [said("b", "c", is_bot=True)] * count
    assert Breaker().look(batch) == [number >= MOST for number in range(count)]


SPOKEN = st.lists(
    st.builds(
        said,
        st.sampled_from("ab"),
        st.sampled_from("cd"),
        is_bot=st.booleans(),
        thread=st.sampled_from([None, "t"]),
    ),
    max_size=60,
)


@given(SPOKEN)
def test_it_trips_for_what_comes_after_so_many_bots_in_a_row(spoken: list[Message]) -> None:
    breaker, since = Breaker(), dict[tuple[str, str], int]()
    for message in spoken:
        place = (message.address.bot, message.address.chat)
        since[place] = since.get(place, 0) + 1 if message.sender.is_bot else 0
        assert trips(breaker, message) == (since[place] > MOST)


@given(st.integers(1, 40), st.integers(1, 40))
def test_no_human_ever_trips_it(before: int, after: int) -> None:
    breaker = Breaker()
    for _ in range(before):
        trips(breaker, said("b", "c", is_bot=True))
    assert not any(trips(breaker, said("b", "c", is_bot=False)) for _ in range(after))
    assert not trips(breaker, said("b", "c", is_bot=True))


def test_what_it_keeps_is_bounded_and_a_loop_ends_all_the_same() -> None:
    breaker = Breaker()
    for chat in range(3 * KEPT):
        trips(breaker, said("b", f"{chat}", is_bot=True))
    assert len(breaker._in_a_row) <= KEPT
    assert [trips(breaker, said("b", "loop", is_bot=True)) for _ in range(20)] == [False] * MOST + [True] * (20 - MOST)
