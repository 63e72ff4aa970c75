"""Each platform's own limit of a file, as it is told before the platform refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from bots.discord.bot import DiscordBot
from bots.slack.bot import SlackBot
from bots.telegram.bot import TelegramBot
from config.bots import DiscordSettings, SlackSettings, TelegramSettings
from config.secret import Secret
from core.desk.handing import Hand, take, upload_limit
from core.errors import FileRefused
from core.ports import Bot
from core.store.files import Files
from core.vocabulary import Address, BotName, ChatId
from tests.clock import ManualClock
from tests.contract.doubles import NoChance
from tests.flow.files import FilingBot, bot_of, bring, file
from tests.flow.house import opened

MIB: Final = 1024 * 1024
UNITS: Final = {"MiB": MIB, "GiB": 1024 * MIB}
NAME: Final = BotName("bot")


def telegram() -> Bot:
    settings = TelegramSettings.model_validate({"name": NAME, "token": Secret("1:token")}, strict=False)
    return TelegramBot(NAME, settings=settings, clock=ManualClock(), random=NoChance())


def discord() -> Bot:
    settings = DiscordSettings.model_validate({"name": NAME, "token": Secret("a.token.x")}, strict=False)
    return DiscordBot(NAME, settings=settings, clock=ManualClock(), random=NoChance())


def slack() -> Bot:
    secrets = {"bot_token": Secret("xoxb-token"), "app_token": Secret("xapp-token")}
    settings = SlackSettings.model_validate({"name": NAME, **secrets}, strict=False)
    return SlackBot(NAME, settings=settings, clock=ManualClock(), random=NoChance())


def told_bytes(words: str) -> float:
    """The last size that is told."""
    *_, (number, unit) = re.findall(r"([\d.,]+(?:e\+\d+)?) (MiB|GiB)", words)
    return float(number.replace(",", "")) * UNITS[unit]


@pytest.mark.parametrize(
    ("made", "limit"),
    [
        (telegram, 20 * MIB),  # https://core.telegram.org/bots/api#getfile
        (discord, 500 * MIB),  # by who pays most
        (slack, 1024 * MIB),  # https://docs.slack.dev/messaging/working-with-files
    ],
)
async def test_what_people_may_send_is_told(made: Callable[[], Bot], limit: int, sqlite_state: Path) -> None:
    here = FilingBot(capabilities=replace(made().capabilities, direct_pace=None))
    options = {"desk": {"attachment_mib": 2000}, "access": {"guests": {"file_mib_per_day": 4000}}}
    async with opened(sqlite_state, options, here) as house:
        for size, ref in ((limit, "just"), (limit + 1, "over")):
            bot_of(house).holds(ref, b"hello")
            await house.ended(await bring(house, "", file(ref, name=f"{ref}.txt", size=size)))
    assert [source.fetches for source in here.sources.values()] == [1, 0]
    [told] = [text for text in here.seen("7") if "too large" in text]
    assert told_bytes(told) == pytest.approx(limit, rel=0.01)


@pytest.mark.parametrize(
    ("made", "limit"),
    [
        (telegram, 50_000_000),  # https://core.telegram.org/bots/api#senddocument
        (discord, 10 * MIB),  # https://docs.discord.com/developers/reference#uploading-files
        (slack, 1024 * MIB),  # https://docs.slack.dev/messaging/working-with-files
    ],
)
def test_what_an_agent_may_send_is_told(made: Callable[[], Bot], limit: int, tmp_path: Path) -> None:
    bot = made()
    allowed = upload_limit(bot, Address(bot=NAME, chat=ChatId("1")))
    assert allowed == limit
    with (tmp_path / "big.bin").open("wb") as hollow:
        hollow.truncate(limit + 1)
    with pytest.raises(FileRefused) as refused:
        take(Files(tmp_path / "kept"), ["big.bin"], Hand(roots=(tmp_path,), limit=allowed, most=1))
    assert told_bytes(str(refused.value)) == pytest.approx(limit, rel=0.01)
