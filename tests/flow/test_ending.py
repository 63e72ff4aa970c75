"""Sessions that whoever runs the desk ends or deletes: by their owner, whatever it is at."""

from __future__ import annotations

import asyncio

import pytest

from core.errors import VerbFailed
from core.store import attachments, chores, search
from tests.flow.asking import begun, verb
from tests.flow.conftest import Furnish
from tests.flow.house import DAY, House
from tests.flow.test_consent import Paying, ask

HERE = "main/dm/7"


async def test_an_ended_session_is_followed_by_a_new_one_and_can_be_resumed(house: House) -> None:
    await house.say("first")
    before = await house.session()
    ended = await verb(house, "sessions.end", key=HERE)
    assert (ended["id"], ended["messages"]) == (before.id, 1)
    assert ended["ended_at"]
    assert (await house.session()).end_reason == "command"
    seen = house.seen()
    await house.say("second")
    assert house.heard_since(seen) == [
        "New conversation: whoever runs me ended the last one. /resume brings it back.", "re: second",
    ]  # fmt: skip
    await house.say("/resume")
    assert (await house.session()).id == before.id


async def test_what_runs_is_stopped_and_what_waits_is_dropped_and_the_chat_is_told_once(house: House) -> None:
    house.stage.on("slow", house.stage.waits("slow"))
    slow = await house.say("slow one")
    behind = await house.say("behind it")
    await verb(house, "sessions.end", key=HERE)
    assert house.seen()[-1] == (
        "Whoever runs me ended this conversation. /resume brings it back. 1 waiting message was dropped."
    )
    assert await house.fate(slow) == "answered"
    assert await house.fate(behind) == "closed"
    assert (await house.session()).end_reason == "command"
    seen = house.seen()
    await house.say("next")
    assert house.heard_since(seen) == ["re: next"]


async def test_an_open_question_ends_with_its_session(house: House) -> None:
    paying = Paying()
    asked = await ask(house, paying)
    await verb(house, "sessions.end", key=HERE)
    assert await house.fate(asked) == "answered"
    await house.say("/approve")
    assert paying.paid == []


async def test_a_session_that_has_ended_is_not_ended_again(house: House) -> None:
    await house.say("first")
    await verb(house, "sessions.end", key=HERE)
    with pytest.raises(VerbFailed, match="ended already"):
        await verb(house, "sessions.end", key=HERE)
    with pytest.raises(VerbFailed, match="no session"):
        await verb(house, "sessions.end", key="main/dm/nobody")


async def test_an_order_to_end_outlives_the_process(house: House) -> None:
    house.stage.on("slow", house.stage.waits("slow"))
    await house.say("slow one")
    house.store.dies_at, house.store.writes = 1, 0
    task = begun(house, "sessions.end", key=HERE)
    await house.idle_dead()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await house.restart()
    assert (await house.session()).end_reason == "command"


async def test_a_deleted_session_is_gone_whole(house: House) -> None:
    await house.say("a secret word")
    session = await house.session()
    digest = house.store.files.put(b"picture")
    await house.store.write(
        lambda tx: attachments.add(
            tx, session.id, attachments.File(digest=digest, name="", media_type="x/y", size=7), house.clock.now()
        )
    )
    await house.chores.index()
    assert (await house.store.read(lambda tx: search.search(tx, "secret"))).found
    deleted = await verb(house, "sessions.delete", key=HERE)
    assert (deleted["id"], deleted["messages"]) == (session.id, 1)
    assert await house.sessions() == []
    assert (await house.store.read(lambda tx: search.search(tx, "secret"))).found == ()
    assert (await house.conversation()).session is None
    await house.say("next")
    assert house.seen()[-2:] == ["New conversation: whoever runs me deleted the last one.", "re: next"]
    assert (await house.session()).reset is None


async def test_files_of_a_deleted_session_go_if_nobody_else_has_them(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {name: house.store.files.put(name.encode()) for name in ("mine", "shared", "fresh")}
    for chat in ("7", "8"):
        await house.say("hello", user=chat)
    for chat, names in (("7", ("mine", "shared", "fresh")), ("8", ("shared",))):
        session = await house.session(f"main/dm/{chat}")
        for name in names:
            file = attachments.File(digest=files[name], name="", media_type="x/y", size=1)
            await house.store.write(lambda tx: attachments.add(tx, session.id, file, house.clock.now()))  # noqa: B023
    kept_at = house.store.files.kept_at
    old = {files["mine"], files["shared"]}

    def aged(digest: str) -> object:
        at = kept_at(digest)
        return house.clock.now() - (DAY if digest in old else chores.FILE_REST / 2) if at is not None else None

    monkeypatch.setattr(house.store.files, "kept_at", aged)
    await verb(house, "sessions.delete", key=HERE)
    assert {name: house.store.files.get(digest) is not None for name, digest in files.items()} == {
        "mine": False, "shared": True, "fresh": True,
    }  # fmt: skip


async def test_an_earlier_session_is_deleted_and_the_present_one_goes_on(house: House) -> None:
    await house.say("first")
    first = await house.session()
    await house.say("/reset")
    await house.say("second")
    await verb(house, "sessions.delete", key=first.id)
    assert [session.title for session in await house.sessions()] == ["second"]
    await house.say("third")
    assert house.seen()[-1] == "re: third"


async def test_running_work_is_ended_before_its_session_is_deleted(house: House) -> None:
    house.stage.on("slow", house.stage.waits("slow"))
    slow = await house.say("slow one")
    await verb(house, "sessions.delete", key=HERE)
    assert await house.sessions() == []
    assert await house.fate(slow) == "answered"
    assert house.seen()[-1] == "Whoever runs me deleted this conversation."


async def test_a_session_whose_answer_can_not_be_sent_stays_and_that_is_said(
    furnish: Furnish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.service.verbs.running.QUIET_S", 0.05)
    house = await furnish()
    house.core.outbox.hold(house.bot.name)
    await house.say("first")
    task = begun(house, "sessions.delete", key=HERE)
    await house.idle()
    with pytest.raises(VerbFailed, match=r"explain main/dm/7"):
        await task
    assert len(await house.sessions()) == 1
    house.core.outbox.open(house.bot.name)
    await house.idle()
    await verb(house, "sessions.delete", key=HERE)
    assert await house.sessions() == []
