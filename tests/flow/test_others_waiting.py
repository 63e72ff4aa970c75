"""What waits in a shared chat is its sender's: nobody drops it who neither asked it, nor runs the chat, nor owns us."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from core.vocabulary import ChatId, Message, UserId
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.files import FilingBot, Source, bot_of, bring, file
from tests.flow.house import GROUP, OWNER, House, Said

ADA, BOB, BOSS = "7", "8", "9"
PLACES = [None, "55"]
"""The group itself, and a thread in it."""
NOTHING = "Nothing was running."
NOT_YOURS = "Only the person who asked"


@pytest.fixture
async def filing(furnish: Furnish) -> House:
    house = await furnish(FilingBot())
    bot_of(house).clock = house.clock
    bot_of(house).admins.add((ChatId(GROUP), UserId(BOSS)))
    return house


def brought(house: House, text: str, ref: str, user: str, thread: str | None) -> tuple[Message, Source]:
    """A message in the shared chat whose file comes once its gate is opened."""
    source = bot_of(house).holds(ref, b"x" * 10)
    source.gate = asyncio.Event()
    message = house.group_message(text, user=user, thread=thread)
    return replace(message, attachments=(file(ref, name=f"{ref}.txt"),)), source


async def waits(house: House, text: str, ref: str, user: str, thread: str | None) -> tuple[Said, Source]:
    message, source = brought(house, text, ref, user, thread)
    said = await house.offer(message)
    await house.idle()
    return said, source


async def order(house: House, text: str, user: str, thread: str | None, *, killed: bool) -> None:
    """Say it; with `killed` the process dies once it is stored, and another one carries it out."""
    said = await house.offer(house.group_message(text, user=user, thread=thread))
    if killed:
        await house.restart(settle=False)
    await house.idle()
    assert await house.fate(said) == ("answered" if text in ("/stop", "/reset") else None)


async def come(house: House, sources: Sequence[Source]) -> None:
    """The files come."""
    for source in sources:
        assert source.gate is not None
        source.gate.set()
    await house.idle()
    await house.advance(3)


def asked(house: House) -> list[str]:
    """The first lines of what the agent was asked."""
    return [text.partition("\n")[0] for text in house.stage.texts]


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize("command", ["/stop", "/reset"])
@pytest.mark.parametrize("thread", PLACES)
async def test_a_waiting_question_is_nobody_elses_to_drop(
    filing: House, thread: str | None, command: str, answered: bool, killed: bool
) -> None:
    """`answered`: whoever gives the command was the last one to be answered; else there was no turn yet."""
    if answered:
        await filing.say_in_group("hello", user=BOB, thread=thread)
    hers, source = await waits(filing, "what is this", "a", ADA, thread)
    before = filing.seen(GROUP)
    await order(filing, command, BOB, thread, killed=killed)
    (told,) = filing.heard_since(before, GROUP)
    assert "dropped" not in told
    if command == "/stop":
        assert told == NOTHING
    assert await filing.fate(hers) is None
    await come(filing, [source])
    assert await filing.fate(hers) == "answered"
    assert asked(filing)[-1] == "what is this"
    if command == "/reset":
        assert filing.stage.asked[-1].history == ()


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("command", ["/stop", "/reset", "/reset go on"])
@pytest.mark.parametrize("thread", PLACES)
async def test_ones_own_waiting_messages_are_closed_and_no_others(
    filing: House, thread: str | None, command: str, killed: bool
) -> None:
    await filing.say_in_group("hello", user=BOB, thread=thread)
    hers, first = await waits(filing, "hers", "a", ADA, thread)
    his, second = await waits(filing, "his", "b", BOB, thread)
    await filing.advance(5)  # else her two are one
    later, third = await waits(filing, "hers too", "c", ADA, thread)
    before = filing.seen(GROUP)
    await order(filing, command, BOB, thread, killed=killed)
    assert filing.heard_since(before, GROUP)[0].endswith("1 waiting message was dropped.")
    await come(filing, [first, second, third])
    assert [await filing.fate(said) for said in (hers, his, later)] == ["answered", "closed", "answered"]
    after = ["go on"] if command.endswith("on") else []
    assert asked(filing) == ["hello", "hers", "hers too", *after]


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("command", ["/stop", "/reset"])
@pytest.mark.parametrize("user", [OWNER, BOSS])
@pytest.mark.parametrize("thread", PLACES)
async def test_who_runs_the_chat_and_owners_close_everybodys(
    filing: House, thread: str | None, user: str, command: str, killed: bool
) -> None:
    hers, first = await waits(filing, "hers", "a", ADA, thread)
    his, second = await waits(filing, "his", "b", BOB, thread)
    await order(filing, command, user, thread, killed=killed)
    assert filing.seen(GROUP)[-1].endswith("2 waiting messages were dropped.")
    await come(filing, [first, second])
    assert [await filing.fate(said) for said in (hers, his)] == ["closed", "closed"]
    assert asked(filing) == []


async def test_in_a_direct_chat_everything_is_closed(filing: House) -> None:
    bot_of(filing).holds("a", b"x").gate = asyncio.Event()
    said = await bring(filing, "mine", file("a"))
    await filing.say("/stop")
    assert filing.seen()[-1] == "Stopped. 1 waiting message was dropped."
    assert await filing.fate(said) == "closed"


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize(("command", "user"), [("/stop", BOB), ("/reset", BOB), ("/stop", BOSS), ("/reset", OWNER)])
@pytest.mark.parametrize("thread", PLACES)
async def test_of_a_burst_behind_ones_own_turn_only_ones_own_goes(
    filing: House, thread: str | None, command: str, user: str, killed: bool
) -> None:
    filing.stage.on("slow", filing.stage.waits())
    await filing.say_in_group("slow", user=BOB, thread=thread)
    burst = [
        filing.group_message(text, user=who, thread=thread)
        for text, who in (("hers", ADA), ("his", BOB), ("/title Plan", ADA), ("hers too", ADA))
    ]
    rows = [receipt.row for receipt in await filing.receive(*burst)]
    await filing.idle()
    await order(filing, command, user, thread, killed=killed)
    filing.stage.gate().set()
    await filing.idle()
    fates = [(await filing.row(row)).fate for row in rows]
    if user == BOB:
        assert fates == ["answered", "closed", "answered", "answered"]
        assert asked(filing) == ["slow", "hers", "hers too"]
        assert len({one.session for one in filing.stage.asked}) == (2 if command == "/reset" else 1)
    else:
        assert fates == ["closed"] * 4
        assert asked(filing) == ["slow"]


@pytest.mark.parametrize("command", ["/stop", "/reset"])
@pytest.mark.parametrize("thread", PLACES)
async def test_a_command_in_one_burst_with_anothers_question_leaves_it(
    filing: House, thread: str | None, command: str
) -> None:
    said = [("hers", ADA), ("his", BOB), (command, BOB)]
    burst = [filing.group_message(text, user=user, thread=thread) for text, user in said]
    rows = [receipt.row for receipt in await filing.receive(*burst)]
    await filing.idle()
    assert [(await filing.row(row)).fate for row in rows] == ["answered", "closed", "answered"]
    assert asked(filing) == ["hers"]


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("thread", PLACES)
async def test_ones_own_waiting_message_is_taken_back_while_another_is_answered(
    filing: House, thread: str | None, killed: bool
) -> None:
    filing.stage.on("slow", filing.stage.waits())
    slow = await filing.say_in_group("slow", user=ADA, thread=thread)
    his = await filing.say_in_group("his", user=BOB, thread=thread)
    hers = await filing.say_in_group("hers", user=ADA, thread=thread)
    await order(filing, "/stop", BOB, thread, killed=killed)
    assert filing.seen(GROUP)[-1] == "1 waiting message was dropped."
    await order(filing, "/stop", BOB, thread, killed=False)
    assert filing.seen(GROUP)[-1].startswith(NOT_YOURS)
    await order(filing, "/reset", BOB, thread, killed=False)
    assert filing.seen(GROUP)[-1].startswith(NOT_YOURS)
    filing.stage.gate().set()
    await filing.idle()
    assert [await filing.fate(said) for said in (slow, his, hers)] == ["answered", "closed", "answered"]
    assert "done" in filing.seen(GROUP)


async def test_what_the_asker_wanted_to_steer_with_goes_with_a_stop(filing: House) -> None:
    filing.stage.on("slow", filing.stage.waits())
    await filing.say_in_group("slow", user=ADA)
    hers = await filing.say_in_group("/steer rather that", user=ADA)
    await filing.say_in_group("/stop", user=ADA)
    assert await filing.fate(hers) == "closed"
    assert asked(filing) == ["slow"]


async def test_who_runs_a_chat_is_not_asked_where_it_makes_no_difference(filing: House) -> None:
    filing.stage.on("slow", filing.stage.waits())
    await filing.say_in_group("slow", user=ADA)
    await filing.say_in_group("more", user=ADA)
    await filing.say_in_group("/stop", user=ADA)
    assert filing.seen(GROUP) == ["Stopped. 1 waiting message was dropped."]
    assert bot_of(filing).asked_admin == 0


async def test_only_what_one_said_is_taken_back_and_asked_anew(filing: House) -> None:
    await filing.say_in_group("hers", user=ADA)
    await filing.say_in_group("his", user=BOB)
    await filing.say_in_group("/undo 2", user=BOB)
    assert filing.seen(GROUP)[-1].startswith(NOT_YOURS)
    await filing.say_in_group("/undo", user=BOB)
    assert filing.seen(GROUP)[-1].startswith("Took back")
    for command in ("/undo", "/retry"):
        await filing.say_in_group(command, user=BOB)
        assert filing.seen(GROUP)[-1].startswith(NOT_YOURS)
    assert asked(filing) == ["hers", "his"]
    await filing.say_in_group("his again", user=BOB)
    await filing.say_in_group("/undo 2", user=BOSS)
    assert filing.seen(GROUP)[-1].startswith("Took back")


async def test_who_runs_the_chat_takes_back_all_also_after_an_own_question(filing: House) -> None:
    await filing.say_in_group("hers", user=ADA)
    await filing.say_in_group("the boss's", user=BOSS)
    await filing.say_in_group("/undo 2", user=BOSS)
    assert filing.seen(GROUP)[-1].startswith("Took back")


@pytest.mark.parametrize("thread", PLACES)
async def test_only_who_asked_interrupts_an_answer(furnish: Furnish, thread: str | None) -> None:
    house = await furnish(AdminBot(), mailbox={"busy": "interrupt"})
    house.stage.on("slow", house.stage.waits())
    await house.say_in_group("slow", user=ADA, thread=thread)
    his = await house.say_in_group("his", user=BOB, thread=thread)
    assert asked(house) == ["slow"]
    await house.say_in_group("hers", user=ADA, thread=thread)
    assert asked(house) == ["slow"]
    house.stage.gate().set()
    await house.idle()
    assert asked(house) == ["slow", "his", "hers"]
    assert house.seen(GROUP) == ["done", "re: his", "re: hers"]
    assert await house.fate(his) == "answered"
    house.stage.on("long", house.stage.waits("long"))
    long = await house.say_in_group("long", user=ADA, thread=thread)
    await house.say_in_group("no, this", user=ADA, thread=thread)
    assert house.seen(GROUP)[-1] == "re: no, this"
    assert await house.fate(long) == "merged"
