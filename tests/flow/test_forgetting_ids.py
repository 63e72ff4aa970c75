"""S14: /forget leaves no id of the person in what leads to their conversations, and takes their files at once."""

from __future__ import annotations

import os

import pytest
from sqlalchemy import text as verbatim

from core.desk import forgetting
from core.errors import NotSent
from core.store.sql import Sql
from tests.flow.conftest import Furnish
from tests.flow.files import FilingBot, bot_of, bring, file, on_disk, png
from tests.flow.house import House
from tests.flow.test_forgetting import forget, names, settle

WHO = "990017"
_LEADS = Sql(
    verbatim("""
        SELECT (SELECT count(*) FROM keys WHERE key LIKE '%990017%')
            + (SELECT count(*) FROM conversations WHERE chat LIKE '%990017%' OR told IS NOT NULL)
            + (SELECT count(*) FROM buttons WHERE chat LIKE '%990017%')
            + (SELECT count(*) FROM facts WHERE value LIKE '%990017%') AS n
    """)
)


@pytest.fixture
async def filing(furnish: Furnish) -> House:
    return await furnish(FilingBot())


async def leads(house: House) -> int:
    """Rows by which one would find the person's id, besides those that go after eight days."""
    return await house.store.read(lambda tx: tx.number(_LEADS))


def age(house: House, seconds: float) -> None:
    """Files have their times from the disk, which the house's clock does not move."""
    at = house.clock.now().timestamp() - seconds
    for path in on_disk(house):
        os.utime(path, (at, at))


async def test_s14_keys_and_chats_of_own_conversations_go(house: House) -> None:
    await house.say("my secret", user=WHO)
    await house.say("/new", user=WHO)
    await house.say("hers", user="8")
    assert await leads(house) > 0
    await forget(house, user=WHO)
    assert house.seen(WHO)[-1].startswith("Forgotten")
    assert await leads(house) == 0
    assert [session.title for session in await house.sessions()] == ["hers"]
    await house.say("again", user="8")
    assert house.seen("8")[-1] == "re: again"


async def test_s14_who_comes_back_is_answered_in_a_conversation_of_its_own(house: House) -> None:
    await house.say("my secret", user=WHO)
    before = (await house.conversation(f"main/dm/{WHO}")).id
    await forget(house, user=WHO)
    await house.say("hello again", user=WHO)
    assert house.seen(WHO)[-1] == "re: hello again"
    assert (await house.conversation(f"main/dm/{WHO}")).id != before


async def test_s14_who_comes_back_at_once_keeps_the_new_conversation(house: House) -> None:
    await house.say("my secret", user=WHO)
    await house.say("/forget", user=WHO)
    await house.say("/forget yes", user=WHO)
    await house.advance(1)
    await house.say("hello again", user=WHO)
    await settle(house)
    [session] = await house.sessions()
    assert session.title == "hello again"
    await house.say("and more", user=WHO)
    assert (await house.session(f"main/dm/{WHO}")).id == session.id


async def test_s14_the_farewell_is_sent_before_the_chat_is_forgotten(house: House) -> None:
    await house.say("my secret", user=WHO)
    await house.say("/forget", user=WHO)
    house.bot.fail(WHO, NotSent("down"))
    await house.offer(house.message("/forget yes", user=WHO))
    for _ in range(4):
        await house.chores.forgetting()
    assert await leads(house) > 0
    await house.advance(60)
    await settle(house)
    assert house.seen(WHO)[-1].startswith("Forgotten")
    assert await leads(house) == 0


async def test_s14_own_files_go_at_once_and_an_export_too(filing: House) -> None:
    bot_of(filing).holds("d", b"my secret " * 10)
    await bring(filing, "keep this", file("d", name="secret.txt"))
    await filing.say("/export")
    assert len(on_disk(filing)) == 2
    age(filing, forgetting.FILE_REST.total_seconds() + 1)
    await forget(filing)
    assert on_disk(filing) == []


async def test_s14_a_file_of_just_now_goes_a_minute_later_also_after_a_restart(filing: House) -> None:
    """Somebody else may be about to refer to the same one."""
    bot_of(filing).holds("d", b"my secret " * 10)
    await bring(filing, "keep this", file("d", name="secret.txt"))
    age(filing, 1)
    await filing.say("/forget")
    await filing.say("/forget yes")
    for _ in range(5):
        await filing.chores.forgetting()
        await filing.idle()
    assert len(on_disk(filing)) == 1
    assert await filing.sessions() == []
    await filing.restart()
    age(filing, forgetting.FILE_REST.total_seconds() + 1)
    await settle(filing)
    assert on_disk(filing) == []


async def test_s14_a_file_that_somebody_else_has_too_stays(filing: House) -> None:
    bot_of(filing).holds("d", png())
    await bring(filing, "mine", file("d", name="cat.png"))
    await bring(filing, "hers", file("d", name="cat.png"), user="8")
    age(filing, 7_200)
    await forget(filing)
    assert len(on_disk(filing)) == 1
    assert await filing.store.read(lambda tx: [name for name in names(tx) if name.startswith("forget:")]) == []
