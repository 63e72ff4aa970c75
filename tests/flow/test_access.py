"""Closed by default: strangers reach no agent, and are told a code at most."""

from __future__ import annotations

import pytest
import structlog

from core.errors import VerbFailed
from core.store import people
from core.vocabulary import ChatKind, Verdict
from tests.flow.asking import verb
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, House

PAIRING = {"access": {"direct": "pairing", "owners": []}}


def code_in(text: str) -> str:
    return text.split("Your code is ")[1].split(",")[0]


async def approve(house: House, code: str) -> dict[str, object]:
    approved = await house.verbs.table()["people.approve"]({"code": code})
    await house.idle()
    assert isinstance(approved, dict)
    return dict(approved)


async def test_a_stranger_gets_a_code_once_and_the_first_approved_is_owner(furnish: Furnish) -> None:
    house = await furnish(**PAIRING)
    first = await house.say("hello")
    await house.say("hello?")
    await house.say("/help")
    assert len(house.seen()) == 1
    code = code_in(house.seen()[0])
    assert f"frontdesk people approve {code}" in house.seen()[0]
    assert first.receipt.verdict is Verdict.REFUSED
    assert await house.fate(first) == "refused"
    assert house.stage.asked == []
    assert {row.text for row in await house.rows()} == {""}
    approved = await approve(house, code.lower())
    assert approved["role"] == "owner"
    assert house.seen()[1].startswith("Welcome")
    await house.say("hello")
    assert house.seen()[2] == "re: hello"
    with pytest.raises(VerbFailed):
        await approve(house, code)


async def test_s19_who_waits_is_told_with_what_they_become(furnish: Furnish) -> None:
    house = await furnish(**PAIRING)
    told = []
    for user in ("7", "8"):
        await house.say("hello", user=user, name=f"name {user}")
        code = code_in(house.seen(user)[0])
        found = await house.verbs.table()["people.waiting"]({"code": code.lower()})
        told.append(found)
        await approve(house, code)
    assert told == [
        {"code": code_in(house.seen("7")[0]), "name": "name 7", "identity": "telegram:7", "bot": "main",
         "becomes": "owner"},
        {"code": code_in(house.seen("8")[0]), "name": "name 8", "identity": "telegram:8", "bot": "main",
         "becomes": "user"},
    ]  # fmt: skip
    with pytest.raises(VerbFailed, match="no code 'NOSUCH' waits"):
        await house.verbs.table()["people.waiting"]({"code": "NOSUCH"})


async def test_s19_nobody_becomes_more_than_was_told(furnish: Furnish) -> None:
    """The owner went while somebody at a terminal was asked about a user."""
    house = await furnish(**PAIRING)
    await house.say("hello")
    code = code_in(house.seen()[0])
    with pytest.raises(VerbFailed, match="they would become owner by now, not user"):
        await house.verbs.table()["people.approve"]({"code": code, "becomes": "user"})
    assert len(house.seen()) == 1
    assert (await verb(house, "people.approve", code=code, becomes="owner"))["role"] == "owner"


async def test_s19_the_log_says_who_waits_and_where(furnish: Furnish) -> None:
    house = await furnish(**PAIRING)
    with structlog.testing.capture_logs() as logged:
        await house.say("hello", name="Ada \u202eadA")
    [line] = [one for one in logged if one["event"] == "stranger_waits"]
    assert (line["name"], line["platform"], line["bot"]) == ("Ada adA", "telegram", "main")
    assert line["let_in_with"].endswith(code_in(house.seen()[0]))


async def test_the_second_approved_is_a_user(furnish: Furnish) -> None:
    house = await furnish(**PAIRING)
    roles = []
    for user in ("7", "8"):
        await house.say("hello", user=user)
        roles.append((await approve(house, code_in(house.seen(user)[0])))["role"])
    assert roles == ["owner", "user"]


async def test_a_code_is_good_for_an_hour_and_then_a_new_one_is_given(furnish: Furnish) -> None:
    house = await furnish(**PAIRING)
    await house.say("hello")
    code = code_in(house.seen()[0])
    await house.clock.leap(3600)
    with pytest.raises(VerbFailed):
        await approve(house, code)
    await house.say("hello")
    assert code_in(house.seen()[1]) != code
    await house.chores.tidy()
    await approve(house, code_in(house.seen()[1]))


async def test_a_redelivered_strangers_message_gives_no_second_code(furnish: Furnish) -> None:
    house = await furnish(**PAIRING)
    said = await house.say("hello")
    await house.clock.leap(4000)
    await house.redeliver(said)
    assert len(house.seen()) == 1


async def test_everybody_gets_a_code_and_so_many_are_good_at_once(furnish: Furnish) -> None:
    house = await furnish(**PAIRING)
    for number in range(205):
        await house.receive(house.message("hello", user=f"{1000 + number}"))
    await house.idle()
    codes = [code_in(house.seen(f"{1000 + number}")[0]) for number in range(205)]
    waiting = await house.store.read(lambda tx: people.waiting(tx, house.clock.now()))
    assert len({one.code for one in waiting} & set(codes)) == 200


@pytest.mark.parametrize(("direct", "told"), [("allow", 0), ("off", 0)])
async def test_where_strangers_are_not_let_in_they_are_told_nothing(furnish: Furnish, direct: str, told: int) -> None:
    house = await furnish(access={"direct": direct, "allow": ["telegram:5"]})
    said = await house.say("hello")
    assert len(house.seen()) == told
    assert await house.fate(said) == "ignored"
    await house.say("hello", user="5")
    assert house.seen("5") == (["re: hello"] if direct == "allow" else [])


