"""`explain`: each way that a message can end is told in one plain sentence, and nothing that is gone is made up."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import AgentError, ChatDead, VerbFailed
from core.vocabulary import Address, BotName, ChatId, EventId, Malformed
from tests.fakes.agents import raises
from tests.flow.asking import verb
from tests.flow.conftest import Furnish
from tests.flow.house import DAY, House, Said

HERE = "main/dm/7"


async def told(house: House, asked: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await verb(house, "explain", id=str(asked)))["findings"]
    assert all(one["sentence"].endswith(".") for one in found)
    return found


async def message(house: House, said: Said) -> dict[str, Any]:
    """What is told of one row, found by its id."""
    return next(one for one in await told(house, said.row) if one["what"] == "message" and one["id"] == said.row)


async def test_an_answered_message_names_its_turn_and_its_text_is_gone_and_not_empty(house: House) -> None:
    said = await house.say("hello")
    found = await message(house, said)
    assert (found["fate"], found["text"], found["message"]) == ("answered", None, said.message.message)
    assert f"was taken into turn {found['turn_id']}, which was answered" in found["sentence"]
    turn, of_turn, delivery = await told(house, found["turn_id"])
    assert (turn["what"], turn["key"], turn["state"]) == ("turn", HERE, "done")
    assert of_turn["id"] == said.row
    assert (delivery["state"], delivery["turn_id"]) == ("sent", turn["id"])


async def test_the_platforms_own_id_finds_the_message_and_the_answer(house: House) -> None:
    said = await house.say("hello", message="m-77")
    found = await told(house, "m-77")
    assert [one["id"] for one in found] == [said.row]
    shown = house.bot.chats[ChatId("7")][-1].id
    assert [(one["what"], one["message"]) for one in await told(house, shown)] == [("delivery", shown)]


async def test_a_reference_that_a_chat_was_shown_finds_its_turn(house: House) -> None:
    house.stage.on("break", raises(AgentError("broken")))
    await house.say("break it")
    reference = house.seen()[-1].partition("reference ")[2].rstrip(")")
    for asked in (reference, reference.lower()):
        turn, row, _ = await told(house, asked)
        assert (turn["state"], turn["reference"]) == ("failed", reference)
        assert "failed, which the chat was told" in row["sentence"]
        assert f"reference {reference}" in row["sentence"]


async def test_a_reference_is_found_behind_many_turns(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.store.lookups.WINDOW", 3)
    house.stage.on("break", raises(AgentError("broken")))
    await house.say("break it")
    reference = house.seen()[-1].partition("reference ")[2].rstrip(")")
    for number in range(8):
        await house.say(f"noise {number}", user="8")
    assert (await told(house, reference))[0]["reference"] == reference
    with pytest.raises(VerbFailed, match="nothing is known"):
        await told(house, "ABCD2345")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"is_bot": True}, "another bot"),
        ({"user": ""}, "no person"),
        ({"text": " "}, "nothing in it"),
    ],
)
async def test_ignored_messages_say_why(house: House, how: dict[str, Any], words: str) -> None:
    said = await house.say(how.pop("text", "hello"), chat="7", **how)
    found = await message(house, said)
    assert found["fate"] == "ignored"
    assert words in found["sentence"]


async def test_groups_that_are_not_listed_and_words_not_for_us_say_so(house: House) -> None:
    elsewhere = await house.say_in_group("hello", chat="-999")
    aside = await house.say_in_group("hello", addressed=False)
    assert "not listed in the bot's `groups`" in (await message(house, elsewhere))["sentence"]
    assert "not meant for the bot" in (await message(house, aside))["sentence"]


async def test_a_stranger_is_told_to_be_one_and_found_by_a_key_that_leads_nowhere_yet(furnish: Furnish) -> None:
    house = await furnish(access={"direct": "pairing"})
    said = await house.say("let me in")
    (found,) = await told(house, "main/dm/7")
    assert found["id"] == said.row
    assert "`frontdesk people approve CODE` lets them in" in found["sentence"]


@pytest.mark.parametrize(("direct", "words"), [("allow", "[access] allow"), ("off", "takes no direct messages")])
async def test_direct_messages_that_nobody_may_send_say_so(furnish: Furnish, direct: str, words: str) -> None:
    house = await furnish(access={"direct": direct})
    assert words in (await message(house, await house.say("hello")))["sentence"]


async def test_what_is_malformed_or_too_much_or_too_old_says_so(furnish: Furnish) -> None:
    house = await furnish(mailbox={"limit": 1})
    bad = Malformed(event=EventId("x"), address=Address(bot=BotName("main"), chat=ChatId("7")), reason="no text field")
    (receipt,) = await house.receive(bad)
    assert "can't be understood (no text field)" in (await told(house, receipt.row))[0]["sentence"]
    house.stage.on("slow", house.stage.waits("slow"))
    await house.say("slow one")
    waiting = await house.say("second")
    full = await house.say("third")
    assert "too many messages waited" in (await message(house, full))["sentence"]
    found = await message(house, waiting)
    assert (found["state"], found["text"]) == ("pending", "second")
    assert "waits for its turn" in found["sentence"]
    house.clock.jump(2 * DAY)
    house.stage.gate("slow").set()
    await house.idle()
    assert "stale_hours" in (await message(house, waiting))["sentence"]


async def test_commands_and_what_they_close_name_each_other(house: House) -> None:
    house.stage.on("slow", house.stage.waits("slow"))
    slow = await house.say("slow one")
    closed = await house.say("second")
    stop = await house.say("/stop")
    assert "which was stopped" in (await message(house, slow))["sentence"]
    assert f"dropped by the command /stop in message {stop.row}" in (await message(house, closed))["sentence"]
    assert "was the command /stop" in (await message(house, stop))["sentence"]


async def test_merged_messages_name_the_turn_that_answered_them(house: House) -> None:
    house.stage.on("slow", house.stage.waits("slow"))
    await house.say("slow one")
    first = await house.offer(house.message("a"))
    await house.offer(house.message("b"))
    house.stage.gate("slow").set()
    await house.idle()
    assert "was taken together with others into turn" in (await message(house, first))["sentence"]


async def test_a_session_says_why_it_began_and_why_it_ended(house: House) -> None:
    await house.say("first")
    first = await house.session()
    await house.say("/reset")
    second = await house.session()
    (ended,) = await told(house, first.id)
    assert "with 1 message; it ended" in ended["sentence"]
    assert "somebody asked for that" in ended["sentence"]
    (current,) = await told(house, second.id)
    assert (current["parent_id"], current["reset_reason"], current["ended_at"]) == (first.id, "command", None)
    assert "because somebody asked for a new one" in current["sentence"]


async def test_a_key_tells_the_latest_messages_in_order_and_what_waits_to_be_sent(house: House) -> None:
    rows = [(await house.say(f"number {n}")).row for n in range(25)]
    house.core.outbox.hold(house.bot.name)
    await house.say("last")
    assert (await verb(house, "explain", id=HERE))["limit"] == 20
    assert (await verb(house, "explain", id=str(rows[0])))["limit"] is None
    session, *found = await told(house, HERE)
    assert session["what"] == "session"
    messages = [one["id"] for one in found if one["what"] == "message"]
    assert messages == [*rows[-19:], rows[-1] + 1]
    assert [one["state"] for one in found if one["what"] == "delivery"] == ["queued"]
    house.core.outbox.open(house.bot.name)


async def test_a_session_that_was_deleted_leaves_how_its_turn_ended(house: House) -> None:
    said = await house.say("hello")
    house.stage.on("break", raises(AgentError("broken")))
    broken = await house.say("break it")
    reference = house.seen()[-1].partition("reference ")[2].rstrip(")")
    await verb(house, "sessions.delete", key=HERE)
    found = await message(house, said)
    assert (found["turn_id"], found["turn_state"], found["reason"]) == (None, "done", None)
    assert "was taken into a turn that was answered; its session was deleted since" in found["sentence"]
    (found,) = await told(house, reference)
    assert (found["id"], found["reason"]) == (broken.row, reference)
    assert f"failed, which the chat was told (reference {reference}); its session was deleted" in found["sentence"]


async def test_what_the_desk_s_owner_cut_short_is_not_told_as_answered_or_stopped_by_a_command(house: House) -> None:
    house.stage.on("slow", house.stage.waits("slow"))
    for name in ("end", "delete"):
        cut, behind = await house.say("slow one"), await house.say("behind it")
        await verb(house, f"sessions.{name}", key=HERE)
        assert "which was stopped" in (await message(house, cut))["sentence"] or name == "delete"
        assert "dropped when whoever runs the desk ended or deleted" in (await message(house, behind))["sentence"]
    assert "a turn that was stopped; its session was deleted" in (await message(house, cut))["sentence"]


async def test_what_a_forgotten_person_had_waiting_says_so(house: House) -> None:
    house.stage.on("slow", house.stage.waits("slow"))
    await house.say("slow one", chat="77")
    behind = await house.say("behind it", chat="77")
    await house.say("/forget")
    await house.say("/forget yes")
    await house.chores.forgetting()
    await house.idle()
    assert "dropped when its person was forgotten" in (await message(house, behind))["sentence"]


async def test_an_answer_that_was_not_sent_is_said_before_and_after_its_session_is_deleted(house: House) -> None:
    house.bot.fail("7", ChatDead("blocked"))
    said = await house.say("hello")
    turn, _, delivery = await told(house, (await message(house, said))["turn_id"])
    assert "was answered, but not all of the answer was sent" in (await message(house, said))["sentence"]
    await verb(house, "sessions.delete", key=HERE)
    assert "a turn that was answered, but not all of the answer was sent" in (await message(house, said))["sentence"]
    (gone,) = [one for one in await told(house, delivery["id"]) if one["what"] == "delivery"]
    assert (turn["state"], gone["turn_id"], gone["error"]) == ("done", None, None)
    assert "was not sent; why went with its session" in gone["sentence"]


async def test_a_command_that_there_is_not_is_told_as_that(house: House) -> None:
    said = await house.say("/nonsense")
    assert "was a command that there is not, which the chat was told" in (await message(house, said))["sentence"]


async def test_what_is_not_known_is_said(house: House) -> None:
    await house.say("hello")
    with pytest.raises(VerbFailed, match="nothing is known of 'nonsense'"):
        await verb(house, "explain", id="nonsense")


async def test_many_messages_elsewhere_do_not_hide_a_quiet_chat(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.store.lookups.WINDOW", 3)
    monkeypatch.setattr("core.service.verbs.explain.WINDOW", 3)
    said = await house.say("long ago")
    for number in range(8):
        await house.say(f"noise {number}", user="8")
    assert [one["id"] for one in await told(house, HERE) if one["what"] == "message"] == [said.row]
    assert (await told(house, said.message.message))[0]["id"] == said.row
