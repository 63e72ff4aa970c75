"""How much of what people send one turn takes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.desk.bringing import CUT
from core.store.history import render
from core.vocabulary import Attachment, Quote
from tests.flow.conftest import Furnish
from tests.flow.files import FilingBot, bot_of, bring, bringing, file
from tests.flow.house import OWNER, House
from tests.flow.test_limits import explained, limits

TOLD = "That was too long for me, so I read the first 1,000 characters only."
SHORT: dict[str, object] = {"mailbox": {"turn_chars": 1000}}


async def shown(house: House, key: str = "main/dm/7") -> str:
    """The last message as a model is shown it."""
    return render([entry for entry in await house.log(key) if entry.kind == "user"][-1])


def texts(house: House, *contents: bytes) -> list[Attachment]:
    for number, content in enumerate(contents):
        bot_of(house).holds(f"t{number}", content)
    return [file(f"t{number}", name=f"t{number}.txt") for number in range(len(contents))]


@pytest.mark.parametrize("user", ["7", OWNER])
async def test_s11_a_message_that_is_too_long_is_cut_and_everybody_sees_that(furnish: Furnish, user: str) -> None:
    house = await furnish(**SHORT)
    said = await house.say("a" * 1500, user=user)
    assert house.stage.texts == ["a" * 1000 + CUT]
    assert house.seen(user)[0] == TOLD
    assert await limits(house) == {"turn_chars": 1}
    assert "[mailbox] turn_chars" in await explained(house, said.row)
    before = house.seen(user)
    fine = await house.say("b" * 1000, user=user)
    assert TOLD not in house.heard_since(before, user)
    assert "turn_chars" not in await explained(house, fine.row)


async def test_s11_files_are_cut_with_the_message_that_brings_them(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), **SHORT)
    said = await bring(house, "read", *texts(house, b"a" * 700, b"b" * 700, b"c" * 700))
    seen = await shown(house)
    head = len("read\n[file t0.txt]\n[file t1.txt]\n[file t2.txt]")
    assert (seen.count("a" * 700), seen.count("b" * (300 - head)), seen.count("c" * 10)) == (1, 1, 0)
    assert seen.count(CUT.strip()) == 2
    assert len(seen) < 1400
    assert house.seen()[0] == TOLD
    assert "[mailbox] turn_chars" in await explained(house, said.row)


async def test_s11_messages_that_wait_are_not_put_together_beyond_what_a_turn_takes(furnish: Furnish) -> None:
    """A hundred files of 200 characters, sent while a turn runs."""
    house = await furnish(FilingBot(), **SHORT)
    house.stage.on("first", house.stage.waits())
    await house.say("first")
    at = house.clock.now()
    attachments = texts(house, *[f"{number:03}".encode() * 70 for number in range(100)])
    said = [await bring(house, f"m{number}", one, sent_at=at) for number, one in enumerate(attachments)]
    house.stage.gate().set()
    await house.idle()
    messages = [entry for entry in await house.log() if entry.kind == "user"]
    assert all(len(render(entry)) < 2000 for entry in messages)
    assert len(messages) == 26
    assert [await house.fate(one) for one in said].count("answered") == 25
    whole = "".join(render(entry) for entry in messages)
    assert all(f"{number:03}" * 70 in whole for number in range(100))
    assert [f"m{number}\n" in whole for number in range(100)] == [True] * 100
    assert CUT not in whole
    assert TOLD not in house.seen()


async def test_s11_a_split_paste_that_is_too_long_becomes_several_turns(furnish: Furnish) -> None:
    house = await furnish(**SHORT)
    at = house.clock.now()
    pieces = [house.message(letter * 400, sent_at=at, more_likely=letter != "e") for letter in "abcde"]
    await house.receive(*pieces)
    await house.idle()
    await house.advance(10)
    assert house.stage.texts == ["a" * 400 + "b" * 400, "c" * 400 + "d" * 400, "e" * 400]


async def test_s11_what_joins_a_running_turn_is_bounded_too(furnish: Furnish) -> None:
    house = await furnish(mailbox={"turn_chars": 1000, "busy": "steer"})
    house.stage.on("slow", house.stage.waits())
    await house.say("slow")
    for letter in "abcde":
        await house.say(letter * 400)
    house.stage.gate().set()
    await house.idle()
    assert house.stage.steered == ["a" * 400, "b" * 400]
    assert house.stage.texts[1] == "c" * 400 + "\n" + "d" * 400
    assert house.stage.texts[2] == "e" * 400


async def test_s11_rows_that_wait_for_the_next_turn_are_not_lost_with_the_process(furnish: Furnish) -> None:
    house = await furnish(**SHORT)
    house.stage.on("a", house.stage.waits())
    at = house.clock.now()
    await house.receive(*[house.message(letter * 600, sent_at=at) for letter in "abc"])
    await house.idle()
    assert house.stage.texts == ["a" * 600]
    await house.restart()
    house.stage.gate().set()
    await house.idle()
    assert house.stage.texts[-2:] == ["b" * 600, "c" * 600]


async def test_s11_a_message_asked_again_is_not_cut_once_more(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), **SHORT)
    await bring(house, "read", *texts(house, b"a" * 950))
    first = await shown(house)
    await house.say("/retry")
    assert await shown(house) == first


async def test_s11_four_hundred_thousand_characters_are_what_a_turn_takes_by_default(furnish: Furnish) -> None:
    house = await furnish(FilingBot())
    attachments = texts(house, *[bytes([97 + n]) * 150_000 for n in range(4)])
    await house.ended(await house.offer(bringing(house, "read", *attachments)))
    assert 400_000 < len(await shown(house)) < 401_000


async def test_s11_a_quotation_counts(furnish: Furnish) -> None:
    house = await furnish(**SHORT)
    quoted = Quote(name="Bob", text="q" * 900)
    await house.receive(replace(house.message("a" * 900), quote=quoted))
    await house.idle()
    assert len(house.stage.texts[0]) == 1000 + len(CUT)
