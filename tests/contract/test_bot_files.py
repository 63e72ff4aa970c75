"""What every bot promises of files, in and out, on each platform that has them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.errors import BotError, NotSent, Rejected, Unknown
from core.ports import Bot, CanEdit, CanFetch
from core.vocabulary import Attachment, FileKind, Message, MessageId
from tests.clock import PATIENCE_S
from tests.contract.doubles import RecordingDesk, chain, running, up
from tests.contract.harness import Fault, Harness, Shown, anew, out
from tests.fakes.telegram.images import png

NOTES = ("notes.txt", b"what we said")
REPORT = ("report.pdf", bytes(range(256)) * 1_000)


def messages(desk: RecordingDesk) -> list[Message]:
    return [one for one in desk.heard if isinstance(one, Message)]


def attached(desk: RecordingDesk) -> list[Attachment]:
    return [attachment for message in messages(desk) for attachment in message.attachments]


async def fetched(bot: Bot, attachment: Attachment) -> bytes:
    assert isinstance(bot, CanFetch)
    async with asyncio.timeout(PATIENCE_S):
        return b"".join([piece async for piece in bot.fetch(attachment)])


async def brought(harness: Harness, desk: RecordingDesk, name: str, content: bytes) -> Attachment:
    """A file that the person has sent."""
    harness.bring("look", (name, content))
    await desk.until(lambda: bool(attached(desk)))
    return attached(desk)[0]


# -- in ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def taking(harness: Harness) -> Harness:
    if not harness.bot.capabilities.download_limit_bytes:
        pytest.skip(f"no files come in on {harness.bot.platform}")
    return harness


async def test_a_file_comes_with_its_words_and_is_fetched_whole(taking: Harness, desk: RecordingDesk) -> None:
    async with running(taking.bot, desk):
        await up(desk)
        attachment = await brought(taking, desk, *REPORT)
        assert await fetched(taking.bot, attachment) == REPORT[1]
    assert desk.words == ["look"]
    assert (attachment.name, attachment.kind, attachment.size) == (REPORT[0], FileKind.FILE, len(REPORT[1]))
    assert attachment.media_type in ("", "application/pdf")
    assert messages(desk)[0].sender.user == taking.person
    assert not any(secret in repr(attachment) for secret in taking.secrets)


async def test_a_file_needs_no_words(taking: Harness, desk: RecordingDesk) -> None:
    taking.bring("", NOTES)
    async with running(taking.bot, desk):
        await desk.until(lambda: bool(attached(desk)))
        assert await fetched(taking.bot, attached(desk)[0]) == NOTES[1]
    assert desk.words == [""]


async def test_files_that_were_sent_as_one_are_one_or_say_that_more_follow(
    taking: Harness, desk: RecordingDesk
) -> None:  # fmt: skip
    async with running(taking.bot, desk):
        await up(desk)
        taking.bring("both", NOTES, REPORT)
        await desk.until(lambda: len(attached(desk)) == 2)
        contents = [await fetched(taking.bot, one) for one in attached(desk)]
    assert contents == [NOTES[1], REPORT[1]]
    assert "".join(desk.words) == "both"
    assert all(message.more_likely for message in messages(desk)[:-1])


async def test_a_file_that_came_before_the_start_is_there(taking: Harness, desk: RecordingDesk) -> None:
    async with running(taking.bot, desk):
        await up(desk)
    anew(taking, desk)
    taking.bring("while you slept", NOTES)
    async with running(taking.bot, desk):
        await desk.until(lambda: bool(attached(desk)))
        assert await fetched(taking.bot, attached(desk)[0]) == NOTES[1]
    assert desk.words == ["while you slept"]


async def test_what_was_told_of_a_file_is_good_after_a_restart(taking: Harness, desk: RecordingDesk) -> None:
    async with running(taking.bot, desk):
        await up(desk)
        attachment = await brought(taking, desk, *REPORT)
    anew(taking, desk)
    async with running(taking.bot, desk):
        await up(desk)
        for _ in range(2):
            assert await fetched(taking.bot, attachment) == REPORT[1]


async def test_a_file_that_is_gone_is_refused_for_good(taking: Harness, desk: RecordingDesk) -> None:
    async with running(taking.bot, desk):
        await up(desk)
        attachment = await brought(taking, desk, *NOTES)
        taking.lose_files()
        with pytest.raises(Rejected) as caught:
            await fetched(taking.bot, attachment)
    assert not any(secret in chain(caught.value) for secret in taking.secrets)


async def test_a_file_that_can_not_be_had_just_now_is_had_later(taking: Harness, desk: RecordingDesk) -> None:
    async with running(taking.bot, desk):
        await up(desk)
        attachment = await brought(taking, desk, *NOTES)
        await taking.order(Fault.NOT_REACHED)
        with pytest.raises((NotSent, Unknown)) as caught:
            await fetched(taking.bot, attachment)
        await taking.mend()
        assert await fetched(taking.bot, attachment) == NOTES[1]
    assert not any(secret in chain(caught.value) for secret in taking.secrets)


async def test_a_bot_that_does_not_run_fetches_nothing_for_now(taking: Harness, desk: RecordingDesk) -> None:
    async with running(taking.bot, desk):
        await up(desk)
        attachment = await brought(taking, desk, *NOTES)
    with pytest.raises(NotSent):
        await fetched(taking.bot, attachment)


async def test_a_file_beyond_the_limit_says_how_large_it_is(taking: Harness, desk: RecordingDesk) -> None:
    size = taking.bot.capabilities.download_limit_bytes + 1
    async with running(taking.bot, desk):
        await up(desk)
        # So many zeros take no memory as long as nobody reads them.
        attachment = await brought(taking, desk, "large.bin", bytes(size))
    assert attachment.size == size


async def test_what_the_platform_does_not_give_is_refused_for_good(taking: Harness, desk: RecordingDesk) -> None:
    if taking.gives_bytes is None:
        pytest.skip(f"{taking.bot.platform} gives whatever people can send")
    most = bytes(taking.gives_bytes)
    async with running(taking.bot, desk):
        await up(desk)
        attachment = await brought(taking, desk, "large.bin", most + b"1")
        with pytest.raises(BotError) as caught:
            await fetched(taking.bot, attachment)
        assert await fetched(taking.bot, await _another(taking, desk, most)) == most
    assert type(caught.value) is Rejected


async def _another(harness: Harness, desk: RecordingDesk, content: bytes) -> Attachment:
    harness.bring("", ("another.bin", content))
    await desk.until(lambda: len(attached(desk)) == 2)
    return attached(desk)[1]


# -- out ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def giving(harness: Harness) -> Harness:
    if not harness.bot.capabilities.upload_limit_bytes:
        pytest.skip(f"no files go out on {harness.bot.platform}")
    return harness


@pytest.mark.parametrize("text", ["two words", " ", ""])
@pytest.mark.parametrize(
    "kinds", [[FileKind.FILE], [FileKind.IMAGE], [FileKind.FILE, FileKind.IMAGE, FileKind.FILE], [FileKind.FILE] * 10]
)
async def test_the_files_of_a_delivery_are_shown_as_one_with_their_caption(
    giving: Harness, desk: RecordingDesk, tmp_path: Path, kinds: list[FileKind], text: str
) -> None:
    assert len(kinds) <= giving.bot.capabilities.files_limit
    files = [
        out(tmp_path, f"{number}.png", png(90, 60), kind)
        if kind is FileKind.IMAGE
        else out(tmp_path, f"{number}.txt", b"%d" % number, kind)
        for number, kind in enumerate(kinds)
    ]
    async with running(giving.bot, desk):
        await up(desk)
        sent = [await giving.bot.send(giving.delivery(text, files=files)) for _ in range(2)]
    once = Shown(text=text.strip(), files=tuple((file.name, file.path.read_bytes()) for file in files))
    assert giving.shown() == (once, once)
    assert len(set(sent)) == 2


async def test_a_caption_of_the_most_that_is_allowed_goes_out(
    giving: Harness, desk: RecordingDesk, tmp_path: Path
) -> None:
    text = "x" * giving.bot.capabilities.caption_limit
    async with running(giving.bot, desk):
        await up(desk)
        await giving.bot.send(giving.delivery(text, files=[out(tmp_path, "notes.txt")]))
    assert giving.seen() == (text,)


async def test_an_edit_replaces_the_caption_and_leaves_the_files(
    giving: Harness, desk: RecordingDesk, tmp_path: Path
) -> None:
    bot = giving.bot
    if not isinstance(bot, CanEdit):
        pytest.skip(f"{bot.platform} has no edits")
    delivery = giving.delivery("draft", files=[out(tmp_path, "notes.txt", b"notes")])
    async with running(bot, desk):
        await up(desk)
        message = await bot.send(delivery)
        for _ in range(2):
            await bot.edit(replace(delivery, text="final"), message)
    assert giving.shown() == (Shown(text="final", files=(("notes.txt", b"notes"),)),)


async def test_a_file_that_is_not_there_to_be_sent_is_refused_without_its_place(
    giving: Harness, desk: RecordingDesk, tmp_path: Path
) -> None:
    files = [out(tmp_path, "there.txt"), out(tmp_path, "gone.txt")]
    files[1].path.unlink()
    async with running(giving.bot, desk):
        await up(desk)
        with pytest.raises(Rejected) as caught:
            await giving.bot.send(giving.delivery("both", files=files))
    assert giving.shown() == ()
    assert str(tmp_path) not in str(caught.value)


async def test_a_bot_that_does_not_run_sends_no_files_for_now(
    giving: Harness, desk: RecordingDesk, tmp_path: Path
) -> None:
    async with running(giving.bot, desk):
        await up(desk)
    sent: MessageId | None = None
    with pytest.raises(NotSent):
        sent = await giving.bot.send(giving.delivery("later", files=[out(tmp_path, "notes.txt")]))
    assert (sent, giving.shown()) == (None, ())
