"""Owners are asked in their own chats who is let in, and only they can say so there."""

from __future__ import annotations

from msgspec.structs import replace

from core.store import buttons, people
from core.vocabulary import Verdict
from tests.flow.asking import verb
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.house import OWNER, House
from tests.flow.pressing_bot import DONE, EXPIRED, OWNER_ONLY, ButtonBot, button_bot, press

SECOND = "2"
PAIRING: dict[str, object] = {"access": {"direct": "pairing", "owners": [f"telegram:{OWNER}"]}}
TWO: dict[str, object] = {"access": {"direct": "pairing", "owners": [f"telegram:{OWNER}", f"telegram:{SECOND}"]}}


async def asked(house: House, *, user: str = "7", owner: str = OWNER) -> str:
    """A stranger writes; the data of the owner's button."""
    await house.say("hello", user=user)
    return button_bot(house).button("Let in", owner)


async def with_owner(furnish: Furnish, options: dict[str, object] = PAIRING) -> House:
    house = await furnish(ButtonBot(), **options)
    await house.say("I am here", user=OWNER)
    return house


async def test_an_owner_lets_a_stranger_in_by_a_button(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    data = await asked(house)
    question = house.seen(OWNER)[-1]
    assert question.startswith("user 7 (telegram:7) would like to talk to me.")
    assert "frontdesk people approve " in question
    receipt = await press(house, data, user=OWNER)
    assert receipt.verdict is Verdict.ACCEPTED
    assert house.seen()[-1].startswith("Welcome")
    assert button_bot(house).told == [(DONE, True)]
    await house.say("and now?")
    assert house.seen()[-1] == "re: and now?"
    told = await verb(house, "explain", id=str(receipt.row))
    assert "let in the stranger" in " ".join(one["sentence"] for one in told["findings"])


async def test_whoever_is_let_in_by_a_button_never_becomes_owner(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    await press(house, await asked(house), user=OWNER)
    known = await house.store.read(lambda tx: people.known(tx, "telegram:7"))
    assert known is not None
    assert known.role == "user"


async def test_it_is_good_once_and_after_a_restart(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    data = await asked(house)
    await house.restart()
    assert (await press(house, data, user=OWNER)).verdict is Verdict.ACCEPTED
    await house.restart()
    assert (await press(house, data, user=OWNER)).verdict is Verdict.REFUSED
    assert len(await house.store.read(people.everybody)) == 1
    assert len([text for text in house.seen() if text.startswith("Welcome")]) == 1


async def test_of_two_owners_the_first_one_counts(furnish: Furnish) -> None:
    house = await with_owner(furnish, TWO)
    await house.say("me too", user=SECOND)
    data = await asked(house)
    other = button_bot(house).button("Let in", SECOND)
    assert data != other
    await press(house, other, user=SECOND)
    await press(house, data, user=OWNER)
    assert button_bot(house).told == [(DONE, True), (EXPIRED, True)]
    assert len([text for text in house.seen() if text.startswith("Welcome")]) == 1


async def test_the_stranger_can_not_press_it(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    data = await asked(house)
    for user, chat in (("7", None), ("7", OWNER), ("8", OWNER), (OWNER, "7")):
        assert (await press(house, data, user=user, chat=chat)).verdict is Verdict.REFUSED
    assert {over for _, over in button_bot(house).told} == {False}
    assert await house.store.read(people.everybody) == []
    assert (await press(house, data, user=OWNER)).verdict is Verdict.ACCEPTED


async def test_a_code_that_has_expired_lets_nobody_in(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    data = await asked(house)
    await house.advance(3601)
    assert (await press(house, data, user=OWNER)).verdict is Verdict.REFUSED
    assert await house.store.read(people.everybody) == []
    again = await asked(house)
    assert again != data
    assert (await press(house, again, user=OWNER)).verdict is Verdict.ACCEPTED


async def test_a_code_that_was_approved_at_the_machine_is_not_approved_again(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    data = await asked(house)
    code = house.seen()[0].split("Your code is ")[1].split(",")[0]
    await verb(house, "people.approve", code=code)
    assert (await press(house, data, user=OWNER)).verdict is Verdict.REFUSED
    assert button_bot(house).told == [(EXPIRED, True)]
    assert len(await house.store.read(people.everybody)) == 1


async def test_owners_who_never_wrote_are_not_asked(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **TWO)
    await house.say("hello")
    assert house.seen(OWNER) == house.seen(SECOND) == []
    await house.say("I am here", user=SECOND)
    await house.say("hello", user="8")
    assert house.seen(OWNER) == []
    assert button_bot(house).labels(SECOND) == ["Let in"]


async def test_without_buttons_the_command_is_named(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **PAIRING)
    await house.say("I am here", user=OWNER)
    await house.say("hello")
    assert "frontdesk people approve " in house.seen(OWNER)[-1]


async def test_a_hundred_strangers_do_not_flood_the_owner(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    for user in range(100, 200):
        await house.say("hello", user=str(user))
        await house.say("hello?", user=str(user))
    assert len(house.seen(OWNER)) == 1 + 10 + 1
    assert house.seen(OWNER)[-1] == (
        "11 people are waiting to be let in. I'll ask you about some of them only; "
        "frontdesk people list shows them all."
    )
    await press(house, button_bot(house).button("Let in", OWNER), user=OWNER)
    assert len(await house.store.read(people.everybody)) == 1


async def test_what_a_stranger_is_called_can_not_pass_for_ours(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    await house.say("hello", name="\u202eEve\n\nFrontdesk says: [Let in](https://evil.example)" + "x" * 200)
    question = house.seen(OWNER)[-1]
    assert "\n" not in question
    assert "[" not in question
    assert "\u202e" not in question
    assert len(question) < 200


async def test_an_owner_who_has_just_reset_is_asked_too(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    await house.say("/reset", user=OWNER)
    await house.say("hello")
    assert button_bot(house).labels(OWNER) == ["Let in"]


async def stored_owner(house: House) -> str:
    """Somebody whom the store makes owner beside the configuration; the id."""
    await verb(house, "people.role", id=f"telegram:{SECOND}", role="owner")
    await house.say("me too", user=SECOND)
    known = await house.store.read(lambda tx: people.known(tx, f"telegram:{SECOND}"))
    assert known is not None
    return known.person


async def test_who_is_no_owner_any_more_lets_nobody_in(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    person = await stored_owner(house)
    data = await asked(house, owner=SECOND)
    await verb(house, "people.role", id=person, role="user")
    receipt = await press(house, data, user=SECOND)
    assert receipt.verdict is Verdict.REFUSED
    assert button_bot(house).told[-1] == (OWNER_ONLY, False)
    assert await house.store.read(lambda tx: people.known(tx, "telegram:7")) is None


async def test_the_press_of_one_who_is_no_owner_any_more_leaves_the_others_theirs(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    person = await stored_owner(house)
    data = await asked(house, owner=SECOND)
    await verb(house, "people.role", id=person, role="user")
    await press(house, data, user=SECOND)
    receipt = await press(house, button_bot(house).button("Let in", OWNER), user=OWNER)
    assert receipt.verdict is Verdict.ACCEPTED


async def test_a_blocked_owner_s_press_leaves_the_others_theirs(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    person = await stored_owner(house)
    data = await asked(house, owner=SECOND)
    await verb(house, "people.role", id=person, role="blocked")
    assert (await press(house, data, user=SECOND)).verdict is Verdict.REFUSED
    receipt = await press(house, button_bot(house).button("Let in", OWNER), user=OWNER)
    assert receipt.verdict is Verdict.ACCEPTED


async def test_a_stranger_who_was_blocked_meanwhile_is_not_let_in(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    data = await asked(house)
    await verb(house, "people.block", who="telegram:7")
    await press(house, data, user=OWNER)
    known = await house.store.read(lambda tx: people.known(tx, "telegram:7"))
    assert known is not None
    assert known.role == "blocked"
    assert (await house.say("hello?")).receipt.verdict is Verdict.IGNORED


async def test_buttons_go_when_their_codes_are_too_old(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    data = await asked(house)
    await house.clock.leap(25 * 3600 + 1)
    await house.chores.tidy()
    assert await house.store.read(lambda tx: buttons.find(tx, data)) is None
    assert await house.store.read(lambda tx: people.waiting(tx, house.clock.now())) == []


async def test_a_stranger_s_message_that_comes_twice_asks_once(furnish: Furnish) -> None:
    house = await with_owner(furnish)
    said = await house.say("hello")
    for _ in range(3):
        await house.redeliver(said)
    await house.receive(replace(house.message("hello?"), text="hello?"), house.message("hey"))
    await house.idle()
    assert len(house.seen(OWNER)) == 2
    assert len(house.seen()) == 1
