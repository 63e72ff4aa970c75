"""Buttons, moved chats and where owners are, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from core.desk.arrivals import Offer
from core.desk.intake import Terms, accept
from core.desk.moving import move
from core.desk.quota import IntakeQuotas
from core.people.access import Access
from core.service.notices import Notices
from core.store import (
    buttons,
    consents,
    conversations,
    deliveries,
    inbox,
    moves,
    owners,
    people,
    sessions,
    turns,
)
from core.store.buttons import Action, Meaning
from core.store.checks import check
from core.store.consents import ConsentId
from core.store.conversations import ConversationId, SessionId
from core.store.deliveries import Parcel, Posted
from core.store.engine import Store
from core.store.inbox import Fate
from core.store.people import Person, Role
from core.store.sql import Tx
from core.vocabulary import (
    Address,
    BotName,
    ChatId,
    ChatKind,
    EventId,
    MessageId,
    Moved,
    Press,
    RowId,
    Sender,
    TurnId,
    UserId,
    Verdict,
)
from tests.contract.scenes import LATER, NOW, address, arrive, begin, converse, open_turn

BOT = BotName("telegram")
ONE = Meaning(
    id="B1", question="q", bot=BOT, chat=ChatId("7"), identity="telegram:7", conversation=None, action=Action.RESUME,
    target="s", expires_at=LATER,
)  # fmt: skip


async def keep(store: Store, *made: Meaning) -> None:
    def unit(tx: Tx) -> None:
        for one in made:
            buttons.add(tx, one)

    await store.write(unit)


async def found(store: Store, id_: str) -> Meaning | None:
    return await store.read(lambda tx: buttons.find(tx, id_))


@pytest.mark.parametrize("action", list(Action))
async def test_a_button_is_kept_as_it_is(store: Store, action: Action) -> None:
    conversation = await store.write(converse)
    one = replace(ONE, action=action, conversation=conversation, target="ü'; DROP TABLE buttons; --", chat=ChatId("%"))
    await keep(store, one)
    assert await found(store, "B1") == one


@pytest.mark.parametrize("forged", ["", "b1", "B1 ", "B", "B%", "B_", "' OR 1=1; --", "x" * 100_000, "\u202eB1"])
async def test_nothing_else_finds_it(store: Store, forged: str) -> None:
    await keep(store, ONE)
    assert await found(store, forged) is None


@pytest.mark.parametrize("forged", ["\ud800", "B1\ud83d"])
async def test_what_can_not_be_stored_is_not_found(store: Store, forged: str) -> None:
    assert await found(store, forged) is None


async def test_neither_is_what_no_text_of_postgresql_holds(postgres_store: Store) -> None:
    assert await found(postgres_store, "B1\0") is None


async def test_using_one_uses_up_those_of_its_question(store: Store) -> None:
    await keep(store, ONE, replace(ONE, id="B2"), replace(ONE, id="B3", question="other"))
    assert await store.write(lambda tx: buttons.use(tx, "q", NOW))
    for set_back in (timedelta(0), timedelta(hours=6)):
        kept = [await found(store, id_) for id_ in ("B1", "B2", "B3")]
        assert [one is not None and one.is_good(NOW - set_back) for one in kept] == [False, False, True]
    assert not await store.write(lambda tx: buttons.use(tx, "q", NOW))


def pressed(number: int, data: str) -> Offer:
    press = Press(
        event=EventId(f"{number}"), address=Address(bot=BOT, chat=ChatId("7")), kind=ChatKind.DIRECT,
        sender=Sender(user=UserId("7"), name="x"), data=data, pressed_at=NOW, handle="",
    )  # fmt: skip
    return Offer(
        inbound=press, account="telegram:1", platform="telegram", access=Access(direct="open"), code=lambda: "",
        person=lambda: f"person {number}",
    )  # fmt: skip


async def press_at_once(store: Store, times: int, after: int = 0) -> list[Verdict]:
    """Somebody presses one button so many times, each time told by another event, numbered from `after`."""
    terms = Terms(
        limit=9, person_scope=False, user_scope=False, has_owners=True, conversations_per_hour=9,
        quotas=IntakeQuotas(), now_s=0.0,
    )  # fmt: skip
    offers = [pressed(number, "B1") for number in range(after, after + times)]
    accepted = await asyncio.gather(
        *[store.write(lambda tx, one=one: accept(tx, [one], terms, Notices(), NOW)) for one in offers]  # type: ignore[misc]
    )
    return [one.receipts[0].verdict for one in accepted]


async def test_of_many_presses_one_after_the_other_one_counts(store: Store) -> None:
    conversation = await store.write(converse)
    await keep(store, replace(ONE, conversation=conversation))
    verdicts = [verdict for number in range(3) for verdict in await press_at_once(store, 1, number)]
    assert verdicts.count(Verdict.ACCEPTED) == 1


TWO_STEPS = "core/desk/intake.py _press, core/store/buttons.py use: looked up and used up in two steps"


@pytest.mark.parametrize(
    "which",
    ["sqlite_store", "postgres_store"],
)
async def test_of_many_presses_at_once_one_counts(request: pytest.FixtureRequest, which: str) -> None:
    store: Store = request.getfixturevalue(which)
    conversation = await store.write(converse)
    counted = []
    for episode in range(4):
        await keep(store, replace(ONE, conversation=conversation))
        verdicts = await press_at_once(store, 20, 100 * episode)
        counted.append(verdicts.count(Verdict.ACCEPTED))
        assert await store.write(lambda tx: buttons.forget(tx, NOW + timedelta(days=2), 9)) == 1
    assert counted == [1] * 4


async def test_the_same_id_is_never_given_twice(store: Store) -> None:
    await keep(store, ONE)
    with pytest.raises(Exception, match=r"(?i)unique|constraint"):
        await keep(store, replace(ONE, question="other"))
    assert await found(store, "B1") == ONE


async def test_those_that_have_expired_go_in_pieces(store: Store) -> None:
    for number in range(7):
        await keep(store, replace(ONE, id=f"B{number}", expires_at=NOW + timedelta(seconds=number)))
    forget: Callable[[Tx], int] = lambda tx: buttons.forget(tx, NOW + timedelta(days=1, seconds=4), 3)  # noqa: E731  # a unit
    assert [await store.write(forget) for _ in range(3)] == [3, 2, 0]
    assert [await found(store, f"B{number}") is None for number in range(7)] == [True] * 5 + [False] * 2


# moved chats


def group_key(chat: str, below: str = "") -> str:
    return f"telegram/group/{chat}{below}"


def ensure(tx: Tx, key: str, chat: str) -> ConversationId:
    return conversations.ensure(tx, key, Address(bot=BOT, chat=ChatId(chat)), ChatKind.GROUP, NOW)


async def moved(store: Store, was: str, to: str) -> int:
    event = Moved(event=EventId("e"), address=Address(bot=BOT, chat=ChatId(was)), to=ChatId(to))
    return await store.write(lambda tx: move(tx, event, NOW))


async def leads(store: Store, key: str) -> ConversationId | None:
    return await store.read(lambda tx: conversations.find(tx, key))


async def test_what_waits_runs_and_goes_out_moves_without_the_messages_of_the_old_id(store: Store) -> None:
    def unit(tx: Tx) -> tuple[RowId | None, TurnId, ConversationId]:
        conversation = converse(tx)
        session = begin(tx, conversation, "s1")
        done = arrive(tx, conversation, "1")
        assert done is not None
        inbox.finish(tx, done, Fate.ANSWERED, NOW)
        row, turn = arrive(tx, conversation, "2"), open_turn(tx, session)
        parcel = Parcel(
            conversation=conversation, turn=turn, role=deliveries.PREVIEW, part=1, text="x", state=deliveries.SENDING,
            address=replace(address("7"), reply_to=MessageId("2")), kind=ChatKind.GROUP,
        )  # fmt: skip
        for message in (None, "55"):
            made = deliveries.post(tx, parcel, NOW)
            if message is not None:
                deliveries.hold(tx, made.id, MessageId(message))
        edit = deliveries.post(tx, replace(parcel, role=deliveries.REPLY), NOW)
        deliveries.settle(tx, replace(edit, state=deliveries.QUEUED, message=MessageId("56"), attempts=1))
        sent = deliveries.post(tx, replace(parcel, role=deliveries.NOTICE), NOW)
        deliveries.sent(tx, sent.id, MessageId("57"), NOW)
        ask = consents.Ask(id=ConsentId("C1"), call="1", waits=consents.Waits.CONSENT)
        consents.open_(tx, turns.get(tx, turn), ask, NOW, LATER)
        return row, turn, conversation

    row, turn, conversation = await store.write(unit)
    await moved(store, "7", "-9")

    def look(tx: Tx) -> None:
        waiting, running = inbox.pending(tx, row or RowId(0)), turns.get(tx, turn)
        assert waiting is not None
        assert [waiting.address, running.address] == [replace(address("-9"), reply_to=None)] * 2
        assert [one.message for one in (waiting,)] == [None]
        left = {one.role: one for one in (*deliveries.left_sending(tx), *unsent(tx, "-9"))}
        assert {role: (one.address.chat, one.address.reply_to, one.message) for role, one in left.items()} == {
            deliveries.PREVIEW: ("-9", None, None), deliveries.REPLY: ("-9", None, None),
        }  # fmt: skip
        assert len(deliveries.left_sending(tx)) == 1
        assert unsent(tx, "7") == []
        assert consents.last_in(tx, address("-9"), NOW) is not None
        assert consents.last_in(tx, address("7"), NOW) is None
        assert deliveries.unsent_in(tx, conversation) == 2

    await store.read(look)


def unsent(tx: Tx, chat: str) -> list[Posted]:
    return deliveries.unsent(tx, BOT, ChatId(chat), after=0, most=9)


async def test_all_keys_of_a_chat_move_and_no_others(store: Store) -> None:
    below = ("", "/user/8", "/thread/5", "/thread/5/user/8")
    made = [await store.write(lambda tx, end=end: ensure(tx, group_key("-1", end), "-1")) for end in below]  # type: ignore[misc]
    kept = {}
    for chat in ("-10", "-1%2F", "-1~", "-", "-2"):
        kept[group_key(chat)] = await store.write(lambda tx, chat=chat: ensure(tx, group_key(chat), chat))  # type: ignore[misc]
    kept["telegram/dm/-1"] = await store.write(lambda tx: ensure(tx, "telegram/dm/-1", "-1"))
    kept["telegramx/group/-1"] = await store.write(lambda tx: ensure(tx, "telegramx/group/-1", "-1"))
    assert await moved(store, "-1", "-9") == len(below)
    for end, conversation in zip(below, made, strict=True):
        assert await leads(store, group_key("-9", end)) == conversation
        assert await leads(store, group_key("-1", end)) is None
        address = (await store.read(lambda tx, one=conversation: conversations.get(tx, one))).address  # type: ignore[misc]
        assert address.chat == "-9"
    for key, conversation in kept.items():
        assert await leads(store, key) == conversation
    assert await store.read(check) == []


async def test_a_key_is_no_pattern(store: Store) -> None:
    for key in ("telegram/group/a", "telegram/group/ab", "telegram/group/A"):
        await store.write(lambda tx, key=key: ensure(tx, key, "a"))  # type: ignore[misc]
    for prefix in ("telegram/group/*", "telegram/group/?", "telegram/group/[a]", "telegram/group/_", "%"):
        keys = await store.read(lambda tx, prefix=prefix: moves.keys_below(tx, f"no/{prefix}"))  # type: ignore[misc]
        assert keys == []
    assert [key for key, _ in await store.read(lambda tx: moves.keys_below(tx, "telegram/group/a"))] == [
        "telegram/group/a", "telegram/group/ab",
    ]  # fmt: skip


async def test_where_there_is_a_conversation_already_the_old_one_wins(store: Store) -> None:
    old = await store.write(lambda tx: ensure(tx, group_key("-1"), "-1"))
    there = await store.write(lambda tx: ensure(tx, group_key("-9"), "-9"))
    await store.write(lambda tx: begin(tx, old, "s1"))
    await store.write(lambda tx: begin(tx, there, "s2"))
    await moved(store, "-1", "-9")
    assert await leads(store, group_key("-9")) == old
    assert (await store.read(lambda tx: sessions.get(tx, SessionId("s2")))).conversation == there
    assert await store.read(check) == []
    await moved(store, "-1", "-9")
    await moved(store, "-9", "-1")
    assert await leads(store, group_key("-1")) == old
    assert await store.read(check) == []


async def test_names_are_followed_back_and_never_for_ever(store: Store) -> None:
    for was, to in (("a", "b"), ("b", "c"), ("c", "a")):
        await moved(store, was, to)
    for chat in "abc":
        names = await store.read(lambda tx, chat=chat: moves.names_of(tx, BOT, ChatId(chat)))  # type: ignore[misc]
        assert names == {"a", "b", "c"}
    assert await store.read(lambda tx: moves.names_of(tx, BotName("other"), ChatId("b"))) == {"b"}
    assert await moved(store, "x", "x") == 0
    assert await store.read(lambda tx: moves.names_of(tx, BOT, ChatId("x"))) == {"x"}


async def test_moves_at_once_leave_one_conversation_a_key(store: Store) -> None:
    """What lost the race stored nothing, and is offered again."""
    await store.write(lambda tx: ensure(tx, group_key("-1"), "-1"))
    for _ in range(3):
        await asyncio.gather(
            *[moved(store, "-1", "-9") for _ in range(5)],
            *[store.write(lambda tx: ensure(tx, group_key("-9"), "-9")) for _ in range(5)],
            return_exceptions=True,
        )
    assert await moved(store, "-1", "-9") in (0, 1)
    assert await leads(store, group_key("-9")) is not None
    assert await store.read(check) == []


# where owners are


async def at_home(store: Store, user: str, *, bot: BotName = BOT, kind: ChatKind = ChatKind.DIRECT) -> None:
    def unit(tx: Tx) -> None:
        address = Address(bot=bot, chat=ChatId(user))
        conversation = conversations.ensure(tx, f"{bot}/{kind}/{user}", address, kind, NOW)
        begin(tx, conversation, f"{bot} {kind} {user}", f"telegram:{user}")

    await store.write(unit)


async def test_owners_of_the_store_and_of_the_configuration_are_found_once_each(store: Store) -> None:
    for user in ("1", "2", "3"):
        await at_home(store, user)
    for number, role in enumerate((Role.OWNER, Role.OWNER, Role.USER), start=1):
        person = Person(id=f"p{number}", name="x", role=role, identities=(f"telegram:{number}", f"other:{number}"))
        await store.write(lambda tx, person=person: people.add(tx, person, NOW))  # type: ignore[misc]
    named = ["telegram:2", "telegram:9"]
    places = await store.read(lambda tx: owners.places(tx, BOT, named))
    assert [(identity, address.chat) for identity, address in places] == [("telegram:2", "2"), ("telegram:1", "1")]
    assert {address.bot for _, address in places} == {BOT}


async def test_only_where_this_bot_talks_with_them_in_private(store: Store) -> None:
    await at_home(store, "1", bot=BotName("other"))
    await at_home(store, "1", kind=ChatKind.GROUP)
    assert await store.read(lambda tx: owners.places(tx, BOT, ["telegram:1"])) == []
    await at_home(store, "1")
    assert len(await store.read(lambda tx: owners.places(tx, BOT, ["telegram:1"]))) == 1
