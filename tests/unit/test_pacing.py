"""Waits that a platform names: for one chat, or for every chat of the account."""

from __future__ import annotations

import pytest

from core.delivery.pacing import Bucket, ChatPace
from core.errors import FloodWait
from core.vocabulary import Capabilities, ChatKind, Pace, TextUnit

PACED = Capabilities(
    text_limit=400, text_unit=TextUnit.UTF16, edit_interval_s=1.0, direct_pace=Pace(interval_s=1.0, burst=3),
    group_pace=Pace(interval_s=4.0, burst=3), account_pace=Pace(interval_s=0.1, burst=3),
)  # fmt: skip
UNPACED = Capabilities(text_limit=400, text_unit=TextUnit.UTF16)


def two_chats(capabilities: Capabilities) -> tuple[ChatPace, ChatPace, Bucket]:
    account = Bucket(capabilities.account_pace)
    one, other = (ChatPace(capabilities, kind, account) for kind in (ChatKind.DIRECT, ChatKind.GROUP))
    return one, other, account


@pytest.mark.parametrize("capabilities", [PACED, UNPACED])
def test_a_wait_of_a_chat_leaves_the_others_alone(capabilities: Capabilities) -> None:
    one, other, account = two_chats(capabilities)
    one.obey(100.0, FloodWait(30.0))
    assert (one.send_in(110.0), one.edit_in(110.0), other.send_in(110.0)) == (20.0, 20.0, 0.0)
    assert (one.rested(110.0), other.rested(110.0), account.full(110.0)) == (False, True, True)
    assert one.send_in(130.0) == 0.0


@pytest.mark.parametrize("capabilities", [PACED, UNPACED])
def test_a_wait_of_the_account_is_every_chat_s(capabilities: Capabilities) -> None:
    one, other, account = two_chats(capabilities)
    one.obey(100.0, FloodWait(30.0, account=True))
    assert [pace.send_in(110.0) for pace in (one, other)] == [20.0, 20.0]
    assert other.edit_in(110.0) == 20.0
    assert ChatPace(capabilities, ChatKind.DIRECT, account).send_in(110.0) == 20.0
    assert not account.full(110.0)
    assert [pace.send_in(130.0) for pace in (one, other)] == [0.0, 0.0]
    assert account.full(130.0)


def test_a_shorter_wait_ends_no_longer_one_and_another_pace_none() -> None:
    one, other, account = two_chats(PACED)
    one.obey(100.0, FloodWait(30.0, account=True))
    other.obey(101.0, FloodWait(1.0, account=True))
    account.allow(None, 105.0)
    assert other.send_in(110.0) == 20.0
