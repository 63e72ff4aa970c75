"""Three lanes: instant commands at once, control commands by the owner, the rest in order."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from core.agents.agent import AgentEvent, TurnContext
from core.errors import PollConflict
from core.service.notices import Notices
from core.vocabulary import ChatId, ChatKind, TextDelta, ThreadId, UserId
from tests.fakes.agents import Script
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.house import DAY, GROUP, House
from tests.flow.store import corrupting

INSTANT = ("/sessions", "/status", "/usage", "/export", "/whoami", "/version", "/nonsense")


@pytest.mark.parametrize("command", INSTANT)
async def test_an_instant_command_is_answered_during_a_turn_and_changes_nothing(house: House, command: str) -> None:
    await house.say("first")
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    before, session = house.seen(), await house.session()
    said = await house.say(command)
    assert len(house.heard_since(before)) == 1
    assert await house.fate(said) == "answered"
    assert await house.session() == session
    house.stage.gate().set()
    await house.idle()


@pytest.mark.parametrize("command", INSTANT)
async def test_an_instant_command_creates_no_conversation(house: House, command: str) -> None:
    await house.say(command)
    assert len(house.seen()) == 1
    assert await house.sessions() == []
    with pytest.raises(AssertionError):
        await house.conversation()


async def test_status_tells_what_runs_and_waits(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    await house.say("waits")
    await house.say("/status")
    assert "Running: yes. Waiting: 1" in house.seen()[-1]
    house.stage.gate().set()
    await house.idle()
    await house.say("/status")
    assert "Running: no. Waiting: 0" in house.seen()[-1]


async def test_stop_ends_the_turn_keeps_its_words_and_closes_what_waited(house: House) -> None:
    house.stage.on("slow", house.stage.waits(before=["half"]))
    slow = await house.say("slow")
    waited = [await house.say("one"), await house.say("/title x"), await house.say("two")]
    stop = await house.say("/stop")
    assert house.seen() == ["Stopped. 3 waiting messages were dropped."]
    assert [await house.fate(said) for said in waited] == ["closed"] * 3
    assert (await house.row(waited[0])).detail == str(stop.row)
    assert await house.fate(slow) == "answered"
    assert await house.told() == [("user", "slow"), ("assistant", "half")]
    assert (await house.log())[-1].data == {"cut": "cancelled"}
    await house.say("next")
    assert house.stage.asked[-1].history == (("user", "slow"), ("assistant", "half"))


async def test_stop_with_nothing_to_stop_says_so(house: House) -> None:
    await house.say("/stop")
    assert house.seen() == ["Nothing was running."]


async def test_what_comes_after_a_stop_runs_after_it(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    await house.receive(*[house.message(text) for text in ("gone", "/stop", "kept")])
    await house.idle()
    assert house.stage.texts == ["slow", "kept"]
    assert house.seen()[-1] == "re: kept"


async def test_reset_ends_the_turn_and_begins_anew(house: House) -> None:
    house.stage.on("slow", house.stage.waits(before=["half"]))
    await house.say("slow")
    await house.say("waits")
    old = await house.session()
    await house.say("/reset")
    assert house.seen()[-1] == "New conversation. /resume brings the last one back. 1 waiting message was dropped."
    new = await house.session()
    assert new.id != old.id
    assert new.reset is not None
    assert (new.reset.reason, new.reset.parent) == ("command", old.id)
    await house.say("fresh")
    assert house.stage.asked[-1].history == ()


async def test_c07_after_a_reset_everything_is_in_the_new_session(house: House) -> None:
    await house.say("one")
    old = await house.session()
    await house.say("/reset")
    await house.say("two")
    assert await house.told() == [("user", "two"), ("assistant", "re: two")]
    assert house.stage.asked[-1].history == ()
    assert house.stage.asked[-1].session != old.id


async def test_reset_with_text_runs_it_first_in_the_new_session(house: House) -> None:
    await house.say("one")
    reset = await house.offer(house.message("/reset  begin here"))
    await house.offer(house.message("then"))
    await house.idle()
    assert house.stage.texts == ["one", "begin here", "then"]
    assert house.stage.asked[1].history == ()
    assert await house.fate(reset) == "answered"
    assert house.seen()[1] == "New conversation. /resume brings the last one back."


async def test_a_reset_of_nothing_says_so(house: House) -> None:
    await house.say("/new")
    assert house.seen() == ["This is already a new conversation."]
    assert await house.sessions() == []
    await house.say("/new hello")
    assert house.stage.texts == ["hello"]


async def test_control_commands_act_in_their_order(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    await house.receive(*[house.message(text) for text in ("/reset a", "/stop", "/reset b", "c")])
    await house.idle()
    assert house.stage.texts == ["slow", "b", "c"]


async def test_c09_a_redelivered_reset_is_ignored_and_a_new_one_honoured(house: House) -> None:
    await house.say("one")
    first = await house.say("/reset")
    await house.say("two")
    session = await house.session()
    await house.restart()
    await house.clock.leap(600)
    await house.redeliver(first)
    assert (await house.session()).id == session.id
    await house.say("/reset")
    assert (await house.session()).id != session.id


async def test_steer_reaches_the_running_turn(house: House) -> None:
    house.stage.on("slow", house.stage.waits(before=["a "], after=[" b"]))
    await house.say("slow")
    steer = await house.say("/steer  be brief")
    house.stage.gate().set()
    await house.idle()
    assert house.stage.steered == ["be brief"]
    assert house.seen() == ["a [be brief] b"]
    assert (await house.row(steer)).fate == "merged"
    kinds = await house.told()
    assert kinds == [("user", "slow"), ("assistant", "a "), ("user", "be brief"), ("assistant", "[be brief] b")]
    await house.say("next")
    assert house.stage.asked[-1].history == tuple(kinds)
    assert house.core.cache.hits == 1


async def test_a_steer_that_was_not_taken_is_the_next_message(house: House) -> None:

    async def deaf(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await house.stage.gate().wait()
        yield TextDelta(text="deaf")

    script: Script = deaf
    house.stage.on("slow", script)
    await house.say("slow")
    await house.say("before")
    await house.say("/steer be brief")
    house.stage.gate().set()
    await house.idle()
    assert house.stage.texts == ["slow", "before", "be brief"]


async def test_a_steer_without_a_turn_is_a_message(house: House) -> None:
    await house.say("/steer hello")
    assert house.stage.texts == ["hello"]


async def test_a_steer_without_words_says_how(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    await house.say("/steer")
    house.stage.gate().set()
    await house.idle()
    assert house.stage.steered == []
    assert "Use /steer TEXT." in house.seen()
    await house.say("/steer")
    assert house.seen()[-1] == "Use /steer TEXT."


async def test_a_stop_closes_a_steer_that_was_not_taken(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    steer = await house.say("/steer be brief")
    await house.say("/stop")
    assert house.stage.texts == ["slow"]
    assert await house.fate(steer) == "closed"
    assert house.seen() == ["Stopped. 1 waiting message was dropped."]


async def test_queue_waits_whatever_busy_is(furnish: Furnish) -> None:
    house = await furnish(mailbox={"busy": "interrupt"})
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    await house.say("/queue later")
    house.stage.gate().set()
    await house.idle()
    assert house.stage.texts == ["slow", "later"]
    assert house.seen() == ["done", "re: later"]
    await house.say("/queue")
    assert house.seen()[-1] == "Use /queue TEXT."


async def test_commands_keep_their_place_among_messages(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    await house.receive(*[house.message(text) for text in ("a", "/title Named", "b", "/clear", "c")])
    house.stage.gate().set()
    await house.idle()
    assert house.stage.texts == ["slow", "a", "b", "c"]
    assert house.stage.asked[-1].history == ()
    assert house.stage.asked[-2].history[-1] == ("assistant", "re: a")
    assert (await house.session()).title == "Named"


async def test_commands_are_never_coalesced_even_when_they_become_messages(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    await house.receive(*[house.message(text) for text in ("/queue a", "b", "/queue c")])
    house.stage.gate().set()
    await house.idle()
    assert house.stage.texts == ["slow", "a", "b", "c"]


async def test_t07_an_unknown_command_for_us_is_told_as_one_in_groups_too(house: House) -> None:
    await house.say_in_group("/nonsense here")
    assert house.stage.texts == []
    assert house.seen(GROUP) == [Notices("en").say("command_unknown", name="nonsense")]


@pytest.mark.parametrize("command", ["/stop", "/reset", "/undo", "/clear", "/retry", "/resume 1"])
async def test_in_a_group_only_the_author_those_who_run_it_and_owners_may(house: House, command: str) -> None:
    bot = house.bot
    bot.admins.add((ChatId(GROUP), UserId("9")))
    house.stage.on("slow", house.stage.waits(before=["half"]))
    await house.say_in_group("first", user="7")
    await house.say_in_group("slow", user="7")
    await house.say_in_group(command, user="8")
    house.stage.gate().set()
    await house.idle()
    assert "Only the person who asked" in house.seen(GROUP)[1 if command in ("/stop", "/reset") else 2]
    key = f"main/group/{GROUP}"
    session = await house.session(key)
    assert ("assistant", "halfdone") in await house.told(key)
    for user in ("7", "9", "1"):
        await house.say_in_group("again", user="7")
        before = len(house.seen(GROUP))
        await house.say_in_group(command, user=user)
        assert not any("Only the person" in text for text in house.seen(GROUP)[before:])
    assert session is not None


async def test_in_a_group_the_author_may_stop(house: House) -> None:
    house.stage.on("slow", house.stage.waits())
    await house.say_in_group("slow", user="7")
    await house.say_in_group("/stop", user="7")
    assert house.seen(GROUP)[-1] == "Stopped."


async def test_who_runs_a_group_is_asked_once_in_minutes_and_no_answer_is_no(house: House) -> None:
    bot = house.bot
    await house.say_in_group("x", user="7")
    bot.admin_error = PollConflict("no")
    await house.say_in_group("/clear", user="8")
    assert "Only the person" in house.seen(GROUP)[-1]
    bot.admin_error = None
    bot.admins.add((ChatId(GROUP), UserId("8")))
    await house.say_in_group("/clear", user="8")
    await house.say_in_group("/clear", user="8")
    assert bot.asked_admin == 2
    assert "empty page" in house.seen(GROUP)[-1]
    await house.clock.leap(301)
    await house.say_in_group("/clear", user="8")
    assert bot.asked_admin == 3


async def test_everybody_has_their_own_conversation_where_groups_are_kept_by_user(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), session={"group_scope": "user"})
    await house.say_in_group("mine", user="7")
    await house.say_in_group("yours", user="8")
    await house.say_in_group("/reset", user="8")
    assert (await house.session(f"main/group/{GROUP}/user/7")).messages == 1
    assert house.stage.asked[1].history == ()


async def test_c05_keys_are_injective_in_fact(house: House) -> None:

    for chat, thread in (("a:b", "c"), ("a", "b:c"), ("a/thread/b", "c"), ("a", "b/thread/c")):
        address = replace(house.message("x").address, chat=ChatId("-100"), thread=ThreadId(f"{chat}|{thread}"))
        message = replace(house.group_message("hi"), address=address, kind=ChatKind.THREAD)
        await house.receive(message)
    await house.idle()
    assert len({asked.session for asked in house.stage.asked}) == 4
    assert all(asked.history == () for asked in house.stage.asked)


async def test_the_last_author_is_the_last_by_order_not_by_the_clock(house: House) -> None:
    await house.say_in_group("first", user="7")
    house.clock.jump(-2 * DAY)
    await house.say_in_group("second", user="8")
    await house.say_in_group("/undo", user="7")
    assert "Only the person" in house.seen(GROUP)[-1]
    await house.say_in_group("/undo", user="8")
    assert "Took back" in house.seen(GROUP)[-1]


async def test_an_instant_command_whose_answer_breaks_is_told_and_done(house: House) -> None:
    await house.say("one")
    session = await house.session()
    corrupting(house.state, f"UPDATE sessions SET kind = 'odd' WHERE id = '{session.id}'")
    said = await house.say("/status")
    assert await house.fate(said) == "refused"
    assert "I could not handle this message." in house.seen()[-1]
    corrupting(house.state, f"UPDATE sessions SET kind = 'direct' WHERE id = '{session.id}'")
