"""`/export` sends what was said here as a file."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.store.files import Digest
from core.vocabulary import ChatId
from tests.flow.asking import verb
from tests.flow.conftest import Furnish
from tests.flow.files import FILING, FilingBot, NarrowBot, bot_of
from tests.flow.house import House

HERE = "main/dm/7"


@pytest.fixture
async def filing(furnish: Furnish) -> House:
    return await furnish(FilingBot())


async def test_an_export_is_a_file(filing: House) -> None:
    await filing.say("a secret")
    await filing.say("/export")
    [got] = bot_of(filing).received
    assert got.names == ("conversation-2026-03-02.md",)
    assert b"a secret" in got.contents[0]
    assert filing.seen()[-1] == "<conversation-2026-03-02.md>"


async def test_an_export_of_nothing_says_so(filing: House) -> None:
    await filing.say("/export")
    assert len(filing.seen()) == 1
    assert bot_of(filing).received == []


async def test_an_export_of_what_was_deleted_says_so(filing: House) -> None:
    await filing.say("hello")
    await verb(filing, "sessions.delete", key=HERE)
    said = await filing.say("/export")
    assert await filing.fate(said) == "answered"
    assert bot_of(filing).received == []


async def test_an_export_that_is_too_large_for_the_chat_comes_as_text(furnish: Furnish) -> None:
    house = await furnish(NarrowBot())
    bot = bot_of(house)
    assert isinstance(bot, NarrowBot)
    bot.limits = {ChatId("7"): 10}
    await house.say("a secret")
    await house.say("/export")
    assert bot.received == []
    assert any("a secret" in text for text in house.seen()[1:])


async def test_an_export_where_no_files_go_comes_as_text(furnish: Furnish) -> None:
    house = await furnish(FilingBot(capabilities=replace(FILING, upload_limit_bytes=0)))
    await house.say("a secret")
    await house.say("/export")
    assert any("a secret" in text for text in house.seen()[1:])


async def test_an_export_in_a_group_answers_whoever_asked(filing: House) -> None:
    await filing.say_in_group("hello")
    said = await filing.say_in_group("/export")
    [got] = bot_of(filing).received
    assert (got.chat, got.reply_to) == (said.message.address.chat, said.message.message)


async def test_a_fault_on_the_way_to_the_file_is_told_and_leaves_nothing_open(
    filing: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(_: bytes) -> Digest:
        raise OSError("stale file handle")

    await filing.say("a secret")
    monkeypatch.setattr(filing.store.files, "put", put)
    said = await filing.say("/export")
    assert await filing.fate(said) == "refused"
    assert "(reference " in filing.seen()[-1]
    assert bot_of(filing).received == []
