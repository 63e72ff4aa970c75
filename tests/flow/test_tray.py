"""What waits in a mailbox: rows at their places, each with its own files."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from core.desk.coalesce import Ref
from core.desk.tray import Tray
from core.store.inbox import SPENT, Lane
from core.vocabulary import Address, ChatId, ChatKind, EventId, Moved, RowId
from tests.flow.clock import START
from tests.flow.house import GROUP, House


def a_ref(house: House, row: int) -> Ref:
    return Ref(
        id=RowId(row), command=None, identity="telegram:7", name="user 7", role="user",
        address=Address(bot=house.bot.name, chat=ChatId(GROUP)), kind=ChatKind.GROUP, message=None, more_likely=False,
        sent_at=START, received_at=START,
    )  # fmt: skip


async def test_a_row_that_went_and_came_again_waits_for_its_files_anew(house: House) -> None:
    ready = asyncio.Event()
    tray, ref = Tray(house.core, ready.set), replace(a_ref(house, 1), brings=True)
    assert tray.put(ref, Lane.ORDERED)
    assert not tray.put(ref, Lane.ORDERED)
    tray.drop({ref.id})
    assert (tray.waiting, tray.carries) == ([], False)
    assert tray.put(ref, Lane.ORDERED)
    await ready.wait()  # the first one's end was heard of
    assert tray.is_carried(ref)
    ready.clear()
    await ready.wait()
    assert not tray.carries


async def test_a_command_becomes_a_message_at_its_place_where_its_chat_is_by_then(house: House) -> None:
    tray = Tray(house.core, lambda: None)
    before, command, behind = (a_ref(house, row) for row in (1, 2, 3))
    for ref, lane in ((behind, Lane.ORDERED), (command, Lane.CONTROL), (before, Lane.ORDERED)):
        tray.put(ref, lane)
    tray.move(Moved(event=EventId("moved"), address=command.address, to=ChatId("-300")))
    tray.become_message(command.id)
    assert tray.controls == []
    assert [(ref.id, ref.command, ref.address.chat) for ref in tray.waiting] == [
        (1, None, "-300"), (2, SPENT, "-300"), (3, None, "-300"),
    ]  # fmt: skip
