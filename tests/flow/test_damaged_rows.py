"""A row that something else wrote to: the others are read, the chat goes on, and verify names it."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text as verbatim

from core.service.notices import Notices
from core.store.checks import survey
from core.store.sql import Sql
from tests.flow.asking import verb
from tests.flow.house import House


async def listed(house: House) -> list[str]:
    """The ids of all sessions that are shown, latest first."""
    found: Any = await verb(house, "sessions.list")
    return [str(one["id"]) for one in found]


async def write(house: House, session: str, column: str, value: object) -> None:
    """What something else writes to a session's row."""
    sql = Sql(verbatim(f"UPDATE sessions SET {column} = {value} WHERE id = '{session}'"))  # ours
    await house.store.write(lambda tx: tx.run(sql))


@pytest.mark.parametrize("column", ["touched_at", "last_human_at", "expires_at", "started_at"])
@pytest.mark.parametrize("value", ["'soon'", "9000000000000000000"])
async def test_t03_a_damaged_session_hides_no_other_and_its_chat_goes_on(house: House, column: str, value: str) -> None:
    if house.store.database.dialect != "sqlite" and value == "'soon'":
        pytest.skip("PostgreSQL takes no text there")
    await house.say("first", user="7")
    await house.say("other", user="8")
    session = (await listed(house))[-1]
    row = Sql(verbatim(f"SELECT {column} AS known FROM sessions WHERE id = '{session}'"))  # the same
    [known] = await house.store.read(lambda tx: [one.value("known") for one in tx.all(row)])
    await write(house, session, column, value)
    await house.restart()
    assert session not in await listed(house)
    assert len(await listed(house)) == 1
    if value == "'soon'":
        report = await survey(house.store)
        assert ("sessions " + session) in [finding.subject for finding in report.findings]
    await house.say("again", user="7")
    assert house.seen()[-2:] == [Notices("en").say("reset_damaged"), "re: again"]
    await house.say("and again", user="7")
    assert house.seen()[-1] == "re: and again"
    mended = column == "expires_at"  # an ended session has none
    assert len(await listed(house)) == 2 + mended
    if not mended:
        await write(house, session, column, known)
