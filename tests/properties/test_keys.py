"""Session keys are injective: no two places share one, whatever their ids hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.desk import keys
from core.vocabulary import Address, BotName, ChatId, ChatKind, ThreadId, UserId

PIECES = st.text(alphabet="ab/:%-.2Fdm grouptheadsu数", max_size=8) | st.text(max_size=6) | st.sampled_from(
    ["a:b", "a", "b:c", "c", "thread", "user", "a/thread/b", "%2F", "/", "dm", "group"]
)  # fmt: skip
SOME = PIECES.filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text))
Place = tuple[str, ChatKind, str, str | None, str, keys.Scope]
PLACES = st.tuples(
    SOME, st.sampled_from(ChatKind), SOME, st.none() | SOME, SOME, st.sampled_from(["chat", "user"])
)  # fmt: skip


def key(place: Place) -> str:
    bot, kind, chat, thread, user, scope = place
    address = Address(
        bot=BotName(bot), chat=ChatId(chat), thread=ThreadId(thread) if thread is not None else None
    )  # fmt: skip
    return keys.key_of(address, kind, user=UserId(user), path=None, person_id=None, group_scope=scope)


def meaning(place: Place) -> tuple[str | None, ...]:
    """What a key must tell apart."""
    bot, kind, chat, thread, user, scope = place
    if kind is ChatKind.DIRECT:
        return (bot, "dm", chat, thread)
    return (bot, "group", chat, thread, user if scope == "user" else None)


@given(PLACES, PLACES)
def test_two_places_have_one_key_exactly_if_they_are_one(one: Place, other: Place) -> None:
    assert (key(one) == key(other)) is (meaning(one) == meaning(other))


@given(PLACES, st.sampled_from(["chat", "thread", "user"]), SOME)
def test_a_place_that_differs_in_one_part_has_another_key(place: Place, part: str, new: str) -> None:
    bot, kind, chat, thread, user, scope = place
    changed = {
        "chat": (bot, kind, new, thread, user, scope),
        "thread": (bot, kind, chat, new, user, scope),
        "user": (bot, kind, chat, thread, new, scope),
    }[part]
    assert (key(place) == key(changed)) is (meaning(place) == meaning(changed))


@given(PLACES)
def test_a_key_holds_only_unreserved_characters_and_separators(place: Place) -> None:
    assert key(place).isascii()
    assert not set(key(place)) & set(" \n\t?#:")


def test_c05_a_chat_and_a_thread_do_not_run_together() -> None:
    one = key(("bot", ChatKind.THREAD, "a:b", "c", "u", "chat"))
    other = key(("bot", ChatKind.THREAD, "a", "b:c", "u", "chat"))
    assert one != other


@given(SOME, SOME)
def test_persons_and_bots_never_meet(person: str, chat: str) -> None:
    address = Address(bot=BotName("telegram"), chat=ChatId(chat))
    assert keys.person(person) != keys.direct(address)
