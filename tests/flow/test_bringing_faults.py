"""Files that can't be fetched: tried again, told, and no message lost with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.desk.porter import FETCH_S, FETCHED, OF_A_BOT, OF_A_CONVERSATION, READ_S
from core.errors import BotError, BotRejected, FloodWait, NotSent, Rejected, Unknown
from core.vocabulary import Attachment, BotName, Capabilities, FileKind, TextUnit, Verdict
from tests.flow.conftest import Furnish
from tests.flow.files import (
    FilingBot,
    attached,
    bot_of,
    bring,
    bringing,
    enclosed,
    file,
    on_disk,
    picture,
    voice,
)
from tests.flow.house import House

LOST = "Please send it again"


@pytest.mark.parametrize(
    "error",
    [
        BotError("no"), BotRejected("token"), Rejected("file_id"), ValueError("odd"), KeyError("odd"), OSError("odd"),
        TimeoutError(), RecursionError(), MemoryError(), StopIteration(), asyncio.CancelledError(),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
async def test_a_fetch_that_fails_for_good_loses_the_file_and_not_the_message(
    filing: House, error: BaseException
) -> None:
    source = bot_of(filing).holds("d", b"some words")
    source.faults.append(error)
    source.broken_at = 4
    said = await bring(filing, "read", file("d", name="a.txt"), user="8")
    await filing.advance(5)
    assert filing.stage.texts == ["read\n[file a.txt: not received]"]
    assert await filing.fate(said) == "answered"
    assert LOST in filing.seen("8")[0]
    assert on_disk(filing) == []
    assert bot_of(filing).open_fetches == 0


@pytest.mark.parametrize("error", [NotSent("no route"), Unknown("cut"), FloodWait(20)])
async def test_a_fetch_that_may_be_repeated_is(filing: House, error: BaseException) -> None:
    source = bot_of(filing).holds("d", b"some words")
    source.faults.extend([error, error])
    source.broken_at = 4
    await bring(filing, "read", file("d", name="a.txt"))
    assert filing.stage.texts == []
    await filing.advance(60)
    assert source.fetches == 3
    [entry] = [entry for entry in await filing.log() if entry.kind == "user"]
    assert "some words" in str(entry.data["files"])


async def test_a_flood_wait_of_an_hour_is_not_waited_for(filing: House) -> None:
    source = bot_of(filing).holds("d", b"some words")
    source.faults.append(FloodWait(3600))
    await bring(filing, "read", file("d", name="a.txt"))
    await filing.advance(FETCH_S + 1)
    assert filing.stage.texts == ["read\n[file a.txt: not received]"]
    assert LOST in filing.seen()[0]
    assert source.fetches == 1


async def test_a_message_of_which_nothing_came_is_not_answered(filing: House) -> None:
    bot = bot_of(filing)
    for ref in "ab":
        bot.holds(ref).faults.append(BotError("no"))
    said = await bring(filing, "  ", file("a", name="a.txt"), picture("b", "b.png"))
    assert filing.stage.texts == []
    row = await filing.row(said)
    assert (row.fate, row.detail) == ("refused", "file_lost")
    assert len(filing.seen()) == 1
    await bring(filing, "hello")
    assert filing.stage.texts == ["hello"]


async def test_one_file_of_several_that_is_lost_is_told_once(filing: House) -> None:
    bot = bot_of(filing)
    bot.holds("a").faults.append(BotError("no"))
    bot.holds("b", b"words")
    await bring(filing, "both", file("a", name="a.txt"), file("b", name="b.txt"))
    assert filing.stage.texts == ["both\n[file a.txt: not received]\n[file b.txt]"]
    assert [LOST in text for text in filing.seen()] == [True, False]


async def test_a_bot_that_gives_no_files_is_told_about(furnish: Furnish) -> None:
    house = await furnish(FilingBot(capabilities=Capabilities(text_limit=400, text_unit=TextUnit.UTF16)))
    await bring(house, "read", file("d", name="a.txt"))
    assert LOST in house.seen()[0]


async def test_strangers_and_ignored_messages_have_nothing_fetched(furnish: Furnish) -> None:
    house = await furnish(FilingBot(), access={"direct": "pairing"})
    source = bot_of(house).holds("d", b"x")
    said = await house.offer(bringing(house, "read", file("d", name="a.txt"), user="99"))
    await house.idle()
    assert said.receipt.verdict is Verdict.REFUSED
    assert source.fetches == 0


async def test_no_more_than_a_few_are_fetched_at_the_same_time(filing: House) -> None:
    bot = bot_of(filing)
    gate = asyncio.Event()
    files: list[Attachment] = []
    for number in range(30):
        bot.holds(f"f{number}", f"{number}".encode()).gate = gate
        files.append(file(f"f{number}", name=f"{number}.txt"))
    said = await bring(filing, "all", *files)
    assert bot.open_fetches == OF_A_CONVERSATION
    gate.set()
    await filing.ended(said)
    assert bot.open_fetches == 0
    assert len(await attached(filing)) == 30


async def test_files_that_hang_hold_up_no_other_conversation(filing: House) -> None:
    bot = bot_of(filing)
    for number in range(OF_A_CONVERSATION):
        bot.holds(f"f{number}").gate = asyncio.Event()
    await bring(filing, "hangs", *(file(f"f{number}") for number in range(OF_A_CONVERSATION)), user="8")
    bot.holds("d", b"words")
    await bring(filing, "read", file("d", name="a.txt"), user="9")
    assert filing.stage.texts == ["read\n[file a.txt]"]


async def hangs(house: House, user: int, bot: str = "main") -> None:
    """Somebody sends more files than are fetched at once for one conversation, and nothing of any comes."""
    files = [file(f"{user}-{number}") for number in range(OF_A_CONVERSATION + 1)]
    for one in files:
        filing_bot(house, bot).holds(one.ref).gate = asyncio.Event()
    await bring(house, "hangs", *files, user=f"{user}", bot=bot)


def filing_bot(house: House, name: str) -> FilingBot:
    bot = house.bots[BotName(name)]
    assert isinstance(bot, FilingBot)
    return bot


async def test_a_platform_that_gives_nothing_holds_up_no_other_platform(furnish: Furnish) -> None:
    house = await furnish(FilingBot("main"), FilingBot("other"))
    for user in range(100, 100 + FETCHED // OF_A_CONVERSATION + 1):
        await hangs(house, user)
    assert filing_bot(house, "main").open_fetches == OF_A_BOT
    filing_bot(house, "other").holds("d", b"words")
    await bring(house, "read", file("d", name="a.txt"), user="9", bot="other")
    assert house.stage.texts == ["read\n[file a.txt]"]


async def test_all_platforms_together_have_a_bound(furnish: Furnish) -> None:
    names = [f"bot{number}" for number in range(FETCHED // OF_A_BOT + 2)]
    house = await furnish(*(FilingBot(name) for name in names))
    for name in names:
        for user in range(100, 100 + OF_A_BOT // OF_A_CONVERSATION):
            await hangs(house, user, name)
    assert sum(filing_bot(house, name).open_fetches for name in names) == FETCHED


async def test_files_that_take_long_to_read_hold_up_nobody_elses(
    filing: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    async def text_of(path: Path, media_type: str, name: str) -> str:
        begun.append(name)
        if name != "quick.pdf":
            await asyncio.Event().wait()
        return "words"

    monkeypatch.setattr("core.desk.porter.text_of", text_of)
    for name in ("1.pdf", "2.pdf", "quick.pdf"):
        bot_of(filing).holds(name, b"%PDF-")
    await bring(filing, "long", file("1.pdf", name="1.pdf"), file("2.pdf", name="2.pdf"), user="8")
    await bring(filing, "read", file("quick.pdf", name="quick.pdf"), user="9")
    assert begun == ["1.pdf", "quick.pdf"]
    assert filing.stage.texts == ["read\n[file quick.pdf]"]
    await filing.advance(2 * READ_S)
    assert begun == ["1.pdf", "quick.pdf", "2.pdf"]
    assert filing.stage.texts[1:] == ["long\n[file 1.pdf]\n[file 2.pdf]"]


async def test_what_waits_for_another_try_holds_up_nothing(filing: House) -> None:
    bot = bot_of(filing)
    refs = [f"f{number}" for number in range(OF_A_CONVERSATION + 1)]
    for ref in refs:
        bot.holds(ref, b"words").faults.append(FloodWait(50))
    bot.sources[refs[-1]].faults.clear()
    await bring(filing, "all", *(file(ref, name=f"{ref}.txt") for ref in refs))
    assert [bot.sources[ref].given for ref in refs] == [*[0] * OF_A_CONVERSATION, len(b"words")]
    await filing.advance(60)
    assert len(await attached(filing)) == len(refs)


async def test_a_flood_wait_that_is_longer_than_all_tries_is_told_at_once(filing: House) -> None:
    bot_of(filing).holds("d", b"some words").faults.append(FloodWait(FETCH_S))
    await bring(filing, "read", file("d", name="a.txt"))
    assert filing.stage.texts == ["read\n[file a.txt: not received]"]


async def test_a_file_that_hangs_holds_up_no_words_of_others_and_no_commands(filing: House) -> None:
    bot_of(filing).holds("d").gate = asyncio.Event()
    said = await bring(filing, "read", file("d", name="a.txt"))
    await filing.say("hello", user="9")
    assert filing.seen("9") == ["re: hello"]
    await filing.say("/status")
    assert len(filing.seen()) == 1
    await filing.advance(10)
    await filing.say("behind")
    assert filing.stage.texts == ["hello"]
    await filing.advance(FETCH_S)
    assert await filing.fate(said) == "answered"
    assert filing.stage.texts == ["hello", "read\n[file a.txt: not received]", "behind"]


async def test_a_voice_where_nobody_hears_is_told_at_once_and_not_fetched(filing: House) -> None:
    source = bot_of(filing).holds("v", b"OggS")
    said = await bring(filing, "", voice())
    assert source.fetches == 0
    assert filing.seen() == ["I can't listen to voice messages here; please write instead."]
    assert await filing.fate(said) == "refused"


async def test_a_row_that_waited_too_long_is_stale_with_its_files(filing: House) -> None:
    bot = bot_of(filing)
    bot.holds("d", b"words")
    filing.stage.on("busy", filing.stage.waits())
    await bring(filing, "busy")
    said = await bring(filing, "read", file("d", name="a.txt"))
    assert (await enclosed(filing, said)).settled
    filing.clock.jump(timedelta(hours=25))
    filing.stage.gate().set()
    await filing.idle()
    await filing.chores.stale()
    await filing.idle()
    assert await filing.fate(said) == "stale"
    assert (await filing.row(said)).text == ""


async def test_kinds_that_nobody_reads_are_named(filing: House) -> None:
    bot = bot_of(filing)
    for ref in ("a", "b"):
        bot.holds(ref, b"\0bytes")
    await bring(filing, "these", file("a", FileKind.VIDEO, name="a.mp4"), file("b", FileKind.AUDIO, name="b.mp3"))
    assert filing.stage.texts == ["these\n[video a.mp4]\n[audio b.mp3]"]


class LearningBot(FilingBot):
    """By what its platform refuses it learns what that gives."""

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        self.capabilities = replace(self.capabilities, download_limit_bytes=5)
        async for piece in super().fetch(attachment):
            yield piece


async def test_what_is_refused_for_its_size_is_told_with_the_limit_that_is_known_by_then(furnish: Furnish) -> None:
    house = await furnish(LearningBot())
    for ref in "de":
        bot_of(house).holds(ref, b"some words").faults.append(Rejected("file is too big"))
    await bring(house, "read", file("d", name="a.txt", size=10), file("e", name="b.txt"))
    await house.advance(5)
    assert "a.txt is too large" in house.seen()[0]
    assert LOST in house.seen()[0]
