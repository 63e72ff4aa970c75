"""Where people talk with a bot is known however much has been said elsewhere since."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from core.store import conversations, sessions
from core.store.conversations import SessionId
from core.store.engine import Store
from core.store.sql import Tx
from core.vocabulary import BotName, ChatKind
from tests.contract.scenes import NOW, address, begin, converse

ELSEWHERE = 5_001
OTHER = BotName("other")


async def test_a_quiet_conversation_is_found_behind_thousands_of_sessions(store: Store) -> None:
    def unit(tx: Tx) -> None:
        begin(tx, converse(tx, "7"), "quiet")
        busy = conversations.ensure(tx, "other/dm/8", replace(address("8"), bot=OTHER), ChatKind.DIRECT, NOW)
        latest = begin(tx, busy, "busy")
        for number in range(1, ELSEWHERE):
            touched = NOW + timedelta(seconds=number)
            sessions.start(tx, replace(latest, id=SessionId(f"busy{number}"), touched_at=touched))

    await store.write(unit)
    found = await store.read(lambda tx: conversations.last_heard(tx, "telegram", 10))
    assert [(one.address.chat, at) for one, at in found] == [("7", NOW)]


async def test_the_latest_come_first_and_no_more_than_are_wanted(store: Store) -> None:
    def unit(tx: Tx) -> None:
        for number in range(4):
            session = begin(tx, converse(tx, f"{number}"), f"s{number}")
            heard = NOW + timedelta(hours=number % 3)
            sessions.heard(tx, session, heard, None)

    await store.write(unit)
    found = await store.read(lambda tx: conversations.last_heard(tx, "telegram", 3))
    assert [one.address.chat for one, _ in found][:2] == ["2", "1"]
    assert len(found) == 3
