"""/forget: it asks first, then everything that is a person's alone goes, and who they were."""

from __future__ import annotations

import asyncio

import pytest
import structlog
from sqlalchemy import text as verbatim

from core.store import checks, facts, people, search
from core.store.forgotten import MARK
from core.store.open import DATABASE_FILE
from core.store.people import Person, Role
from core.store.sql import Sql, Tx
from tests.flow.asking import verb
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, House
from tests.flow.test_consent import Paying

_TRACES = Sql(
    verbatim("""
        SELECT (SELECT count(*) FROM inbox WHERE identity = :who OR name = :name OR text LIKE '%secret%')
            + (SELECT count(*) FROM participants WHERE identity = :who)
            + (SELECT count(*) FROM turns WHERE author = :who)
            + (SELECT count(*) FROM consents WHERE asker = :who)
            + (SELECT count(*) FROM pairings WHERE identity = :who)
            + (SELECT count(*) FROM identities WHERE identity = :who)
            + (SELECT count(*) FROM deliveries WHERE text LIKE '%secret%') AS n
    """)
)


async def traces(house: House, user: str = "7") -> int:
    """Rows that still say who somebody was or what they said outside of transcripts."""
    return await house.store.read(lambda tx: tx.number(_TRACES, who=f"telegram:{user}", name=f"user {user}"))


async def forget(house: House, *, user: str = "7") -> None:
    """Ask, confirm, and let the chore come round as often as it needs."""
    await house.say("/forget", user=user)
    await house.say("/forget yes", user=user)
    await settle(house)


async def settle(house: House) -> None:
    for _ in range(5):
        await house.chores.forgetting()
        await house.idle()
    assert await house.store.read(lambda tx: [name for name in names(tx) if name.startswith(MARK)]) == []


def names(tx: Tx) -> list[str]:
    return [row.text("name") for row in tx.all(Sql(verbatim("SELECT name FROM facts")))]


async def test_it_says_what_goes_and_how_much_and_does_nothing_yet(house: House) -> None:
    await house.say("my secret")
    await house.say("/reset")
    await house.say("another")
    await house.say("and another")
    await house.say("/forget")
    said = house.seen()[-1]
    assert said.startswith("I would delete 2 conversations of yours with 3 messages")
    assert said.endswith("/forget yes does it, within 10 minutes.")
    await house.chores.forgetting()
    assert len(await house.sessions()) == 2


SECRET = "zebra-quartz-9137-lantern"


