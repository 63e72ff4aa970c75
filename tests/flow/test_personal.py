"""What a command says about somebody alone is for that person, also where it was typed among others."""

from __future__ import annotations

import pytest
from sqlalchemy import text as verbatim

from core.errors import Rejected, Unknown
from core.store.sql import Sql
from tests.flow.house import GROUP, House
from tests.flow.test_forgetting import forget

PERSONAL = ("/sessions", "/usage", "/whoami", "/forget")
BLOCKED = "What is for you alone I can't bring to you: write to me in private first, then ask again."
NAMED = Sql(verbatim("SELECT count(*) FROM deliveries WHERE alone IS NOT NULL"))
DOUBT = "My last answer may not have arrived: /again sends it once more."


@pytest.mark.parametrize("thread", [None, "5"])
@pytest.mark.parametrize("command", PERSONAL)
async def test_a_personal_answer_is_not_said_among_others(house: House, command: str, thread: str | None) -> None:
    said = await house.say_in_group(command, user="8", thread=thread)
    assert house.seen(GROUP) == []
    assert len(house.seen("8")) == 1
    assert await house.fate(said) == "answered"


async def test_titles_of_private_talks_stay_private(house: House) -> None:
    await house.say("hello", user="8")
    await house.say("/title my salary", user="8")
    await house.say_in_group("/sessions", user="8")
    assert not any("salary" in text for text in house.seen(GROUP))
    assert "my salary" in house.seen("8")[-1]


async def test_a_transcript_goes_to_whoever_asked_for_it(house: House) -> None:
    await house.say_in_group("hello", user="8")
    await house.say_in_group("/export", user="8")
    assert house.seen(GROUP) == ["re: hello"]
    assert len(house.seen("8")) == 1


@pytest.mark.parametrize("command", ["/status", "/version", "/title"])
async def test_what_is_about_nobody_is_said_to_all(house: House, command: str) -> None:
    await house.say_in_group(command, user="8")
    assert len(house.seen(GROUP)) == 1
    assert house.seen("8") == []


async def test_whoever_can_not_be_written_to_is_told_so_once(house: House) -> None:
    house.bot.fail(GROUP, Rejected("the bot can't begin"))
    await house.say_in_group("/whoami", user="8")
    assert house.seen(GROUP) == [BLOCKED]
    assert house.seen("8") == []


async def test_again_by_another_does_not_bring_it(house: House) -> None:
    house.bot.fail(GROUP, Unknown("x"))
    await house.say_in_group("/whoami", user="8")
    await house.advance(2)
    assert house.seen(GROUP) == [DOUBT]
    await house.say_in_group("/again", user="9")
    assert house.seen("9") == house.seen("8") == []
    await house.say_in_group("hello", user="9")
    await house.say_in_group("/again", user="9")
    assert house.seen("8") == []
    await house.say_in_group("/again", user="8")
    assert len(house.seen("8")) == 1


async def test_a_restart_knows_whom_alone_it_is_for(house: House) -> None:
    house.bot.fail(GROUP, Unknown("x"))
    await house.say_in_group("/whoami", user="8")
    await house.restart()
    await house.say_in_group("/again", user="8")
    assert len(house.seen("8")) == 1
    assert not any("user" in text for text in house.seen(GROUP))


async def test_forgetting_takes_the_name_away_from_what_was_told_alone(house: House) -> None:
    await house.say_in_group("/whoami", user="8")
    assert await house.store.read(lambda tx: tx.number(NAMED)) == 1
    await forget(house, user="8")
    assert await house.store.read(lambda tx: tx.number(NAMED)) == 0
