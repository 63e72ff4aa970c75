"""Sessions outside of the store: exported whole, renamed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text as verbatim

from core.agents.agent import AgentEvent, TurnContext
from core.desk.export import entries_of
from core.errors import VerbFailed
from core.service.socket import Json
from core.store.sql import Sql
from core.vocabulary import TextDelta
from tests.fakes.agents import call
from tests.flow.house import House

_AS_BEFORE = Sql(verbatim("UPDATE sessions SET title = :to WHERE id = :id"))
"""Titles that an earlier version stored."""


async def verb(house: House, name: str, **args: Json) -> dict[str, Json]:
    """As the socket gives it: through JSON."""
    found: dict[str, Json] = json.loads(json.dumps(await house.verbs.table()[name](args)))
    return found


async def test_a_log_comes_back_from_its_export_equal(house: House) -> None:
    async def works(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await call(turn, "1", "done \u6570 \U0001f4ca", read_only=True)
        yield TextDelta(text="worked")

    house.stage.on("work", works)
    await house.say("please work")
    await house.say("again")
    await house.say("/undo")
    await house.say("/clear")
    await house.say("third")
    found = await verb(house, "sessions.export", key="main/dm/7")
    exported = found["entries"]
    assert isinstance(exported, list)
    assert entries_of(exported) == await house.log()


async def test_the_markdown_is_what_export_says_in_the_chat(house: House) -> None:
    await house.say("one")
    found = await verb(house, "sessions.export", key="main/dm/7")
    await house.say("/export")
    assert house.seen()[-1] == str(found["markdown"]).strip()
    session = await house.session()
    by_id = await verb(house, "sessions.export", key=session.id)
    assert by_id == found


async def test_a_session_is_renamed(house: House) -> None:
    await house.say("one")
    renamed = await verb(house, "sessions.rename", key="main/dm/7", title="  The \n plan ")
    assert renamed["title"] == "The plan"
    assert (await house.session()).title == "The plan"
    for title in ("   ", "x" * 200):
        with pytest.raises(VerbFailed, match="1 to"):
            await verb(house, "sessions.rename", key="main/dm/7", title=title)


EVIL = "a \u202ereversed\u202c \x1b[31mred\x07 title"
TAME = "a reversed [31mred title"


async def test_no_title_turns_round_or_commands_what_shows_it(house: House) -> None:
    await house.say(EVIL)
    session = await house.session()
    assert session.title == TAME
    await house.say(f"/title {EVIL} again")
    assert (await house.session()).title == f"{TAME} again"
    assert (await verb(house, "sessions.rename", key="main/dm/7", title=f"{EVIL} 2"))["title"] == f"{TAME} 2"
    with pytest.raises(VerbFailed, match="a title has"):
        await verb(house, "sessions.rename", key="main/dm/7", title="\u202e")
    await house.store.write(lambda tx: tx.run(_AS_BEFORE, to=EVIL, id=session.id))
    for name in ("sessions.list", "sessions.show", "sessions.export"):
        told = str(await verb(house, name, **({} if name == "sessions.list" else {"key": "main/dm/7"})))
        assert TAME in told
    await house.say("/status")
    assert TAME in house.seen()[-1]


@pytest.mark.parametrize("name", ["sessions.export", "sessions.rename"])
async def test_what_is_not_there_is_said(house: House, name: str) -> None:
    with pytest.raises(VerbFailed, match="no session"):
        await verb(house, name, key="main/dm/99", title="x")


@pytest.mark.parametrize("bad", [{}, {"seq": "1"}, {"session": "s", "seq": 1, "kind": "user"}])
def test_what_is_no_export_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no entry"):
        entries_of([bad])
