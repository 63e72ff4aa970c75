"""Buttons: each is good once, for one person in one chat, and whoever presses anything else is told so."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from core.errors import NotSent, StoreFull
from core.store import buttons, forgotten, people
from core.vocabulary import EventId, Sender, UserId, Verdict
from tests.flow.asking import verb
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, HOUR, OWNER, House
from tests.flow.pressing_bot import DONE, EXPIRED, SOMEBODY_ELSE_S, ButtonBot, button_bot, press, press_of
from tests.flow.reloading import Reloaded

IDLE = {"session": {"reset": {"mode": "idle", "idle_minutes": 60}}}


async def announced(house: House, *, user: str = "7", group: bool = False) -> str:
    """A session has ended, the next message met that: the data of its button."""
    say = house.say_in_group if group else house.say
    await say("before", user=user)
    await house.advance(2 * HOUR.total_seconds())
    await say("after", user=user)
    return button_bot(house).button("Resume", GROUP if group else user)


async def test_resume_brings_the_last_session_back_and_is_gone(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    await house.say("before")
    first = (await house.session()).id
    await house.advance(2 * HOUR.total_seconds())
    await house.say("after")
    bot = button_bot(house)
    assert bot.labels() == ["Resume"]
    assert "/resume" in house.seen()[1]  # the command is named beside the button
    receipt = await press(house, bot.button("Resume"))
    assert receipt.verdict is Verdict.ACCEPTED
    assert (await house.session()).id == first
    assert house.seen()[-1] == "Back in “before” (1 message)."
    assert bot.told == [(DONE, True)]
    assert bot.labels() == []
    assert (await house.row(receipt.row)).fate == "answered"


async def test_there_is_no_button_where_the_platform_has_none(house: House) -> None:
    await house.say("before")
    await house.advance(25 * 3600)
    await house.say("after")
    assert "/resume" in house.seen()[1]
    assert await house.store.write(lambda tx: buttons.forget(tx, house.clock.now() + 999 * HOUR, 9)) == 0


async def test_c16_of_two_presses_at_once_one_counts(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house)
    receipts = await house.receive(press_of(house, data), press_of(house, data))
    await house.idle()
    assert [receipt.verdict for receipt in receipts] == [Verdict.ACCEPTED, Verdict.REFUSED]
    assert button_bot(house).told == [(DONE, True), (EXPIRED, True)]
    assert len([text for text in house.seen() if text.startswith("Back in")]) == 1


async def test_a_redelivered_press_does_nothing_more_and_says_the_same(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house)
    first = await press(house, data, event="e")
    again = await press(house, data, event="e")
    await house.restart()
    third = await press(house, data, event="e")
    assert (again.verdict, third.verdict) == (Verdict.DUPLICATE, Verdict.DUPLICATE)
    assert first.row == again.row == third.row
    assert button_bot(house).told == [(DONE, True)] * 3
    assert len([text for text in house.seen() if text.startswith("Back in")]) == 1


async def test_a_refused_press_says_that_also_when_it_comes_again(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    await announced(house)
    await press(house, "nonsense", event="e")
    await press(house, "nonsense", event="e")
    assert button_bot(house).told == [(EXPIRED, True)] * 2


async def test_a_press_from_before_eight_days_is_not_taken_for_new(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house)
    await press(house, data, event="e")
    await house.clock.leap(9 * 24 * 3600)
    await house.chores.tidy()
    receipt = await press(house, data, event="e")
    assert receipt.verdict is Verdict.REFUSED
    assert button_bot(house).told[-1] == (EXPIRED, True)


@pytest.mark.parametrize("data", ["", "x" * 50_000, "' OR 1=1; --", "%", "KKKK*", "\U0001f4a9", "  ", "\n"])
async def test_forged_data_means_nothing(furnish: Furnish, data: str) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    good = await announced(house)
    receipt = await press(house, data)
    assert (receipt.verdict, receipt.reason) == (Verdict.REFUSED, "expired")
    assert button_bot(house).labels() == ["Resume"]
    assert (await press(house, good)).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize(
    "data",
    [
        "a\0b",
        "\ud800",
    ],
)
async def test_data_that_no_database_takes_does_not_hold_up_what_came_with_it(furnish: Furnish, data: str) -> None:
    house = await furnish(ButtonBot())
    receipts = await house.receive(press_of(house, data), house.message("hello"))
    await house.idle()
    assert [receipt.verdict for receipt in receipts] == [Verdict.REFUSED, Verdict.ACCEPTED]
    assert house.seen() == ["re: hello"]


async def test_a_foreign_press_changes_nothing_and_leaves_the_button_to_its_own(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house, group=True)
    before = house.seen(GROUP)
    for user in ("8", OWNER):
        assert (await press(house, data, user=user, chat=GROUP)).verdict is Verdict.REFUSED
    assert button_bot(house).told == [(SOMEBODY_ELSE_S, False)] * 2
    assert button_bot(house).labels(GROUP) == ["Resume"]
    assert house.seen(GROUP) == before
    assert (await press(house, data, chat=GROUP)).verdict is Verdict.ACCEPTED
    assert house.seen(GROUP)[-1].startswith("Back in")


async def test_a_press_from_another_chat_or_bot_changes_nothing(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), ButtonBot("other"), **IDLE)
    data = await announced(house)
    assert (await press(house, data, chat="-200")).verdict is Verdict.REFUSED
    (receipt,) = await house.receive(press_of(house, data, bot="other"))
    await house.idle()
    assert receipt.verdict is Verdict.REFUSED
    assert button_bot(house).labels() == ["Resume"]
    assert (await press(house, data)).verdict is Verdict.ACCEPTED


async def test_resume_is_good_for_a_week_by_the_clock(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), session={"reset": {"mode": "idle", "idle_minutes": 60 * 24 * 30}})
    house.options = {**house.options, **IDLE}
    await Reloaded(house).to(**IDLE)
    data = await announced(house)
    await house.clock.leap(7 * 24 * 3600 + 1)
    receipt = await press(house, data)
    assert receipt.verdict is Verdict.REFUSED
    assert button_bot(house).told == [(EXPIRED, True)]
    await house.clock.leap(24 * 3600)
    await house.chores.tidy()
    assert await house.store.read(lambda tx: buttons.find(tx, data)) is None


async def test_c17_a_button_survives_a_restart_and_its_use_too(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house)
    await house.restart()
    assert (await press(house, data)).verdict is Verdict.ACCEPTED
    await house.restart()
    assert (await press(house, data)).verdict is Verdict.REFUSED
    assert button_bot(house).told == [(DONE, True), (EXPIRED, True)]


async def test_a_press_that_the_store_refuses_is_good_when_it_comes_again(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house)
    house.store.full = True
    with pytest.raises(StoreFull):
        await house.receive(press_of(house, data, event="e"))
    assert button_bot(house).told == []
    house.store.full = False
    assert (await press(house, data, event="e")).verdict is Verdict.ACCEPTED
    assert house.seen()[-1].startswith("Back in")


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("death", range(4))
async def test_an_accepted_press_has_one_end_wherever_the_process_dies(
    furnish: Furnish, death: int, before: bool
) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house)
    house.store.dies_at, house.store.dies_before = house.store.writes + 1 + death, before
    pressed = asyncio.ensure_future(house.receive(press_of(house, data, event="e")))
    await house.idle_dead()
    pressed.cancel()
    await asyncio.gather(pressed, return_exceptions=True)
    await house.restart()
    house.store.dies_at = None
    await press(house, data, event="e")
    assert len([row for row in await house.rows() if row.command == "resume"]) == 1
    assert {row.state for row in await house.rows()} == {"done"}
    assert (await house.session()).messages == 1
    assert len({text for text in house.seen() if text.startswith("Back in")}) <= 1


async def test_a_sign_that_can_not_be_shown_harms_nothing(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house)
    button_bot(house).answer_faults.extend([NotSent("x")])
    await press(house, data)
    assert house.seen()[-1].startswith("Back in")
    button_bot(house).answer_faults.extend([ValueError("a fault in the bot")])
    assert (await press(house, data)).verdict is Verdict.REFUSED
    await house.say("still here")
    assert house.seen()[-1] == "re: still here"


async def test_resume_of_a_session_that_was_deleted(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    await house.say("before")
    first = (await house.session()).id
    await house.advance(2 * HOUR.total_seconds())
    await house.say("after")
    second = (await house.session()).id
    await verb(house, "sessions.delete", key=first)
    await press(house, button_bot(house).button("Resume"))
    assert "No conversation of yours" in house.seen()[-1]
    assert (await house.session()).id == second


async def test_resume_of_what_is_current_already(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house)
    await house.say("/resume")
    session = (await house.session()).id
    await press(house, data)
    assert house.seen()[-1] == "That is the conversation you are in."
    assert (await house.session()).id == session


async def test_resume_of_what_is_in_use_elsewhere(furnish: Furnish) -> None:
    """The session went to another chat of the same person, and something runs there."""
    house = await furnish(ButtonBot(), ButtonBot("other"), **IDLE)
    await house.say("before")
    first = (await house.session()).id
    await house.advance(2 * HOUR.total_seconds())
    await house.say("after")
    data = button_bot(house).button("Resume")
    await house.say(f"/resume {first}", bot="other")
    house.stage.on("slow", house.stage.waits())
    await house.say("slow", bot="other")
    await press(house, data)
    assert "is in use in another chat" in house.seen()[-1]
    assert (await house.session("other/dm/7")).id == first
    house.stage.gate().set()
    await house.idle()
    assert house.seen(bot="other")[-1] == "done"


async def test_a_blocked_person_s_press_is_worth_nothing_until_they_are_let_in_again(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house)
    await verb(house, "people.role", id="telegram:7", role="blocked")
    assert (await press(house, data)).verdict is Verdict.REFUSED
    assert button_bot(house).told == [(EXPIRED, False)]
    known = await house.store.read(lambda tx: people.known(tx, "telegram:7"))
    assert known is not None
    await verb(house, "people.role", id=known.person, role="user")
    assert (await press(house, data)).verdict is Verdict.ACCEPTED


async def test_forget_takes_a_person_s_buttons(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data, other = await announced(house), await announced(house, user="8")
    await house.say("/forget")
    await house.say("/forget yes")
    for _ in range(3):
        await house.chores.forgetting()
        await house.idle()
    assert await house.store.read(lambda tx: buttons.find(tx, data)) is None
    assert await house.store.read(lambda tx: buttons.find(tx, other)) is not None
    assert (await press(house, data)).verdict is Verdict.REFUSED


async def test_a_press_between_being_forgotten_and_gone_leaves_nothing_behind(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house)
    await house.say("/forget")
    await house.say("/forget yes")
    await press(house, data)
    for _ in range(5):
        await house.chores.forgetting()
        await house.idle()
    assert await house.store.read(forgotten.marks) == []
    assert [session for session in await house.sessions() if session.messages] == []
    await house.say("who am I?")
    assert house.stage.asked[-1].history == ()


async def test_nobody_can_press_for_somebody(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    made = press_of(house, await announced(house))
    for sender in (Sender(user=None, name="channel"), Sender(user=UserId("7"), name="x", realm="T")):
        (receipt,) = await house.receive(replace(made, sender=sender, event=EventId(f"{sender}")))
        await house.idle()
        assert receipt.verdict is Verdict.REFUSED
    assert button_bot(house).labels() == ["Resume"]


async def test_explain_tells_what_became_of_a_press(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house)
    good = await press(house, data)
    late = await press(house, data)
    sentences = [
        one["sentence"]
        for row in (good.row, late.row)
        for one in (await verb(house, "explain", id=str(row)))["findings"]
        if one["what"] == "message"
    ]
    assert "was the command /resume" in sentences[0]
    assert "the button was used already, too old, or somebody else's" in sentences[1]


@pytest.mark.parametrize("change", [{"access": {"direct": "off"}}, {"access": {"direct": "allow"}}])
async def test_whoever_may_not_speak_any_more_may_not_press_either(furnish: Furnish, change: dict[str, object]) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house)
    await Reloaded(house).to(**change)
    assert (await house.say("hello?")).receipt.verdict is Verdict.IGNORED
    before = house.seen()
    assert (await press(house, data)).verdict is Verdict.REFUSED
    assert house.seen() == before


async def test_in_a_group_that_is_not_listed_any_more_nothing_can_be_pressed(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **IDLE)
    data = await announced(house, group=True)
    await Reloaded(house).to(bots={"main": {"groups": [-200]}})
    assert (await house.say_in_group("hello?")).receipt.verdict is Verdict.IGNORED
    before = house.seen(GROUP)
    assert (await press(house, data, chat=GROUP)).verdict is Verdict.REFUSED
    assert house.seen(GROUP) == before


async def test_resume_brings_back_what_is_talked_in_from_then_on(furnish: Furnish) -> None:
    """Since the announcement the person was linked to another, whose conversation both have."""
    house = await furnish(ButtonBot(), session={**IDLE["session"], "dm_scope": "person"}, access={"direct": "pairing"})
    for user in ("7", "8"):
        await verb(house, "people.role", id=f"telegram:{user}", role="user")
    data = await announced(house)
    await house.say("other words", user="8")
    known = [person["id"] for person in (await verb(house, "people.list"))["people"]]
    await verb(house, "people.link", id=known[1], other=known[0])
    await press(house, data)
    if house.seen()[-1].startswith("Back in"):
        await house.say("where am I?")
        assert house.stage.asked[-1].history[0] == ("user", "before")
