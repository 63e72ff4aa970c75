"""`send`: whoever runs the desk says something in a conversation."""

from __future__ import annotations

import pytest

from core.errors import ChatDead, VerbFailed
from core.service.verbs.messages import MOST_CHARS
from tests.flow.asking import verb
from tests.flow.house import House

HERE = "main/dm/7"


async def test_it_arrives_where_the_conversation_was_last_heard_and_stands_in_the_transcript(house: House) -> None:
    await house.say("hello")
    sent = await verb(house, "send", key=HERE, text="Maintenance at noon.")
    assert house.seen()[-1] == "Maintenance at noon."
    assert (sent["key"], sent["bot"], sent["chat"], sent["running"]) == (HERE, "main", "7", True)
    assert len(sent["deliveries"]) == 1
    assert (await house.told())[-1] == ("notice", "Maintenance at noon.")


async def test_the_model_is_not_shown_it_and_the_cached_agent_stays_good(house: House) -> None:
    await house.say("hello")
    await verb(house, "send", key=HERE, text="Maintenance at noon.")
    await house.say("again")
    assert house.stage.asked[-1].history == (("user", "hello"), ("assistant", "re: hello"))
    assert house.core.cache.misses.total() == 1


async def test_it_may_be_said_while_an_answer_is_made(house: House) -> None:
    house.stage.on("slow", house.stage.waits("slow"))
    await house.say("slow one")
    await verb(house, "send", key=HERE, text="Patience.")
    house.stage.gate("slow").set()
    await house.idle()
    assert house.seen() == ["Patience.", "done"]
    assert [kind for kind, _ in await house.told()] == ["user", "notice", "assistant"]


async def test_a_group_gets_it_in_its_thread(house: House) -> None:
    await house.say_in_group("hello", thread="5")
    await verb(house, "send", key="main/group/-100/thread/5", text="To all.")
    shown = house.bot.chats[next(iter(house.bot.chats))][-1]
    assert (shown.text, shown.thread, shown.reply_to) == ("To all.", "5", None)


async def test_a_long_text_goes_out_in_parts_in_order(house: House) -> None:
    await house.say("hello")
    before = house.seen()
    sent = await verb(house, "send", key=HERE, text="\n\n".join(f"{n} " + "x" * 300 for n in range(4)))
    parts = house.heard_since(before)
    assert len(parts) == len(sent["deliveries"]) == 4
    assert [part[0] for part in parts] == ["0", "1", "2", "3"]


async def test_a_session_that_has_ended_is_not_added_to(house: House) -> None:
    await house.say("hello")
    session = await house.session()
    await verb(house, "sessions.end", key=HERE)
    await verb(house, "send", key=session.id, text="Still there?")
    assert house.seen()[-1] == "Still there?"
    assert [entry.text for entry in await house.entries_of(session.id)] == ["hello", "re: hello"]


async def test_what_the_platform_refuses_is_failed_and_explained(house: House) -> None:
    await house.say("hello")
    house.bot.fail("7", ChatDead("blocked"))
    sent = await verb(house, "send", key=HERE, text="Maintenance at noon.")
    found = await verb(house, "explain", id=str(sent["deliveries"][0]))
    assert "was not sent after 1 attempt: blocked" in found["findings"][-1]["sentence"]


@pytest.mark.parametrize("text", ["", " ", "\n\u200b", "x" * (MOST_CHARS + 1)])
async def test_nothing_and_too_much_are_refused_with_words(house: House, text: str) -> None:
    await house.say("hello")
    with pytest.raises(VerbFailed) as raised:
        await verb(house, "send", key=HERE, text=text)
    assert raised.value.code == 2
    assert len(await house.deliveries()) == 1


async def test_an_unknown_key_is_said(house: House) -> None:
    with pytest.raises(VerbFailed, match="no conversation 'main/dm/9'"):
        await verb(house, "send", key="main/dm/9", text="hello")


async def test_it_goes_out_once_also_when_the_process_dies_in_between(house: House) -> None:
    await house.say("hello")
    house.core.outbox.hold(house.bot.name)
    await verb(house, "send", key=HERE, text="Maintenance at noon.")
    await house.restart()
    assert house.seen().count("Maintenance at noon.") == 1
