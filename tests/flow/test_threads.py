"""C29: in a thread where the bot has a conversation nobody has to mention it; anywhere else they have to."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.vocabulary import Verdict
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, House, Said
from tests.flow.test_moving import NEW, move


async def murmur(house: House, text: str, *, user: str = "7", thread: str | None = "5", chat: str = GROUP) -> Said:
    """Something that names nobody."""
    return await house.say_in_group(text, user=user, thread=thread, chat=chat, addressed=False)


async def test_c29_a_thread_that_it_talks_in_needs_no_mention(house: House) -> None:
    assert (await murmur(house, "who is there?")).receipt.verdict is Verdict.IGNORED
    await house.say_in_group("you there?", thread="5")
    assert (await murmur(house, "go on")).receipt.verdict is Verdict.ACCEPTED
    assert (await murmur(house, "me too", user="8")).receipt.verdict is Verdict.ACCEPTED
    assert house.stage.texts == ["you there?", "go on", "me too"]


async def test_c29_over_a_restart_and_after_a_reset(house: House) -> None:
    await house.say_in_group("you there?", thread="5")
    await house.restart()
    assert (await murmur(house, "go on")).receipt.verdict is Verdict.ACCEPTED
    await house.say_in_group("/reset", thread="5")
    assert (await murmur(house, "anew")).receipt.verdict is Verdict.ACCEPTED


async def test_c29_a_thread_is_its_own_as_soon_as_somebody_spoke_to_it_there(house: House) -> None:
    """Also before the first message is answered, or even taken up."""
    first = house.group_message("you there?", thread="5")
    second = replace(house.group_message("and this?", thread="5", user="8"), addressed=False)
    elsewhere = replace(house.group_message("psst", thread="6", user="8"), addressed=False)
    receipts = await house.receive(first, second, elsewhere)
    assert [one.verdict for one in receipts] == [Verdict.ACCEPTED, Verdict.ACCEPTED, Verdict.IGNORED]
    await house.idle()
    assert house.stage.texts == ["you there?", "and this?"]


async def test_a_command_that_waits_makes_no_thread_its_own(house: House) -> None:
    first = house.group_message("/undo", thread="5")
    second = replace(house.group_message("psst", thread="5", user="8"), addressed=False)
    receipts = await house.receive(first, second)
    assert [one.verdict for one in receipts] == [Verdict.ACCEPTED, Verdict.IGNORED]


async def test_neither_its_group_nor_other_threads_become_its_own_by_that(house: House) -> None:
    await house.say_in_group("you there?", thread="5")
    for thread, chat in ((None, GROUP), ("6", GROUP), ("5", "-200"), ("55", GROUP)):
        assert (await murmur(house, "psst", thread=thread, chat=chat)).receipt.verdict is Verdict.IGNORED


async def test_a_conversation_in_the_group_is_none_in_its_threads(house: House) -> None:
    await house.say_in_group("you there?")
    assert (await murmur(house, "psst", thread=None)).receipt.verdict is Verdict.IGNORED
    assert (await murmur(house, "psst")).receipt.verdict is Verdict.IGNORED


async def test_with_one_conversation_a_person_a_thread_is_theirs_who_talked_in_it(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), session={"group_scope": "user"})
    await house.say_in_group("you there?", thread="5", user="7")
    assert (await murmur(house, "go on", user="7")).receipt.verdict is Verdict.ACCEPTED
    assert (await murmur(house, "me too", user="8")).receipt.verdict is Verdict.IGNORED


async def test_what_is_only_answered_at_once_makes_no_thread_its_own(house: House) -> None:
    await murmur(house, "/version")
    await murmur(house, "/help", user="8")
    assert (await murmur(house, "psst")).receipt.verdict is Verdict.IGNORED


@pytest.mark.parametrize("command", ["/stop", "/title x", "/undo"])
async def test_a_command_that_somebody_meant_for_another_bot_makes_no_thread_its_own(
    house: House, command: str
) -> None:
    await murmur(house, command)
    assert (await murmur(house, "psst")).receipt.verdict is Verdict.IGNORED


async def test_a_group_that_is_not_listed_has_no_threads_of_ours(furnish: Furnish) -> None:
    house = await furnish()
    said = await house.say_in_group("you there?", thread="5", chat="-999")
    assert said.receipt.verdict is Verdict.IGNORED
    assert (await murmur(house, "go on", chat="-999")).receipt.verdict is Verdict.IGNORED


async def test_a_thread_of_ours_does_not_let_everybody_speak(house: House) -> None:
    await house.say_in_group("you there?", thread="5")
    bot = await house.say_in_group("beep", thread="5", is_bot=True, addressed=False)
    nobody = await house.say_in_group("beep", thread="5", user="", addressed=False)
    empty = await murmur(house, "  ")
    assert {one.receipt.verdict for one in (bot, nobody, empty)} == {Verdict.IGNORED}


async def test_a_list_of_a_whole_server_holds_for_its_chats_and_threads(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), bots={"main": {"groups": [-4000]}})
    inside = replace(house.group_message("hello", chat="-41"), within="-4000")
    thread = replace(house.group_message("hello", chat="-41", thread="5"), within="-4000")
    outside = [
        replace(house.group_message("hello", chat="-42"), within=within) for within in ("", "-400", "-4000 ", "*")
    ]
    receipts = await house.receive(inside, thread, *outside)
    await house.idle()
    assert [one.verdict for one in receipts] == [Verdict.ACCEPTED] * 2 + [Verdict.IGNORED] * 4
    direct = replace(house.message("hello", user="7"), within="-4000")
    (receipt,) = await house.receive(direct)
    assert receipt.verdict is Verdict.ACCEPTED


async def test_a_chat_listed_by_its_id_is_listed_whatever_it_is_part_of(house: House) -> None:
    (receipt,) = await house.receive(replace(house.group_message("hello"), within="-77"))
    assert receipt.verdict is Verdict.ACCEPTED


async def test_a_thread_of_ours_stays_ours_when_its_group_moves(house: House) -> None:
    await house.say_in_group("you there?", thread="5")
    await move(house, GROUP, NEW)
    assert (await murmur(house, "go on", chat=NEW)).receipt.verdict is Verdict.ACCEPTED
    assert house.stage.asked[-1].history[0] == ("user", "you there?")
