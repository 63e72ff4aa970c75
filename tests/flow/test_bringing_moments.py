"""What else happens while the files of a message are being fetched, or wait."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from core.desk.porter import FETCH_S
from core.errors import BotError
from core.vocabulary import Quote
from tests.flow.conftest import Furnish
from tests.flow.files import (
    FilingBot,
    attached,
    bot_of,
    bring,
    bringing,
    enclosed,
    file,
    on_disk,
    picture,
    png,
    shown,
)
from tests.flow.house import House

APART = timedelta(seconds=20)


# commands meanwhile


@pytest.mark.parametrize("command", ["/stop", "/reset"])
async def test_a_fetch_that_hangs_ends_with_its_message(filing: House, command: str) -> None:
    source = bot_of(filing).holds("d")
    source.gate = asyncio.Event()
    said = await bring(filing, "read", file("d", name="a.txt"))
    assert source.open == 1
    await filing.say(command)
    assert await filing.fate(said) == "closed"
    assert source.open == 0
    assert "1" in filing.seen()[-1]
    await filing.say("hello")
    assert filing.stage.texts == ["hello"]
    assert on_disk(filing) == []


@pytest.mark.parametrize("command", ["/queue", "/reset", "/steer"])
async def test_a_command_that_is_a_message_keeps_files_that_are_still_on_their_way(filing: House, command: str) -> None:
    await filing.say("before")
    await filing.advance(60)
    source = bot_of(filing).holds("p", png())
    source.gate = asyncio.Event()
    await bring(filing, f"{command} what is this?", picture("p", "cat.png"))
    source.gate.set()
    await filing.idle()
    await filing.advance(5)
    assert filing.stage.texts[-1] == "what is this?\n[image cat.png]"
    assert (await shown(filing))[-1] == ["cat.png"]


@pytest.mark.parametrize(
    "command",
    [
        "/queue",
        "/reset",
        "/steer",
    ],
)
async def test_a_command_that_is_a_message_brings_its_files(filing: House, command: str) -> None:
    await filing.say("before")
    await filing.advance(60)
    bot_of(filing).holds("p", png())
    await bring(filing, f"{command} what is this?", picture("p", "cat.png"))
    assert filing.stage.texts[-1] == "what is this?\n[image cat.png]"
    assert (await shown(filing))[-1] == ["cat.png"]


async def test_a_steer_with_a_file_loses_it_not(filing: House) -> None:
    filing.stage.on("long", filing.stage.waits())
    await filing.say("long work")
    bot_of(filing).holds("p", png())
    await bring(filing, "/steer look at this", picture("p", "cat.png"))
    filing.stage.gate().set()
    await filing.idle()
    everything = " ".join([*filing.stage.texts, *filing.stage.steered, *filing.seen()])
    assert "cat.png" in everything


async def test_what_steers_a_turn_keeps_its_quote(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), mailbox={"busy": "steer"})
    house.stage.on("long", house.stage.waits())
    await house.say("long work")
    await house.advance(20)
    await bring(house, "not this one", quote=Quote(name="you", text="I begin with the attic."))
    house.stage.gate().set()
    await house.idle()
    assert house.stage.steered == ["> you: I begin with the attic.\n\nnot this one"]


async def test_a_message_with_files_steers_nothing_and_is_answered_after(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), mailbox={"busy": "steer"})
    house.stage.on("long", house.stage.waits())
    await house.say("long work")
    await house.advance(20)
    bot_of(house).holds("p", png())
    await bring(house, "and this?", picture("p", "cat.png"))
    house.stage.gate().set()
    await house.idle()
    assert house.stage.steered == []
    assert house.stage.texts == ["long work", "and this?\n[image cat.png]"]


async def test_a_message_with_files_interrupts_and_both_are_answered(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), mailbox={"busy": "interrupt"})
    house.stage.on("long", house.stage.waits())
    first = await house.say("long work")
    await house.advance(20)
    source = bot_of(house).holds("p", png())
    source.gate = asyncio.Event()
    second = await bring(house, "look here", picture("p", "cat.png"))
    assert house.stage.texts == ["long work"]
    source.gate.set()
    await house.ended(second)
    assert house.stage.texts == ["long work", "look here\n[image cat.png]"]
    assert [await house.fate(first), await house.fate(second)] == ["merged", "answered"]


async def test_what_interrupts_and_brings_nothing_in_the_end_leaves_the_turn_recorded(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), mailbox={"busy": "interrupt"})
    house.stage.on("long", house.stage.waits())
    first = await house.say("long work")
    await house.advance(20)
    source = bot_of(house).holds("d")
    source.gate = asyncio.Event()
    source.faults.append(BotError("no"))
    second = await bring(house, "", file("d", name="a.txt"))
    source.gate.set()
    await house.ended(second)
    assert await house.fate(second) == "refused"
    assert await house.fate(first) in ("answered", "merged")
    await house.say("hello")
    assert house.stage.texts[-1] == "hello"


@pytest.mark.parametrize("command", ["/title", "/help", "/usage"])
async def test_a_command_that_is_none_of_a_message_leaves_nothing_of_its_files(filing: House, command: str) -> None:
    await filing.say("before")
    source = bot_of(filing).holds("p", png())
    source.gate = asyncio.Event()
    said = await bring(filing, f"{command} x", picture("p", "cat.png"))
    assert await filing.fate(said) == "answered"
    assert source.open == 0
    assert on_disk(filing) == []


async def test_retry_brings_the_files_again(filing: House) -> None:
    bot = bot_of(filing)
    bot.holds("p", png())
    bot.holds("d", b"some words")
    await bring(filing, "look", picture("p", "cat.png"), file("d", name="a.txt"))
    [before] = [entry for entry in await filing.log() if entry.kind == "user"]
    await filing.say("/retry")
    await filing.advance(10)
    assert filing.stage.texts == ["look\n[image cat.png]\n[file a.txt]"] * 2
    [after] = [entry for entry in await filing.log() if entry.kind == "user" and entry.seq > before.seq]
    assert after.data["files"] == before.data["files"]


async def test_retry_keeps_the_quote_as_it_was_and_once(filing: House) -> None:
    bot_of(filing).holds("p", png())
    await bring(filing, "is it?", picture("p", "cat.png"), quote=Quote(name="Ada", text="A dog."))
    await filing.say("/retry")
    await filing.advance(10)
    assert filing.stage.texts == ["> Ada: A dog.\n\nis it?\n[image cat.png]"] * 2


async def test_retry_of_a_quote_alone_says_the_same(filing: House) -> None:
    await bring(filing, "is it?", quote=Quote(name="Ada", text="A dog."))
    await filing.say("/retry")
    assert filing.stage.texts == ["> Ada: A dog.\n\nis it?"] * 2


# edits, duplicates, restarts


async def test_an_edit_of_a_waiting_message_keeps_its_files(filing: House) -> None:
    source = bot_of(filing).holds("p", png())
    source.gate = asyncio.Event()
    said = await bring(filing, "waht is this?", picture("p", "cat.png"))
    await filing.edit(said, "what is this?")
    source.gate.set()
    await filing.ended(said)
    assert filing.stage.texts == ["what is this?\n[image cat.png]"]
    assert source.fetches == 1


async def test_an_edit_of_a_message_whose_files_have_come_keeps_them(filing: House) -> None:
    filing.stage.on("busy", filing.stage.waits())
    await filing.say("busy")
    await filing.advance(20)
    bot_of(filing).holds("p", png())
    said = await bring(filing, "waht?", picture("p", "cat.png"))
    assert (await enclosed(filing, said)).settled
    await filing.edit(said, "what?")
    filing.stage.gate().set()
    await filing.ended(said)
    assert filing.stage.texts[-1] == "what?\n[image cat.png]"


async def test_a_duplicate_while_it_is_fetched_fetches_nothing_twice(filing: House) -> None:
    source = bot_of(filing).holds("p", png())
    source.gate = asyncio.Event()
    said = await bring(filing, "look", picture("p", "cat.png"))
    await filing.redeliver(said)
    await filing.redeliver(said)
    source.gate.set()
    await filing.ended(said)
    await filing.redeliver(said)
    assert (source.fetches, source.most_open) == (1, 1)
    assert filing.stage.texts == ["look\n[image cat.png]"]


async def test_a_process_that_dies_while_fetching_begins_again(filing: House) -> None:
    source = bot_of(filing).holds("p", png())
    source.gate = asyncio.Event()
    said = await bring(filing, "look", picture("p", "cat.png"))
    await filing.restart(settle=False)
    source.gate.set()
    await filing.ended(said)
    assert filing.stage.texts == ["look\n[image cat.png]"]
    assert source.fetches == 2
    assert await attached(filing) == [("cat.png", 100)]


async def test_what_was_fetched_before_the_process_died_is_not_fetched_again(filing: House) -> None:
    filing.stage.on("busy", filing.stage.waits())
    await filing.say("busy")
    source = bot_of(filing).holds("p", png())
    await filing.advance(20)
    said = await bring(filing, "look", picture("p", "cat.png"))
    filing.stage.on("busy", filing.stage.waits("other", after=("again",)))
    filing.stage.gate("other").set()
    await filing.restart()
    await filing.ended(said)
    assert source.fetches == 1
    assert filing.stage.texts[-1] == "look\n[image cat.png]"


@pytest.mark.parametrize("write", range(1, 6))
@pytest.mark.parametrize("before", [True, False])
async def test_a_process_that_dies_at_any_write_answers_once_with_the_file(
    filing: House, write: int, before: bool
) -> None:
    bot = bot_of(filing)
    bot.holds("p", png())
    filing.store.dies_at, filing.store.dies_before = filing.store.writes + write, before
    message = bringing(filing, "look", picture("p", "cat.png"))
    task = asyncio.create_task(filing.desk.receive([message]))
    await filing.idle_dead()
    await filing.restart()
    task.cancel()
    [receipt] = await filing.desk.receive([message])
    async with asyncio.timeout(20):
        await filing.desk.settled(receipt.row)
    await filing.idle()
    users = [entry for entry in await filing.log() if entry.kind == "user"]
    assert [entry.text for entry in users] == ["look\n[image cat.png]"]
    assert await shown(filing) == [["cat.png"]]
    answers = [text for text in filing.seen() if text.startswith("re: look")]
    assert len(answers) <= 1
    assert answers or any("/again" in text for text in filing.seen())
    assert await attached(filing) == [("cat.png", 100)]


# sessions and bots come and go


async def test_a_session_that_ends_meanwhile_leaves_the_files_to_the_next(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), session={"reset": {"mode": "idle", "idle_minutes": 1}})
    await house.say("before")
    first = await house.session()
    await house.advance(55)
    source = bot_of(house).holds("p", png())
    source.gate = asyncio.Event()
    said = await bring(house, "look", picture("p", "cat.png"))
    await house.advance(FETCH_S - 5)
    await house.expire()
    source.gate.set()
    await house.ended(said)
    assert (await house.session()).id == first.id
    assert await shown(house) == [[], ["cat.png"]]


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_desk_that_ends_does_not_wait_for_files(filing: House, hangs: bool) -> None:
    """The next start fetches them: whatever hangs would hold up every stop for as long as it may."""
    source = bot_of(filing).holds("d", b"words")
    source.gate = asyncio.Event() if hangs else None
    await bring(filing, "read", file("d", name="a.txt"))
    filing.desk.stop_intake()
    draining = asyncio.create_task(filing.desk.drain(60))
    await filing.advance(0.5)
    over = draining.done()
    await filing.advance(60)
    await draining
    assert over
