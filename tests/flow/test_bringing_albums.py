"""Pictures that were sent together are one message."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from msgspec.structs import replace

from core.errors import BotError
from tests.flow.files import (
    bot_of,
    bring,
    picture,
    png,
    shown,
)
from tests.flow.house import House

APART = timedelta(seconds=20)


async def test_an_album_is_one_message_in_order_of_arrival(filing: House) -> None:
    bot = bot_of(filing)
    gates = {ref: asyncio.Event() for ref in "abc"}
    for ref, gate in gates.items():
        bot.holds(ref, png(seed=ord(ref))).gate = gate
    at = filing.clock.now()
    for text, ref in (("our trip", "a"), ("", "b"), ("", "c")):
        await bring(filing, text, picture(ref, f"{ref}.png"), more_likely=True, sent_at=at)
    for ref in "cba":
        gates[ref].set()
        await filing.idle()
    await filing.advance(2)
    assert filing.stage.texts == ["our trip\n[image a.png]\n[image b.png]\n[image c.png]"]
    assert await shown(filing) == [["a.png", "b.png", "c.png"]]


async def test_a_caption_that_is_as_long_as_can_be_is_not_glued_to_the_next_line(filing: House) -> None:
    bot = bot_of(filing)
    at = filing.clock.now()
    for ref in "ab":
        bot.holds(ref, png(seed=ord(ref)))
        await bring(filing, f"caption {ref}", picture(ref, f"{ref}.png"), more_likely=True, sent_at=at)
    await filing.advance(4)
    assert filing.stage.texts == ["caption a\n[image a.png]\ncaption b\n[image b.png]"]


async def test_a_piece_of_an_album_that_is_lost_loses_no_other(filing: House) -> None:
    bot = bot_of(filing)
    at = filing.clock.now()
    for ref in "abc":
        bot.holds(ref, png(seed=ord(ref)))
    bot.sources["b"].faults.append(BotError("no"))
    rows = [await bring(filing, "", picture(ref, f"{ref}.png"), more_likely=True, sent_at=at) for ref in "abc"]
    await filing.advance(4)
    assert filing.stage.texts == ["[image a.png]\n[image c.png]"]
    assert [await filing.fate(row) for row in rows] == ["merged", "refused", "answered"]
    assert len([text for text in filing.seen() if "b.png" in text and "could not" in text]) == 1


async def test_a_command_between_pieces_of_an_album_keeps_its_place(filing: House) -> None:
    bot = bot_of(filing)
    at = filing.clock.now()
    for ref in "ab":
        bot.holds(ref, png(seed=ord(ref)))
    await bring(filing, "", picture("a", "a.png"), more_likely=True, sent_at=at)
    await filing.say("/queue between", sent_at=at)
    await bring(filing, "", picture("b", "b.png"), more_likely=True, sent_at=at)
    await filing.advance(8)
    assert filing.stage.texts == ["[image a.png]", "between", "[image b.png]"]


async def test_other_peoples_pieces_are_other_messages(filing: House) -> None:
    bot = bot_of(filing)
    at = filing.clock.now()
    for number, user in enumerate(("8", "9", "8")):
        bot.holds(f"f{number}", png(seed=number))
        message = replace(
            filing.group_message("", user=user, more_likely=True, sent_at=at),
            attachments=(picture(f"f{number}", f"{number}.png"),),
        )
        await filing.offer(message)
    await filing.advance(8)
    assert filing.stage.texts == ["[image 0.png]", "[image 1.png]", "[image 2.png]"]
