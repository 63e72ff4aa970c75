"""The gate: who is heard, from what it is told alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from core.desk.gate import Drop, Known, Pass, Stranger, judge
from core.people.access import EVERY_GROUP, Access, DirectMode, identity_of, user_of
from core.store.people import Role
from core.vocabulary import Address, BotName, ChatId, ChatKind, EventId, Message, MessageId, Sender, UserId

MESSAGE = Message(
    event=EventId("1"), message=MessageId("1"), address=Address(bot=BotName("b"), chat=ChatId("c")),
    kind=ChatKind.DIRECT, sender=Sender(user=UserId("7"), name="x"), text="hi",
    sent_at=datetime(2026, 3, 2, tzinfo=UTC), addressed=True,
)  # fmt: skip
GROUP = replace(MESSAGE, kind=ChatKind.GROUP)
LISTED = Access(direct="off", groups=frozenset({ChatId("c")}))


@pytest.mark.parametrize(
    ("direct", "role", "decision"),
    [
        ("pairing", None, Stranger()),
        ("pairing", Role.USER, Pass(role=Role.USER)),
        ("pairing", Role.GUEST, Pass(role=Role.GUEST)),
        ("pairing", Role.BLOCKED, Drop(reason="blocked")),
        ("allow", None, Drop(reason="not_allowed")),
        ("allow", Role.OWNER, Pass(role=Role.OWNER)),
        ("open", None, Pass(role=Role.GUEST)),
        ("open", Role.BLOCKED, Drop(reason="blocked")),
        ("off", Role.OWNER, Drop(reason="direct_off")),
    ],
)
def test_direct_messages(direct: DirectMode, role: Role | None, decision: object) -> None:
    assert judge(MESSAGE, Access(direct=direct), Known(role=role)) == decision


def test_groups() -> None:
    assert judge(GROUP, LISTED, Known(role=None)) == Pass(role=Role.GUEST)
    assert judge(GROUP, Access(direct="open"), Known(role=Role.OWNER)) == Drop(reason="group_not_listed")
    assert judge(GROUP, Access(direct="off", groups=frozenset({EVERY_GROUP})), Known(role=None)) == Pass(
        role=Role.GUEST
    )
    assert judge(replace(GROUP, addressed=False), LISTED, Known(role=Role.OWNER)) == Drop(reason="not_addressed")
    assert judge(replace(GROUP, addressed=False, text="/stop"), LISTED, Known(role=None)) == Pass(role=Role.GUEST)
    assert judge(replace(GROUP, addressed=False, text="/foo"), LISTED, Known(role=None)) == Drop(reason="not_addressed")
    assert judge(GROUP, LISTED, Known(role=Role.BLOCKED)) == Drop(reason="blocked")
    assert judge(replace(GROUP, kind=ChatKind.THREAD), LISTED, Known(role=None)) == Pass(role=Role.GUEST)


@pytest.mark.parametrize("kind", list(ChatKind))
def test_nobody_and_bots_are_never_heard(kind: ChatKind) -> None:
    for access in (LISTED, Access(direct="open", groups=frozenset({EVERY_GROUP}), local=True)):
        anonymous = replace(MESSAGE, kind=kind, sender=Sender(user=None, name="channel"))
        bot = replace(MESSAGE, kind=kind, sender=Sender(user=UserId("7"), name="x", is_bot=True))
        assert judge(anonymous, access, Known(role=Role.OWNER)) == Drop(reason="not_a_person")
        assert judge(bot, access, Known(role=Role.OWNER)) == Drop(reason="bot")


def test_roles_come_from_the_configuration_or_the_store_and_blocking_wins_over_a_list() -> None:
    access = Access(direct="allow", owners=frozenset({"t:1"}), allowed=frozenset({"t:2"}))
    assert access.role("t:1", None) is Role.OWNER
    assert access.role("t:2", None) is Role.USER
    assert access.role("t:2", Role.BLOCKED) is Role.BLOCKED
    assert access.role("t:3", None) is None
    assert access.role("t:3", Role.GUEST) is Role.GUEST


def test_an_identity_is_of_platform_realm_and_user() -> None:
    assert identity_of("slack", Sender(user=UserId("U1"), name="x", realm="T1")) == "slack:T1/U1"
    assert identity_of("telegram", Sender(user=UserId("7"), name="x")) == "telegram:7"
    assert identity_of("telegram", Sender(user=None, name="x")) is None
    assert user_of("slack:T1/U1") == "U1"
    assert user_of("telegram:7") == "7"


HEARD = Access(direct="open", groups=frozenset({ChatId("c")}), allow_bots=True)
BOT = replace(GROUP, sender=Sender(user=UserId("9"), name="bot", is_bot=True))


@pytest.mark.parametrize("kind", list(ChatKind))
def test_bots_are_heard_where_that_is_allowed_and_in_company_only(kind: ChatKind) -> None:
    said = replace(BOT, kind=kind)
    heard = kind is not ChatKind.DIRECT
    assert judge(said, HEARD, Known(role=None)) == (Pass(role=Role.GUEST) if heard else Drop(reason="bot"))
    assert judge(said, replace(HEARD, allow_bots=False), Known(role=None)) == Drop(reason="bot")


def test_bots_have_to_mention_us_also_in_our_threads_and_with_commands() -> None:
    for said in (replace(BOT, addressed=False), replace(BOT, addressed=False, text="/stop")):
        for kind in (ChatKind.GROUP, ChatKind.THREAD):
            assert judge(replace(said, kind=kind), HEARD, Known(role=None, ours=True)) == Drop(reason="bot")


def test_a_breaker_that_has_tripped_keeps_bots_out_and_nobody_else() -> None:
    assert judge(BOT, HEARD, Known(role=None, loops=True)) == Drop(reason="bot_loop")
    assert judge(GROUP, HEARD, Known(role=None, loops=True)) == Pass(role=Role.GUEST)
    assert judge(BOT, HEARD, Known(role=Role.BLOCKED)) == Drop(reason="blocked")
    assert judge(replace(BOT, address=replace(BOT.address, chat=ChatId("d"))), HEARD, Known(role=None)) == Drop(
        reason="group_not_listed"
    )


def test_a_thread_of_ours_needs_no_mention_and_a_group_does() -> None:
    thread = replace(GROUP, kind=ChatKind.THREAD, addressed=False)
    assert judge(thread, LISTED, Known(role=None)) == Drop(reason="not_addressed")
    assert judge(thread, LISTED, Known(role=None, ours=True)) == Pass(role=Role.GUEST)
    assert judge(thread, LISTED, Known(role=Role.BLOCKED, ours=True)) == Drop(reason="blocked")
    assert judge(thread, Access(direct="open"), Known(role=Role.OWNER, ours=True)) == Drop(reason="group_not_listed")
    assert judge(replace(thread, text=" \n "), LISTED, Known(role=None, ours=True)) == Drop(reason="empty")


def test_c27_what_names_another_bot_is_for_us_only_if_it_names_us_too() -> None:
    other = replace(GROUP, kind=ChatKind.THREAD, addressed=False, for_another=True)
    for text in ("hello", "/status"):
        said = replace(other, text=text)
        assert judge(said, LISTED, Known(role=Role.OWNER, ours=True)) == Drop(reason="not_addressed")
        both = replace(said, addressed=True, for_another=False)
        assert judge(both, LISTED, Known(role=None, ours=True)) == Pass(role=Role.GUEST)


@pytest.mark.parametrize(
    ("listed", "within", "had", "heard"),
    [
        ("c", "", (), True),
        ("c", "server", (), True),
        ("server", "server", (), True),
        ("server", "", (), False),
        ("server", "other", ("old",), False),
        ("old", "", ("old", "older"), True),
        ("older", "x", ("old", "older"), True),
        ("d", "", ("old",), False),
        ("*", "", (), True),
    ],
)
def test_a_chat_is_listed_by_its_id_by_one_that_it_had_and_by_what_it_is_part_of(
    listed: str, within: str, had: tuple[str, ...], heard: bool
) -> None:
    access = Access(direct="off", groups=frozenset({ChatId(listed)}))
    known = Known(role=None, chats=frozenset(map(ChatId, had)))
    decision = judge(replace(GROUP, within=within), access, known)
    assert decision == (Pass(role=Role.GUEST) if heard else Drop(reason="group_not_listed"))


def test_a_list_of_nothing_lists_no_chat_that_is_part_of_nothing() -> None:
    assert judge(GROUP, Access(direct="off"), Known(role=None)) == Drop(reason="group_not_listed")
