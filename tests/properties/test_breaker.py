"""The breaker against loops of bots: whatever the order of who speaks where, so many in a row and no more."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from core.desk.breaker import KEPT, MOST, Breaker
from core.vocabulary import Address, BotName, ChatId, ChatKind, EventId, Message, MessageId, Sender, ThreadId, UserId

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
        assert breaker.trips(message) == (since[place] > MOST)


@given(st.integers(1, 40), st.integers(1, 40))
def test_no_human_ever_trips_it(before: int, after: int) -> None:
    breaker = Breaker()
    for _ in range(before):
        breaker.trips(said("b", "c", is_bot=True))
    assert not any(breaker.trips(said("b", "c", is_bot=False)) for _ in range(after))
    assert not breaker.trips(said("b", "c", is_bot=True))


def test_what_it_keeps_is_bounded_and_a_loop_ends_all_the_same() -> None:
    breaker = Breaker()
    for chat in range(3 * KEPT):
        breaker.trips(said("b", f"{chat}", is_bot=True))
    assert len(breaker._in_a_row) <= KEPT
    assert [breaker.trips(said("b", "loop", is_bot=True)) for _ in range(20)] == [False] * MOST + [True] * (20 - MOST)
