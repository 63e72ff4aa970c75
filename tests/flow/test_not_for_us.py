"""S13: of what is not for us nothing is stored that says who wrote it, and not for long."""

from __future__ import annotations

import pytest
from sqlalchemy import text as verbatim

from core.store import chores
from core.store.sql import Sql
from core.vocabulary import Verdict
from tests.flow.conftest import Furnish
from tests.flow.house import DAY, HOUR, House
from tests.flow.pressing_bot import ButtonBot, press_of
from tests.flow.test_explaining import message

WHO, NAME, WORDS = "990017", "Bystander Quartz", "zebra lantern"
_SAID = Sql(verbatim("SELECT * FROM inbox"))


async def stored(house: House) -> str:
    """All that the store has of what came, and all that its files hold, except that the desk was told of chats."""
    rows = await house.store.read(lambda tx: [repr(row) for row in tx.all(_SAID)])
    files = [path.read_bytes().decode("latin-1") for path in house.state.rglob("*") if path.is_file()]
    return "\n".join([*rows, *files])


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"chat": "-999"}, "not listed"),
        ({"addressed": False}, "not meant for the bot"),
        ({"chat": "-999", "thread": "5"}, "not listed"),
        ({"is_bot": True}, "another bot"),
    ],
)
async def test_s13_a_bystander_leaves_no_name_no_id_and_no_word(
    house: House, how: dict[str, object], words: str
) -> None:
    said = await house.offer(house.group_message(WORDS, user=WHO, name=NAME, **how))  # type: ignore[arg-type]
    await house.idle()
    assert said.receipt.verdict is Verdict.IGNORED
    told = await message(house, said)
    assert words in told["sentence"]
    assert told["sender"] is None
    kept = await stored(house)
    for trace in (WHO, NAME, WORDS):
        assert trace not in kept
    await house.redeliver(said)


@pytest.mark.parametrize(("direct", "words"), [("allow", "[access] allow"), ("off", "takes no direct messages")])
async def test_s13_nor_does_who_may_not_write_directly(furnish: Furnish, direct: str, words: str) -> None:
    house = await furnish(access={"direct": direct})
    said = await house.say(WORDS, user=WHO, chat="55", name=NAME)
    told = await message(house, said)
    assert words in told["sentence"]
    kept = await stored(house)
    for trace in (WHO, NAME, WORDS):
        assert trace not in kept


async def test_s13_nor_do_an_edit_and_a_press_of_a_bystander(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    said = await house.offer(house.group_message(WORDS, user=WHO, name=NAME, chat="-999"))
    await house.edit(said, WORDS + " again")
    (receipt,) = await house.receive(press_of(house, "no button", chat="-999", user=WHO))
    assert receipt.verdict is Verdict.REFUSED
    kept = await stored(house)
    for trace in (WHO, NAME, WORDS, f"user {WHO}"):
        assert trace not in kept


async def test_s13_who_asks_to_be_let_in_is_known_until_the_row_goes(furnish: Furnish) -> None:
    """An owner has to see who asked."""
    house = await furnish(access={"direct": "pairing"})
    said = await house.say(WORDS, user=WHO, name=NAME)
    told = await message(house, said)
    assert told["sender"] == f"telegram:{WHO}"


async def test_s13_such_rows_go_after_a_day_and_others_stay(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces, and each row is looked at once."""
    monkeypatch.setattr("core.service.schedule.BATCH", 4)
    answered = [(await house.say(f"to the bot {number}")).row for number in range(6)]
    for number in range(10):
        await house.say_in_group(f"aside {number}", user=WHO, addressed=False)
    await house.advance(DAY.total_seconds() - 2 * HOUR.total_seconds())
    young = await house.say_in_group("aside again", user=WHO, addressed=False)
    await house.chores.tidy()
    assert len(await house.rows()) == 17
    await house.advance(3 * HOUR.total_seconds())
    await house.chores.tidy()
    assert [row.id for row in await house.rows()] == [*answered, young.row]
    await house.advance(DAY.total_seconds())
    await house.chores.tidy()
    assert [row.id for row in await house.rows()] == answered


async def test_s13_a_row_that_came_again_after_that_is_dropped_again(house: House) -> None:
    said = await house.say_in_group("aside", user=WHO, addressed=False)
    await house.advance(DAY.total_seconds() + 1)
    await house.chores.tidy()
    (receipt,) = await house.receive(said.message)
    assert (receipt.verdict, receipt.reason) == (Verdict.IGNORED, "not_addressed")
    assert receipt.row > said.row
    assert chores.IGNORED_KEPT == DAY