def holders(house: House) -> list[str]:
    """Files of the state directory in which the secret stands."""
    files = [path for path in house.state.rglob("*") if path.is_file()]
    return [path.name for path in files if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize("how", ["forget", "delete"])
async def test_no_file_holds_what_was_forgotten(house: House, how: str) -> None:
    for at in range(40):
        await house.say(f"{SECRET} {at} " + "and much more " * (10 * at))
    await house.chores.index()
    assert holders(house) != []
    if how == "forget":
        await forget(house)
    else:
        await verb(house, "sessions.delete", key="main/dm/7")
        await house.clock.advance(2 * 86400)
        await house.chores.tidy()
    await house.chores.log()
    assert holders(house) == []


async def test_a_log_that_somebody_reads_is_emptied_later(house: House) -> None:
    await house.say("something")
    log = house.state / f"{DATABASE_FILE}-wal"
    reader = house.store.database.connect(readonly=True)
    cursor = reader.cursor()
    house.store.database.begin(cursor, readonly=True)
    cursor.execute("SELECT count(*) FROM inbox", {})
    cursor.fetchall()
    await house.say("more")
    assert not await house.store.empty_log()
    reader.close()
    assert await house.store.empty_log()
    assert log.stat().st_size == 0


async def test_confirmed_everything_of_the_person_is_gone(house: House) -> None:
    await house.say("my secret")
    await house.say("/export")
    await house.say("/reset")
    await house.say("another secret")
    await house.chores.index()
    await forget(house)
    assert house.seen()[-1] == "Forgotten: your conversations are being deleted, and I don't know you any more."
    assert await house.sessions() == []
    assert await traces(house) == 0
    assert (await house.store.read(lambda tx: search.search(tx, "secret"))).found == ()
    assert await house.store.read(checks.check) == []


async def test_whoever_comes_back_is_new(house: House) -> None:
    await house.say("my secret")
    await forget(house)
    await house.say("hello again")
    assert house.seen()[-1] == "re: hello again"
    assert house.stage.asked[-1].history == ()
    assert (await house.session()).reset is None
    await settle(house)
    assert len(await house.sessions()) == 1


@pytest.mark.parametrize("first", ["/forget yes", "/forget  YES ", "/forget now"])
async def test_a_yes_that_was_not_asked_for_asks(house: House, first: str) -> None:
    await house.say("my secret")
    await house.say(first)
    assert "/forget yes does it" in house.seen()[-1]
    await house.chores.forgetting()
    assert len(await house.sessions()) == 1


async def test_a_yes_that_comes_too_late_asks_again(house: House) -> None:
    await house.say("my secret")
    await house.say("/forget")
    await house.advance(601)
    await house.say("/forget yes")
    assert "/forget yes does it" in house.seen()[-1]
    await house.say("/forget yes")
    assert house.seen()[-1].startswith("Forgotten")


async def test_nobody_confirms_for_somebody_else_and_a_group_keeps_what_was_said(house: House) -> None:
    await house.say("my secret")
    await house.say_in_group("from seven")
    await house.say_in_group("from eight", user="8")
    await house.say_in_group("/forget")
    assert "1 conversation that you share with others stays as said" in house.seen("7")[-1]
    await house.say_in_group("/forget yes", user="8")
    assert not house.seen("8")[-1].startswith("Forgotten")
    await house.say_in_group("/forget yes")
    await settle(house)
    assert house.seen("7")[-1].startswith("Forgotten")
    left = await house.sessions()
    assert [session.kind for session in left] == ["group"]
    told = await house.told(f"main/group/{GROUP}")
    assert [text for kind, text in told if kind == "user"] == ["from seven", "from eight"]
    assert await traces(house) == 0
    await house.say_in_group("still here", user="8")
    assert house.seen(GROUP)[-1] == "re: still here"


async def test_what_others_said_and_who_they_are_stays(house: House) -> None:
    await house.say("my secret")
    await house.say("hers", user="8")
    await forget(house)
    assert [session.title for session in await house.sessions()] == ["hers"]
    assert await traces(house, "8") > 0


async def test_work_in_another_chat_is_ended_by_its_owner_first(furnish: Furnish) -> None:
    house = await furnish(AdminBot("main"), AdminBot("other"))
    house.stage.on("slow", house.stage.waits("slow"))
    slow = await house.say("slow secret", bot="other")
    await house.say("here")
    await forget(house)
    assert await house.fate(slow) == "answered"
    assert await house.sessions() == []
    assert await traces(house) == 0


async def test_an_open_question_goes_with_its_conversation(house: House) -> None:
    paying = Paying()
    house.stage.on("pay", paying)
    await house.say("please pay")
    await forget(house)
    assert await house.sessions() == []
    assert await traces(house) == 0
    await house.say("/approve")
    assert paying.paid == []


async def test_all_accounts_of_one_person_are_forgotten_and_a_code_too(house: House) -> None:
    ann = Person(id="p1", name="Ann", role=Role.USER, identities=("telegram:7", "telegram:8"))
    await house.store.write(lambda tx: people.add(tx, ann, house.clock.now()))
    await house.say("my secret")
    await house.say("my other secret", user="8")
    await house.say("/forget")
    assert "all 2 accounts" in house.seen()[-1]
    await house.say("/forget yes")
    await settle(house)
    assert await house.sessions() == []
    assert await house.store.read(people.everybody) == []
    assert await traces(house) == await traces(house, "8") == 0


async def test_a_block_is_kept(house: House) -> None:
    await house.say("my secret")
    await house.say("/forget")
    ann = Person(id="p1", name="Ann", role=Role.BLOCKED, identities=("telegram:7",))
    house.stage.on("slow", house.stage.waits("slow"))
    await house.say("slow one")
    await house.offer(house.message("/forget yes"))
    await house.store.write(lambda tx: people.add(tx, ann, house.clock.now()))
    house.stage.gate("slow").set()
    await house.idle()
    await settle(house)
    assert [person.role for person in await house.store.read(people.everybody)] == [Role.BLOCKED]
    before = house.seen()
    await house.say("let me in")
    assert house.heard_since(before) == []


async def test_a_process_that_dies_meanwhile_carries_on(house: House) -> None:
    for _ in range(3):
        await house.say("my secret")
        await house.say("/reset")
    await house.say("/forget")
    await house.say("/forget yes")
    for write in range(1, 9):
        house.store.dies_at, house.store.writes = 1, 0
        house.store.dies_before = bool(write % 2)
        task = asyncio.create_task(house.chores.forgetting())
        await house.idle_dead()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await house.restart()
    await settle(house)
    assert await house.sessions() == []
    assert await traces(house) == 0


async def test_the_log_says_that_it_was_done_and_neither_who_nor_what(house: House) -> None:
    await house.say("my secret")
    with structlog.testing.capture_logs() as logs:
        await forget(house)
    (line,) = [one for one in logs if one["event"] == "person_forgotten"]
    assert line == {"event": "person_forgotten", "sessions": 1, "log_level": "info"}


async def test_an_owner_is_told_that_it_ends_too(house: House) -> None:
    await house.say("hello", user="1")
    await house.say("/forget", user="1")
    assert "You own this desk" in house.seen("1")[-1]


async def test_an_operator_may_delete_beside_it(house: House) -> None:
    await house.say("my secret")
    await house.say("/forget")
    await house.say("/forget yes")
    session = (await house.sessions())[0]
    await verb(house, "sessions.delete", key=session.id)
    await settle(house)
    assert await house.store.read(lambda tx: facts.get(tx, "nothing")) is None
    assert await traces(house) == 0
