"""Who may allow a call that waits for consent: whoever asked and was let in, unless the config says another."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.store import consents, turns
from core.store.consents import Consent, ConsentState
from core.vocabulary import ChatId, UserId, Verdict
from tests.flow.bot import AdminBot, FakeBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, OWNER, House
from tests.flow.pressing_bot import (
    ASKER_ONLY,
    DONE,
    EXPIRED,
    OWNER_ONLY,
    ButtonBot,
    button_bot,
    press,
)
from tests.flow.test_consent import Paying

ADA, BOSS, GUEST = "7", "9", "66"
"""Ada and Boss were let in, and Boss runs the group; the guest was not."""
YES, NO = "Allow", "Don't allow"
SETTINGS = ("owner", "let_in", "asker")


async def asking(furnish: Furnish, by: str | None, *bots: FakeBot) -> tuple[House, Paying]:
    """A house where the owner has a direct chat."""
    access: dict[str, object] = {"allow": [f"telegram:{ADA}", f"telegram:{BOSS}"], "consent_by": by or "let_in"}
    house = await furnish(*(bots or (ButtonBot(),)), access=access)
    house.bot.admins |= {(ChatId(GROUP), UserId(BOSS)), (ChatId(GROUP), UserId("67"))}
    paying = Paying()
    house.stage.on("pay", paying)
    await house.say("hello", user=OWNER)
    return house, paying


async def calls(house: House, key: str) -> list[Consent]:
    conversation = (await house.conversation(key)).id
    return await house.store.read(lambda tx: consents.open_in(tx, conversation))


IN_GROUP, IN_PRIVATE = f"main/group/{GROUP}", f"main/dm/{GUEST}"


def test_s06_the_default_is_whoever_was_let_in() -> None:
    from config.settings import AccessSettings
    from core.desk.house import DeskRules

    assert AccessSettings().consent_by == DeskRules().consent_by == "let_in"


@pytest.mark.parametrize(
    ("by", "who", "paid"),
    [
        ("owner", GUEST, False), ("owner", ADA, False), ("owner", OWNER, True),
        ("let_in", GUEST, False), ("let_in", ADA, True), ("let_in", OWNER, True),
        ("asker", GUEST, True), ("asker", ADA, True), ("asker", OWNER, True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("group", [True, False])
async def test_s06_who_allows_their_own_call(furnish: Furnish, by: str, who: str, paid: bool, group: bool) -> None:
    house, paying = await asking(furnish, by, AdminBot())
    say, chat = (house.say_in_group, GROUP) if group else (house.say, who)
    await say("please pay", user=who)
    await say("/approve", user=who)
    assert paying.paid == (["1"] if paid else [])
    assert (OWNER_ONLY in house.seen(chat)) is not paid


@pytest.mark.parametrize(
    ("by", "who", "paid"),
    [
        ("owner", BOSS, False), ("owner", OWNER, True), ("owner", "67", False),
        ("let_in", BOSS, True), ("let_in", OWNER, True), ("let_in", "67", False), ("let_in", GUEST, False),
        ("asker", BOSS, True), ("asker", OWNER, True), ("asker", "67", True), ("asker", GUEST, False),
    ],
)  # fmt: skip
async def test_s06_who_allows_another_person_s_call_in_a_group(furnish: Furnish, by: str, who: str, paid: bool) -> None:
    """Boss and 67 run the group; only Boss was let in."""
    house, paying = await asking(furnish, by, AdminBot())
    await house.say_in_group("please pay", user=ADA)
    await house.say_in_group("/approve", user=who)
    assert paying.paid == (["1"] if paid else [])


@pytest.mark.parametrize("by", SETTINGS)
@pytest.mark.parametrize("group", [True, False])
@pytest.mark.parametrize("who", [GUEST, ADA])
async def test_s06_everybody_denies_their_own_call(furnish: Furnish, by: str, group: bool, who: str) -> None:
    house, paying = await asking(furnish, by, AdminBot())
    say, chat = (house.say_in_group, GROUP) if group else (house.say, who)
    await say("please pay", user=who)
    await say("/deny", user=who)
    assert house.seen(chat)[-1].startswith("Denied: ")
    await say("/approve", user=OWNER)
    assert paying.paid == []


@pytest.mark.parametrize("group", [True, False])
@pytest.mark.parametrize(("label", "paid"), [(YES, ["1"]), (NO, [])])
async def test_s06_a_guest_s_call_is_asked_of_the_owner_in_their_chat(
    furnish: Furnish, group: bool, label: str, paid: list[str]
) -> None:
    house, paying = await asking(furnish, "let_in")
    bot = button_bot(house)
    asked = await (house.say_in_group("please pay", user=GUEST) if group else house.say("please pay", user=GUEST))
    chat = GROUP if group else GUEST
    assert bot.labels(chat) == [NO]
    assert house.seen(chat)[-1].startswith("Only an owner can allow this (pay), so I asked in private.")
    assert '"to": "1"' not in "\n".join(house.seen(chat))
    head, question = house.seen(OWNER)[-2:]
    where = " in a group" if group else ""
    assert head == f"user {GUEST} (telegram:{GUEST}) asked for this{where}. It needs an owner's OK:"
    assert '"to": "1"' in question
    assert bot.labels(OWNER) == [YES, NO]
    assert (await press(house, bot.button(label, OWNER), user=OWNER)).verdict is Verdict.ACCEPTED
    assert paying.paid == paid
    assert await house.fate(asked) == "answered"
    assert house.seen(chat)[-1].startswith("paid 1" if paid else "Denied: ")
    assert bot.told == [(DONE, True)]
    assert (bot.labels(chat), bot.labels(OWNER)) == ([], [])
    outcome = "This was allowed." if paid else "This was not allowed."
    assert any(text.endswith(outcome) for text in house.seen(OWNER))


async def test_s06_the_owner_answers_by_the_id_where_there_are_no_buttons(furnish: Furnish) -> None:
    house, paying = await asking(furnish, "let_in", AdminBot())
    await house.say("please pay", user=GUEST)
    [call] = await calls(house, IN_PRIVATE)
    assert f"(id {call.id})" in house.seen(OWNER)[-1]
    assert "/approve ID" in house.seen(OWNER)[-1]
    for user, said in ((ADA, f"I know no call {call.id.lower()} here."), (GUEST, OWNER_ONLY)):
        await house.say(f"/approve {call.id}", user=user)
        assert house.seen(user)[-1] == said
    assert paying.paid == []
    await house.say(f"/approve {call.id.lower()}", user=OWNER)
    assert paying.paid == ["1"]
    assert house.seen(OWNER)[-1] == "Allowed."
    assert house.seen(GUEST)[-1] == "paid 1"
    await house.say(f"/approve {call.id}", user=OWNER)
    assert paying.paid == ["1"]


async def test_s06_several_calls_of_a_guest_are_answered_one_by_one(furnish: Furnish) -> None:
    house, _ = await asking(furnish, "let_in")
    paying = Paying("a", "b")
    house.stage.on("pay", paying)
    await house.say("please pay", user=GUEST)
    bot = button_bot(house)
    assert (bot.labels(GUEST), bot.labels(OWNER)) == ([], [YES, NO, YES, NO])
    yes = [one.data for one in bot.buttons(OWNER) if one.label == YES]
    await press(house, yes[0], user=OWNER)
    assert paying.paid == []
    await press(house, yes[1], user=OWNER)
    assert paying.paid == ["a", "b"]


async def test_s06_a_guest_says_no_by_the_button_and_the_owner_s_question_is_over(furnish: Furnish) -> None:
    house, paying = await asking(furnish, "let_in")
    bot = button_bot(house)
    await house.say_in_group("please pay", user=GUEST)
    yes = bot.button(YES, OWNER)
    assert (await press(house, bot.button(NO, GROUP), user=ADA, chat=GROUP)).verdict is Verdict.REFUSED
    await press(house, bot.button(NO, GROUP), user=GUEST, chat=GROUP)
    await press(house, yes, user=OWNER)
    assert bot.told == [(ASKER_ONLY, False), (DONE, True), (EXPIRED, True)]
    assert bot.labels(OWNER) == []
    assert paying.paid == []


async def test_s06_the_owner_may_say_it_in_the_group_as_well(furnish: Furnish) -> None:
    house, paying = await asking(furnish, "let_in")
    await house.say_in_group("please pay", user=GUEST)
    await house.say_in_group("/approve", user=ADA)
    await house.say_in_group("/approve", user=GUEST)
    assert house.seen(GROUP)[-1] == OWNER_ONLY
    assert paying.paid == []
    await house.say_in_group("/approve", user=OWNER)
    assert paying.paid == ["1"]


async def test_s06_the_wrong_person_is_told_who_may_press(furnish: Furnish) -> None:
    house, paying = await asking(furnish, "let_in")
    bot = button_bot(house)
    await house.say_in_group("please pay", user=ADA)
    yes = bot.button(YES, GROUP)
    for user in (GUEST, BOSS):
        assert (await press(house, yes, user=user, chat=GROUP)).verdict is Verdict.REFUSED
    assert bot.told == [(ASKER_ONLY, False)] * 2
    assert bot.labels(GROUP) == [YES, NO]
    assert paying.paid == []
    await press(house, yes, user=ADA, chat=GROUP)
    assert paying.paid == ["1"]


async def test_s06_whoever_is_a_guest_by_now_does_not_press_allow(furnish: Furnish) -> None:
    house, paying = await asking(furnish, "let_in")
    bot = button_bot(house)
    await house.say_in_group("please pay", user=ADA)
    house.options["access"] = {"consent_by": "let_in", "allow": []}
    await house.restart()
    house.stage.on("pay", paying)
    yes, no = bot.button(YES, GROUP), bot.button(NO, GROUP)
    await press(house, yes, user=ADA, chat=GROUP)
    assert bot.told == [(OWNER_ONLY, False)]
    await press(house, no, user=ADA, chat=GROUP)
    assert bot.told[-1] == (DONE, True)
    assert paying.paid == []


async def test_s06_without_an_owner_s_chat_that_is_said(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), access={"consent_by": "let_in"})
    paying = Paying()
    house.stage.on("pay", paying)
    await house.say("please pay", user=GUEST)
    [call] = await calls(house, IN_PRIVATE)
    said = house.seen(GUEST)[-1]
    assert said.startswith("Only an owner can allow this (pay), and none has a direct chat with me to ask in.")
    assert f"/approve {call.id};" in said
    await house.say_in_group(f"/approve {call.id}", user=OWNER)
    assert paying.paid == ["1"]


async def test_s06_an_owner_is_asked_by_the_bot_that_they_talk_with(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), ButtonBot("second"), access={"consent_by": "let_in"})
    paying = Paying()
    house.stage.on("pay", paying)
    await house.say("hello", user=OWNER, bot="second")
    await house.say("please pay", user=GUEST)
    assert "asked for this" in house.seen(OWNER, bot="second")[-2]
    [call] = await calls(house, IN_PRIVATE)
    await house.say(f"/approve {call.id}", user=OWNER, bot="second")
    assert paying.paid == ["1"]
    assert house.seen(GUEST)[-1] == "paid 1"


async def test_s06_a_question_to_the_owner_outlives_the_process_and_expires(furnish: Furnish) -> None:
    house, paying = await asking(furnish, "let_in")
    bot = button_bot(house)
    asked = await house.say("please pay", user=GUEST)
    await house.restart()
    house.stage.on("pay", paying)
    await press(house, bot.button(YES, OWNER), user=OWNER)
    assert paying.paid == ["1"]
    assert await house.fate(asked) == "answered"
    await house.say("please pay", user=GUEST)
    yes = bot.button(YES, OWNER)
    await house.advance(timedelta(minutes=16).total_seconds())
    await house.chores.consents()
    await house.idle()
    await press(house, yes, user=OWNER)
    assert paying.paid == ["1"]
    assert bot.labels(OWNER) == []
    assert house.seen(GUEST)[-1].startswith("Not allowed: nobody answered in time")


async def test_s06_the_owner_s_question_is_no_answer_that_the_guest_can_send_again(furnish: Furnish) -> None:
    house, _ = await asking(furnish, "let_in")
    await house.say_in_group("please pay", user=GUEST)
    await house.say_in_group("/again", user=GUEST)
    assert not any("asked for this" in text or '"to": "1"' in text for text in house.seen(GROUP))
    conversation = (await house.conversation(IN_GROUP)).id
    assert await house.store.read(lambda tx: turns.open_in(tx, conversation)) == 1
    [call] = await calls(house, IN_GROUP)
    assert call.state is ConsentState.OPEN
