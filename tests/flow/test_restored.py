"""What comes out of a backup answers nothing a second time, and goes on from there."""

from __future__ import annotations

from core.desk.restored import Held, hold_back
from core.store import checks
from tests.flow.asking import verb
from tests.flow.conftest import Furnish
from tests.flow.house import House
from tests.flow.store import open_watched
from tests.flow.test_consent import Paying


async def restored(house: House) -> Held:
    """The store is copied in this moment, and another process starts on the copy."""
    await house.die()
    store = open_watched(house.state)
    held = await store.write(lambda tx: hold_back(tx, house.core.notices, house.clock.now()))
    assert await store.read(checks.check) == []
    store.close()
    await house.open()
    await house.idle()
    return held


async def test_what_waited_or_ran_is_closed_and_nothing_is_said(furnish: Furnish) -> None:
    house = await furnish()
    house.stage.on("slow", house.stage.waits("slow", before=["half "]))
    await house.say("before")
    running = await house.say("slow one")
    waiting = await house.say("behind it")
    house.core.outbox.hold(house.bot.name)
    queued = await house.say("aside", user="8")
    seen = (house.seen(), house.seen("8"))
    asked = len(house.stage.asked)
    held = await restored(house)
    assert held == Held(messages=2, turns=1, deliveries=1)
    assert (house.seen(), house.seen("8")) == seen
    assert len(house.stage.asked) == asked
    assert [await house.fate(said) for said in (running, waiting, queued)] == ["stale", "stale", "answered"]
    for said in (running, waiting):
        found = await verb(house, "explain", id=str(said.row))
        assert "waited when the backup was made" in found["findings"][0]["sentence"]
    assert (await house.told())[-1] == (
        "notice", "The store was restored from a backup that was made here: the answer was not finished in it.",
    )  # fmt: skip
    await house.say("after")
    assert house.stage.asked[-1].history[:2] == (("user", "before"), ("assistant", "re: before"))
    assert house.seen()[-1] == "re: after"


async def test_an_open_question_is_closed_and_its_call_is_never_made(house: House) -> None:
    paying = Paying()
    house.stage.on("pay", paying)
    await house.say("please pay")
    seen = house.seen()
    await restored(house)
    await house.say("/approve")
    assert paying.paid == []
    assert house.heard_since(seen) == ["Nothing waits for your word here."]
    await house.say("hello")
    assert house.seen()[-1] == "re: hello"


async def test_a_store_at_rest_is_left_as_it_is(house: House) -> None:
    await house.say("hello")
    before = await house.log()
    assert await restored(house) == Held(messages=0, turns=0, deliveries=0)
    assert await house.log() == before
