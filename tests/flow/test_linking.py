"""`people link`: two turn out to be one human, and what was theirs goes on as one."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import VerbFailed
from core.store import conversations, people
from core.store.people import Pairing, Person, Role
from core.vocabulary import BotName, ChatId, ChatKind
from tests.flow.asking import verb
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.house import HOUR, House

PER_PERSON: dict[str, Any] = {"session": {"dm_scope": "person"}, "access": {"direct": "pairing"}}


async def add(house: House, name: str, *users: str, role: Role = Role.USER) -> None:
    one = Person(id=name, name=name.title(), role=role, identities=tuple(f"telegram:{user}" for user in users))
    await house.store.write(lambda tx: people.add(tx, one, house.clock.now()))


async def leads_to(house: House, key: str) -> int | None:
    return await house.store.read(lambda tx: conversations.find(tx, key))


@pytest.fixture
async def both(furnish: Furnish) -> House:
    """Ann with 7 and Bea with 8, in a house that keeps direct chats per person."""
    house = await furnish(AdminBot("main"), **PER_PERSON)
    await add(house, "ann", "7")
    await add(house, "bea", "8")
    return house


async def test_the_first_keeps_name_and_role_and_has_the_identities_of_both(both: House) -> None:
    linked = await verb(both, "people.link", id="ann", other="bea")
    assert linked == {"id": "ann", "name": "Ann", "role": "user", "identities": ["telegram:7", "telegram:8"]}
    assert [person.id for person in await both.store.read(people.everybody)] == ["ann"]


async def test_an_identity_serves_as_well_as_an_id_and_an_unknown_one_is_let_in(both: House) -> None:
    stranger = Pairing(
        code="ABC", identity="telegram:9", name="Cy", bot=BotName("main"), chat=ChatId("9"), kind=ChatKind.DIRECT,
        expires_at=both.clock.now() + HOUR,
    )  # fmt: skip
    await both.store.write(lambda tx: people.offer(tx, stranger, both.clock.now()))
    await verb(both, "people.link", id="ann", other="telegram:8")
    linked = await verb(both, "people.link", id="ann", other="telegram:9")
    assert linked["identities"] == ["telegram:7", "telegram:8", "telegram:9"]
    assert (await verb(both, "people.list"))["pending"] == []
    await both.say("hello", user="9")
    assert both.seen("9") == ["re: hello"]


async def test_both_go_on_in_one_conversation_and_the_other_session_can_be_resumed(both: House) -> None:
    await both.say("from ann")
    await both.say("from bea", user="8")
    ann, bea = await both.session("person/ann"), await both.session("person/bea")
    await verb(both, "people.link", id="ann", other="bea")
    assert await leads_to(both, "person/bea") == await leads_to(both, "person/ann") == ann.conversation
    await both.say("which one?", user="8")
    assert both.stage.asked[-1].history == (("user", "from ann"), ("assistant", "re: from ann"))
    ended = next(session for session in await both.sessions() if session.id == bea.id)
    assert ended.end_reason == "command"
    await both.say(f"/resume {bea.id}", user="8")
    assert (await both.session("person/ann")).id == bea.id


async def test_where_only_the_other_has_talked_that_conversation_goes_on(both: House) -> None:
    await both.say("from bea", user="8")
    before = await leads_to(both, "person/bea")
    await verb(both, "people.link", id="ann", other="bea")
    assert await leads_to(both, "person/ann") == before
    await both.say("and from ann")
    assert both.stage.asked[-1].history == (("user", "from bea"), ("assistant", "re: from bea"))
    await both.restart()
    assert await leads_to(both, "person/ann") == before


async def test_keys_of_chats_stay_as_they_are(house: House) -> None:
    await add(house, "ann", "7")
    await add(house, "bea", "8")
    await house.say("from ann")
    await house.say("from bea", user="8")
    before = [await leads_to(house, f"main/dm/{user}") for user in ("7", "8")]
    await verb(house, "people.link", id="ann", other="bea")
    assert [await leads_to(house, f"main/dm/{user}") for user in ("7", "8")] == before
    assert before[0] != before[1]


@pytest.mark.parametrize("busy", ["7", "8"])
async def test_nothing_is_re_pointed_under_running_work(both: House, busy: str) -> None:
    await both.say("from ann")
    await both.say("from bea", user="8")
    both.stage.on("slow", both.stage.waits("slow"))
    await both.say("slow one", user=busy)
    with pytest.raises(VerbFailed, match="try again in a moment"):
        await verb(both, "people.link", id="ann", other="bea")
    assert len(await both.store.read(people.everybody)) == 2
    both.stage.gate("slow").set()
    await both.idle()
    await verb(both, "people.link", id="ann", other="bea")


async def test_a_block_is_not_undone_by_the_way(both: House) -> None:
    await add(both, "eve", "6", role=Role.BLOCKED)
    for one, other in (("ann", "eve"), ("eve", "ann")):
        with pytest.raises(VerbFailed, match=r"Eve \(eve\) is blocked"):
            await verb(both, "people.link", id=one, other=other)


async def test_the_only_owner_does_not_vanish(furnish: Furnish) -> None:
    house = await furnish(access={"direct": "pairing", "owners": []})
    await add(house, "ann", "7")
    await add(house, "olga", "5", role=Role.OWNER)
    with pytest.raises(VerbFailed, match="people link olga ann"):
        await verb(house, "people.link", id="ann", other="olga")
    assert (await verb(house, "people.link", id="olga", other="ann"))["role"] == "owner"


async def test_nobody_and_nonsense_are_said(both: House) -> None:
    for one, other, words in (
        ("zoe", "ann", "no person 'zoe'"),
        ("ann", "zoe", "no person 'zoe'"),
        ("ann", "x:", "no known platform"),
    ):
        with pytest.raises(VerbFailed, match=words):
            await verb(both, "people.link", id=one, other=other)
    assert (await verb(both, "people.link", id="ann", other="telegram:7"))["identities"] == ["telegram:7"]


async def test_an_identity_gets_its_own_person_again_and_begins_anew(both: House) -> None:
    await both.say("from ann")
    await verb(both, "people.link", id="ann", other="bea")
    await both.say("as one", user="8")
    alone = await verb(both, "people.unlink", identity="telegram:8")
    assert (alone["name"], alone["role"], alone["identities"]) == ("Bea", "user", ["telegram:8"])
    known = {person.id: person.identities for person in await both.store.read(people.everybody)}
    assert known == {"ann": ("telegram:7",), alone["id"]: ("telegram:8",)}
    await both.say("on my own", user="8")
    assert not both.stage.asked[-1].history
    assert await leads_to(both, f"person/{alone['id']}") != await leads_to(both, "person/ann")
    await both.say("still ann")
    assert both.stage.asked[-1].history == (
        ("user", "from ann"), ("assistant", "re: from ann"), ("user", "as one"), ("assistant", "re: as one"),
    )  # fmt: skip


async def test_nothing_is_unlinked_under_running_work_nor_where_nothing_is_linked(both: House) -> None:
    with pytest.raises(VerbFailed, match="all that Ann"):
        await verb(both, "people.unlink", identity="telegram:7")
    with pytest.raises(VerbFailed, match="nobody is known as telegram:99"):
        await verb(both, "people.unlink", identity="telegram:99")
    await verb(both, "people.link", id="ann", other="bea")
    both.stage.on("slow", both.stage.waits("slow"))
    await both.say("slow one")
    with pytest.raises(VerbFailed, match="try again in a moment"):
        await verb(both, "people.unlink", identity="telegram:8")
    assert len(await both.store.read(people.everybody)) == 1
    both.stage.gate("slow").set()
    await both.idle()
    await verb(both, "people.unlink", identity="telegram:8")


@pytest.mark.parametrize(("role", "then"), [(Role.OWNER, "user"), (Role.GUEST, "guest"), (Role.BLOCKED, "blocked")])
async def test_who_was_taken_for_an_owner_is_none_any_more_and_a_block_stays(
    both: House, role: Role, then: str
) -> None:
    await add(both, "two", "3", "4", role=role)
    assert (await verb(both, "people.unlink", identity="telegram:4"))["role"] == then