async def test_a_blocked_person_is_not_heard_anywhere(furnish: Furnish) -> None:
    house = await furnish(**PAIRING)
    await house.say("hello")
    await approve(house, code_in(house.seen()[0]))
    await house.say("hello", user="8")
    person = await approve(house, code_in(house.seen("8")[0]))
    await house.verbs.table()["people.role"]({"id": str(person["id"]), "role": "blocked"})
    before = len(house.seen("8"))
    blocked = [await house.say("hello", user="8"), await house.say_in_group("hello", user="8")]
    assert len(house.seen("8")) == before
    assert house.seen(GROUP) == []
    assert [await house.fate(said) for said in blocked] == ["ignored", "ignored"]


async def test_the_only_owner_stays_owner_so_that_no_stranger_becomes_one(furnish: Furnish) -> None:
    house = await furnish(**PAIRING)
    await house.say("hello")
    owner = await approve(house, code_in(house.seen()[0]))
    for role in ("user", "blocked"):
        with pytest.raises(VerbFailed, match="only owner"):
            await house.verbs.table()["people.role"]({"id": str(owner["id"]), "role": role})
    await house.say("hello", user="8")
    assert (await approve(house, code_in(house.seen("8")[0])))["role"] == "user"


async def test_messages_of_nothing_that_can_be_seen_are_ignored(house: House) -> None:
    said = [await house.say(text) for text in ("\u200b", "\u3164", "\u2800\u00ad", "\u202e")]
    assert [await house.fate(one) for one in said] == ["ignored"] * 4
    assert house.stage.asked == []


async def test_groups_answer_where_they_are_listed_and_only_when_spoken_to(house: House) -> None:
    await house.say_in_group("listed and mentioned")
    await house.say_in_group("not mentioned", addressed=False)
    await house.say_in_group("elsewhere", chat="-999")
    await house.say_in_group("bot", is_bot=True)
    await house.say_in_group("anonymous", user="")
    assert house.stage.texts == ["listed and mentioned"]
    fates = [row.fate for row in await house.rows()]
    assert fates == ["answered", "ignored", "ignored", "ignored", "ignored"]
    assert {row.text for row in await house.rows()} == {""}


async def test_every_group_may_be_listed(furnish: Furnish) -> None:
    house = await furnish(access={"direct": "pairing"})
    await house.say_in_group("a stranger in a listed group", user="99")
    assert house.stage.texts == ["a stranger in a listed group"]


async def test_whoami_tells_the_role(furnish: Furnish) -> None:
    house = await furnish()
    await house.say("/whoami", user="1")
    await house.say("/whoami", user="7")
    assert house.seen("1") == ["user 1: telegram:1, role owner."]
    assert house.seen("7") == ["user 7: telegram:7, role guest."]


async def test_one_name_is_nobodys_key(house: House) -> None:
    await house.say("mine", user="7", name="Same")
    await house.say("yours", user="8", name="Same")
    assert house.stage.asked[1].history == ()
    assert ChatKind.DIRECT


async def test_somebody_is_blocked_who_was_never_let_in(house: House) -> None:
    await house.say("hello", user="66")
    assert house.seen("66") == ["re: hello"]
    blocked = await house.verbs.table()["people.block"]({"who": "telegram:66"})
    assert isinstance(blocked, dict)
    assert blocked["role"] == "blocked"
    before = house.seen("66")
    await house.say("hello?", user="66")
    assert house.seen("66") == before
    again = await house.verbs.table()["people.block"]({"who": str(blocked["id"])})
    assert again == blocked


@pytest.mark.parametrize(
    ("who", "words"),
    [("nobody", "no person"), ("telegram:bob", "telegram:123456"), ("telegran:1", "did you mean .telegram")],
)
async def test_who_is_blocked_has_to_be_somebody(house: House, who: str, words: str) -> None:
    with pytest.raises(VerbFailed, match=words):
        await house.verbs.table()["people.block"]({"who": who})


async def test_owners_that_the_configuration_names_are_listed_and_marked(furnish: Furnish) -> None:
    house = await furnish(access={"direct": "pairing", "owners": ["telegram:1", "telegram:7"]})
    await verb(house, "people.role", id="telegram:7", role="guest")
    await verb(house, "people.role", id="telegram:8", role="user")
    listed = await verb(house, "people.list")
    told = [(one["identities"], one["role"], one["source"]) for one in listed["people"]]
    assert told == [
        (["telegram:7"], "owner", "config"), (["telegram:8"], "user", "store"), (["telegram:1"], "owner", "config"),
    ]  # fmt: skip
    assert listed["people"][-1]["id"] is None


async def test_a_role_is_given_to_an_identity_known_or_not(furnish: Furnish) -> None:
    house = await furnish(access={"direct": "pairing"})
    await house.say("let me in", user="8")
    made = await verb(house, "people.role", id="telegram:8", role="user")
    assert (made["role"], made["identities"]) == ("user", ["telegram:8"])
    assert (await verb(house, "people.list"))["pending"] == []
    again = await verb(house, "people.role", id="telegram:8", role="guest")
    assert (again["id"], again["role"]) == (made["id"], "guest")
    with pytest.raises(VerbFailed, match="no person 'p9'"):
        await verb(house, "people.role", id="p9", role="user")
