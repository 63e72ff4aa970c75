"""Buttons as they are made: each with an id of its own that any platform takes, bound to what was offered."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from core.chance import SystemRandom
from core.clock import SystemClock
from core.desk.commands.table import BY_NAME, parse
from core.desk.offering import TOKEN_CHARS, Choice, Offered, make
from core.desk.pressing import ordered
from core.service.notices import Notices
from core.store.buttons import Action
from core.vocabulary import Address, BotName, ChatId

NOTICES = Notices()
LABELS = ["button_resume", "button_stop", "button_approve", "button_deny", "let_in"]
TEXT = st.text(max_size=40)
CHOICES = st.lists(
    st.builds(Choice, label=st.sampled_from(LABELS), action=st.sampled_from(list(Action)), target=TEXT), max_size=6
)


def offered(identity: str, chat: str) -> Offered:
    return Offered(
        question="q", address=Address(bot=BotName("b"), chat=ChatId(chat)), identity=identity, conversation=None,
        expires_at=datetime(2026, 3, 2, tzinfo=UTC),
    )  # fmt: skip


@given(CHOICES, TEXT.filter(bool), TEXT)
def test_each_button_has_an_id_of_its_own_and_means_what_was_offered(
    choices: list[Choice], identity: str, chat: str
) -> None:
    chance = SystemRandom(SystemClock())
    made = make(offered(identity, chat), choices, lambda: chance.token(TOKEN_CHARS), NOTICES)
    assert [one.meaning.action for one in made] == [choice.action for choice in choices]
    assert [one.meaning.target for one in made] == [choice.target for choice in choices]
    assert {(one.meaning.identity, one.meaning.chat) for one in made} <= {(identity, chat)}
    ids = [one.button.data for one in made]
    assert ids == [one.meaning.id for one in made]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9]{16,32}", id_) for id_ in ids)
    assert all(1 <= len(one.button.label) <= 32 and one.button.label.isprintable() for one in made)


@given(CHOICES)
def test_there_are_none_where_nobody_could_press_them_or_nothing_makes_ids(choices: list[Choice]) -> None:
    assert make(offered("", "c"), choices, lambda: "x" * TOKEN_CHARS, NOTICES) == ()
    assert make(offered("telegram:7", "c"), choices, None, NOTICES) == ()


def test_ids_can_not_be_guessed_from_one_another() -> None:
    chance = SystemRandom(SystemClock())
    ids = [chance.token(TOKEN_CHARS) for _ in range(2000)]
    assert len(set(ids)) == len(ids)
    for place in range(TOKEN_CHARS):
        counts = [sum(id_[place] == c for id_ in ids) for c in {id_[place] for id_ in ids}]
        assert len(counts) > 20
        assert max(counts) < 5 * len(ids) / len(counts)


@given(st.sampled_from(list(Action)), st.uuids())
def test_a_button_becomes_a_command_of_the_table_with_its_lane(action: Action, target: object) -> None:
    choice = Choice(label="button_stop", action=action, target=str(target))
    [made] = make(offered("telegram:7", "c"), [choice], lambda: "x" * TOKEN_CHARS, NOTICES)
    order = ordered(made.meaning)
    if order is None:
        assert action is Action.LET_IN
        return
    parsed = parse(order.text)
    assert parsed is not None
    assert parsed.command == BY_NAME[order.command]
    assert parsed.command.lane is order.lane
    assert parsed.argument == str(target)
