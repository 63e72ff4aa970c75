"""The gate: who is heard, from what it is told alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

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
