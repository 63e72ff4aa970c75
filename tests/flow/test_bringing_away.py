"""Files of a bot that is away: not configured any more, not up yet, or replaced meanwhile."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from core.desk.porter import FETCH_S
from core.errors import NotSent
from core.vocabulary import BotName
from tests.flow.conftest import Furnish
from tests.flow.files import FilingBot, bot_of, bring, picture, png
from tests.flow.house import House
from tests.flow.test_linking import PER_PERSON, add


async def test_a_bot_that_is_gone_keeps_files_for_when_it_is_back(filing: House) -> None:
    source = bot_of(filing).holds("p", png())
    source.gate = asyncio.Event()
    said = await bring(filing, "look", picture("p", "cat.png"))
    bots, filing.bots = filing.bots, {}
    await filing.restart()
    filing.bots = bots
    await filing.restart(settle=False)
    source.gate.set()
    await filing.ended(said)
    assert filing.stage.texts[-1] == "look\n[image cat.png]"


async def test_a_bot_that_is_configured_again_while_the_desk_runs_gives_its_files(filing: House) -> None:
    source = bot_of(filing).holds("p", png())
    source.gate = asyncio.Event()
    said = await bring(filing, "look", picture("p", "cat.png"))
    bots, filing.bots = filing.bots, {}
    await filing.restart()
    await filing.advance(10 * FETCH_S)
    source.gate.set()
    filing.bots.update(bots)
    filing.core.outbox.hold(BotName("main"))
    await filing.idle()
    assert source.fetches == 1
    filing.core.outbox.open(BotName("main"))
    await filing.ended(said)
    assert filing.stage.texts == ["look\n[image cat.png]"]


async def test_a_bot_that_is_not_up_keeps_files_for_when_it_is(filing: House) -> None:
    source = bot_of(filing).holds("p", png())
    filing.core.outbox.hold(BotName("main"))
    said = await bring(filing, "look", picture("p", "cat.png"))
    await filing.advance(10 * FETCH_S)
    assert source.fetches == 0
    filing.core.outbox.open(BotName("main"))
    await filing.ended(said)
    assert filing.stage.texts == ["look\n[image cat.png]"]


async def test_a_bot_that_is_replaced_while_it_fetches_is_asked_anew(filing: House) -> None:
    source = bot_of(filing).holds("p", png())
    source.faults.append(NotSent("not connected"))
    said = await bring(filing, "look", picture("p", "cat.png"))
    filing.core.outbox.hold(BotName("main"))
    filing.bots[BotName("main")] = another = FilingBot()
    another.clock = filing.clock
    another.holds("p", png())
    await filing.advance(10 * FETCH_S)
    filing.core.outbox.open(BotName("main"))
    await filing.ended(said)
    assert filing.stage.texts == ["look\n[image cat.png]"]
    assert (source.fetches, another.sources["p"].fetches) == (1, 1)


async def test_a_bot_that_never_comes_back_leaves_the_message_stale(filing: House) -> None:
    filing.core.outbox.hold(BotName("main"))
    bot_of(filing).holds("p", png())
    said = await bring(filing, "look", picture("p", "cat.png"))
    filing.clock.jump(timedelta(hours=25))
    await filing.chores.stale()
    await filing.idle()
    assert await filing.fate(said) == "stale"
    assert not filing.desk.router.carries
    filing.core.outbox.open(BotName("main"))
    await filing.idle()
    assert bot_of(filing).sources["p"].fetches == 0


async def test_whoever_writes_by_another_bot_does_not_wait_for_one_that_is_away(furnish: Furnish) -> None:
    house = await furnish(FilingBot("main"), FilingBot("other"), **PER_PERSON)
    await add(house, "ann", "7")
    house.core.outbox.hold(BotName("main"))
    bot_of(house).holds("p", png())
    said = await bring(house, "look", picture("p", "cat.png"))
    await house.advance(60)
    assert house.stage.texts == []
    await house.say("hello", bot="other")
    await house.advance(10)
    assert house.stage.texts == ["look\n[image cat.png: not received]", "hello"]
    assert await house.fate(said) == "answered"
