"""What is talked about is shown where the platform shows such a name, and nobody notices where it can't be."""

from __future__ import annotations

import asyncio

import pytest

from core.errors import NotSent
from core.vocabulary import Address
from tests.flow.asking import verb
from tests.flow.bot import GrowingBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, HOUR, House

THREAD = "5"


class TitlingBot(GrowingBot):
    """Its threads have names."""

    def __init__(self) -> None:
        super().__init__()
        self.titles: list[tuple[str, str | None, str]] = []
        self.trouble: Exception | None = None
        self.gate: asyncio.Event | None = None

    async def entitle(self, address: Address, title: str) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.trouble is not None:
            raise self.trouble
        assert address.reply_to is None
        self.titles.append((address.chat, address.thread, title))

    @property
    def named(self) -> list[str]:
        return [title for _, _, title in self.titles]


async def titling(furnish: Furnish, **options: object) -> tuple[House, TitlingBot]:
    bot = TitlingBot()
    return await furnish(bot, **options), bot


async def test_a_conversation_is_named_by_its_first_words_once(furnish: Furnish) -> None:
    house, bot = await titling(furnish)
    await house.say_in_group("About\ncats", thread=THREAD)
    await house.say_in_group("and dogs", thread=THREAD)
    assert bot.titles == [(GROUP, THREAD, "About cats")]
    await house.restart()
    await house.say_in_group("and birds", thread=THREAD)
    assert len(bot.titles) == 1


async def test_each_place_has_its_own(furnish: Furnish) -> None:
    house, bot = await titling(furnish)
    await house.say("in private")
    await house.say_in_group("in a thread", thread=THREAD)
    assert bot.titles == [("7", None, "in private"), (GROUP, THREAD, "in a thread")]


async def test_a_new_conversation_in_the_same_place_gets_its_own_name(furnish: Furnish) -> None:
    house, bot = await titling(furnish, session={"reset": {"mode": "idle", "idle_minutes": 60}})
    await house.say("cats")
    await house.advance(2 * HOUR.total_seconds())
    await house.say("dogs")
    await house.say("/reset birds")
    assert bot.named == ["cats", "dogs", "birds"]


async def test_who_renames_or_resumes_it_sees_that(furnish: Furnish) -> None:
    house, bot = await titling(furnish)
    await house.say("cats")
    await house.say("/title My cats")
    await house.say("/title " + "x" * 999)
    await house.say("/title")
    await house.say("/reset")
    await house.say("dogs")
    await house.say("/resume my cats")
    await house.say("/resume no such")
    assert bot.named == ["cats", "My cats", "dogs", "My cats"]


async def test_who_runs_the_desk_renames_it_where_it_goes_on(furnish: Furnish) -> None:
    house, bot = await titling(furnish)
    await house.say_in_group("cats", thread=THREAD)
    key = f"main/group/{GROUP}/thread/{THREAD}"
    await verb(house, "sessions.rename", key=key, title="Our cats")
    assert bot.titles[1:] == [(GROUP, THREAD, "Our cats")]
    over = (await house.session(key)).id
    await house.say_in_group("/reset dogs", thread=THREAD)
    await verb(house, "sessions.rename", key=over, title="Cats of old")
    await verb(house, "sessions.end", key=key)
    await verb(house, "sessions.rename", key=key, title="Dogs of old")
    assert bot.named == ["cats", "Our cats", "dogs"]


async def test_a_command_alone_names_nothing(furnish: Furnish) -> None:
    house, bot = await titling(furnish)
    for text in ("/help", "/status", "/reset", "/stop"):
        await house.say(text)
    assert bot.titles == []


@pytest.mark.parametrize("trouble", [NotSent("not now"), ValueError("a fault of the bot")])
async def test_a_name_that_cannot_be_shown_is_no_trouble(furnish: Furnish, trouble: Exception) -> None:
    house, bot = await titling(furnish)
    bot.trouble = trouble
    said = await house.say("cats")
    assert await house.fate(said) == "answered"
    assert house.seen() == ["re: cats"]


async def test_a_platform_that_hangs_over_a_name_holds_up_nothing(furnish: Furnish) -> None:
    house, bot = await titling(furnish)
    bot.gate = asyncio.Event()
    await house.offer(house.message("cats"))
    await house.until(lambda: house.seen() == ["re: cats"])
    assert bot.titles == []
    bot.gate.set()
    await house.idle()
    assert bot.named == ["cats"]
