"""Files on their way out: the real SDK against the strict double."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.errors import Rejected, Unknown
from core.vocabulary import Button, Delivery, FileKind, OutFile
from tests.contract.doubles import running
from tests.fakes.telegram.images import png
from tests.fakes.telegram.server import TelegramServer
from tests.wire.telegram_world import World

TYPES = {
    "png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "svg": "image/svg+xml", "ogg": "audio/ogg",
    "mp3": "audio/mpeg", "wav": "audio/wav", "mp4": "video/mp4", "mkv": "video/x-matroska", "pdf": "application/pdf",
}  # fmt: skip


class Desk:
    """A folder with files to be sent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, kind: FileKind, name: str, content: bytes | None = None) -> OutFile:
        path = self._folder / name
        path.write_bytes(png(90, 60) if content is None else content)
        size = path.stat().st_size
        return OutFile(kind=kind, path=path, name=name, media_type=TYPES[name.rpartition(".")[2]], size=size)


@pytest.fixture
def folder(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def carrying(world: World, *files: OutFile, text: str = "") -> Delivery:
    return replace(world.delivery(text), files=files)


def methods(world: World) -> list[str]:
    return [call.method for call in world.server.calls if call.method.startswith("send")]


def kinds(world: World) -> list[str]:
    return [sent.media.kind if sent.media else "text" for sent in world.server.chat(world.chat).from_bot]


# -- out ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "becomes"),
    [
        (FileKind.IMAGE, "a.png", "photo"),
        (FileKind.IMAGE, "a.jpg", "photo"),
        (FileKind.IMAGE, "a.gif", "document"),
        (FileKind.IMAGE, "a.svg", "document"),
        (FileKind.VOICE, "a.ogg", "voice"),
        (FileKind.VOICE, "a.mp3", "voice"),
        (FileKind.VOICE, "a.wav", "document"),
        (FileKind.AUDIO, "a.mp3", "audio"),
        (FileKind.AUDIO, "a.ogg", "document"),
        (FileKind.VIDEO, "a.mp4", "video"),
        (FileKind.VIDEO, "a.mkv", "document"),
        (FileKind.FILE, "a.pdf", "document"),
        (FileKind.FILE, "a.png", "document"),
    ],
)
async def test_a_file_goes_as_what_telegram_takes_as_such(
    world: World, folder: Desk, kind: FileKind, name: str, becomes: str
) -> None:
    file = folder.file(kind, name)
    async with running(world.bot, world.desk):
        await world.up()
        number = await world.bot.send(carrying(world, file, text="**look**"))
    (sent,) = world.server.chat(world.chat).from_bot
    assert sent.media is not None
    assert (sent.media.kind, str(sent.message_id), sent.caption) == (becomes, number, "look")
    assert [entity.type for entity in sent.caption_entities] == ["bold"]
    assert (sent.media.name, sent.media.media_type, sent.media.content) == (name, file.media_type, png(90, 60))


async def test_a_file_may_come_without_words_and_with_buttons_and_as_a_reply(world: World, folder: Desk) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        asked = world.server.say(world.chat, world.ada, "show me")
        delivery = replace(
            world.delivery(" ", reply_to=asked.message_id),
            files=(folder.file(FileKind.IMAGE, "a.png"),),
            buttons=(Button(label="More", data="x"),),
        )
        await world.bot.send(delivery)
    sent = world.server.chat(world.chat).from_bot[-1]
    assert (sent.caption, sent.reply_to, sent.reply_markup is not None) == (None, asked.message_id, True)


@pytest.mark.parametrize(
    ("files", "becomes"),
    [
        (
            [(FileKind.IMAGE, "a.png"), (FileKind.VIDEO, "b.mp4"), (FileKind.IMAGE, "c.jpg")],
            ["photo", "video", "photo"],
        ),
        ([(FileKind.AUDIO, "a.mp3"), (FileKind.AUDIO, "b.mp3")], ["audio", "audio"]),
        ([(FileKind.IMAGE, "a.png"), (FileKind.FILE, "b.pdf")], ["document", "document"]),
        ([(FileKind.VOICE, "a.ogg"), (FileKind.VOICE, "b.ogg")], ["document", "document"]),
        ([(FileKind.AUDIO, "a.mp3"), (FileKind.IMAGE, "b.png")], ["document", "document"]),
        ([(FileKind.IMAGE, f"{number}.png") for number in range(10)], ["photo"] * 10),
    ],
)
async def test_several_files_are_one_album_of_what_may_be_mixed(
    world: World, folder: Desk, files: list[tuple[FileKind, str]], becomes: list[str]
) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        number = await world.bot.send(carrying(world, *(folder.file(*one) for one in files), text="all of *them*"))
    sent = world.server.chat(world.chat).from_bot
    assert kinds(world) == becomes
    assert [one.caption for one in sent] == ["all of them", *[None] * (len(files) - 1)]
    assert str(sent[0].message_id) == number
    assert len({one.media_group_id for one in sent}) == 1
    assert methods(world) == ["sendMediaGroup"]


@pytest.mark.parametrize(
    ("count", "ways"),
    [(2, ["sendPhoto"] * 2), (3, ["sendMediaGroup", "sendPhoto"]), (11, ["sendMediaGroup", "sendPhoto"])],
)
async def test_of_several_files_with_buttons_the_last_carries_the_words_and_the_buttons(
    world: World, folder: Desk, count: int, ways: list[str]
) -> None:
    files = [folder.file(FileKind.IMAGE, f"{number}.png") for number in range(count)]
    delivery = replace(carrying(world, *files, text="**these?**"), buttons=(Button(label="Yes", data="x"),))
    async with running(world.bot, world.desk):
        await world.up()
        number = await world.bot.send(delivery)
        *first, last = world.server.chat(world.chat).from_bot
        asked = last.caption, last.reply_markup is not None
        await world.bot.edit(replace(delivery, text="these.", buttons=()), number)
    *first, last = world.server.chat(world.chat).from_bot
    names = [one.media.name if one.media else "" for one in (*first, last)]
    assert names == [file.name for file in files]
    assert [(one.caption, one.reply_markup) for one in first] == [(None, None)] * (count - 1)
    assert (asked, str(last.message_id)) == (("these?", True), number)
    assert (last.caption, last.reply_markup, methods(world)) == ("these.", None, ways)


@pytest.mark.parametrize("words", ["Bad Request: no", "Too Many Requests"])
async def test_once_the_first_files_are_there_whatever_happens_to_the_last_is_unknown(
    world: World, folder: Desk, words: str
) -> None:
    files = [
        folder.file(FileKind.IMAGE, "a.png"),
        folder.file(FileKind.IMAGE, "b.png"),
        folder.file(FileKind.FILE, "c.pdf"),
    ]
    delivery = replace(carrying(world, *files), buttons=(Button(label="Yes", data="x"),))
    async with running(world.bot, world.desk):
        await world.up()
        world.server.answer_error("sendDocument", 429 if "Many" in words else 400, words)
        with pytest.raises(Unknown):
            await world.bot.send(delivery)
        world.server.answer_error("sendMediaGroup", 400, "Bad Request: no")
        with pytest.raises(Rejected):
            await world.bot.send(delivery)
    assert kinds(world) == ["photo", "photo"]


@pytest.mark.parametrize("content", [png(9000, 2000), png(30, 700), b"no picture at all"])
async def test_a_picture_that_is_no_photo_to_telegram_goes_as_a_document(
    world: World, folder: Desk, content: bytes
) -> None:
    odd = folder.file(FileKind.IMAGE, "odd.png", content)
    good = folder.file(FileKind.IMAGE, "good.png")
    async with running(world.bot, world.desk):
        await world.up()
        await world.bot.send(carrying(world, odd, text="**tall**"))
        await world.bot.send(carrying(world, good, odd, text="both"))
    assert kinds(world) == ["document", "document", "document"]
    assert world.server.chat(world.chat).bot_texts == ("tall", "both", "")
    assert methods(world) == ["sendPhoto", "sendDocument", "sendMediaGroup", "sendMediaGroup"]


async def test_a_photo_that_is_too_large_is_not_even_tried_as_one(world: World, folder: Desk) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        await world.bot.send(carrying(world, folder.file(FileKind.IMAGE, "a.png", png(90, 60, padding=10_000_001))))
    assert methods(world) == ["sendDocument"]


async def test_who_takes_no_voice_messages_gets_a_file(world: World, folder: Desk) -> None:
    words = "Bad Request: user restricted receiving of voice messages"
    async with running(world.bot, world.desk):
        await world.up()
        world.server.answer_error("sendVoice", 400, words)
        await world.bot.send(carrying(world, folder.file(FileKind.VOICE, "a.ogg"), text="listen"))
    assert kinds(world) == ["document"]


async def test_what_telegram_does_not_put_together_after_all_goes_as_documents(world: World, folder: Desk) -> None:
    words = "Bad Request: can't use the media of the specified type in the album"
    async with running(world.bot, world.desk):
        await world.up()
        world.server.answer_error("sendMediaGroup", 400, words)
        files = [folder.file(FileKind.IMAGE, "a.png"), folder.file(FileKind.VIDEO, "b.mp4")]
        await world.bot.send(carrying(world, *files, text="both"))
    assert kinds(world) == ["document", "document"]


async def test_a_caption_that_grows_when_it_is_rendered_goes_as_it_was_written(world: World, folder: Desk) -> None:
    table = f"| {'a' * 90} | b |\n| - | - |\n" + "| c | d |\n" * 80
    full = "x" * 1024
    async with running(world.bot, world.desk):
        await world.up()
        for text in (table, full):
            await world.bot.send(carrying(world, folder.file(FileKind.FILE, "a.pdf"), text=text))
    assert len(table) <= world.bot.capabilities.caption_limit
    assert world.server.chat(world.chat).bot_texts == (table.strip(), full)


async def test_a_caption_that_telegram_cannot_parse_is_sent_plainly(world: World, folder: Desk) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.answer_error("sendDocument", 400, "Bad Request: can't parse entities: whatever")
        await world.bot.send(carrying(world, folder.file(FileKind.FILE, "a.pdf"), text="**bold**"))
    assert world.server.chat(world.chat).bot_texts == ("**bold**",)


async def test_an_edit_changes_the_caption_and_leaves_the_file(world: World, folder: Desk) -> None:
    file = folder.file(FileKind.IMAGE, "a.png")
    async with running(world.bot, world.desk):
        await world.up()
        number = await world.bot.send(replace(carrying(world, file, text="a"), buttons=(Button(label="x", data="x"),)))
        for _ in range(2):
            await world.bot.edit(carrying(world, file, text="**b**"), number)
        world.server.answer_error("editMessageCaption", 400, "Bad Request: can't parse entities: whatever")
        await world.bot.edit(carrying(world, file, text="*c*"), number)
    (sent,) = world.server.chat(world.chat).from_bot
    assert (sent.caption, sent.reply_markup) == ("*c*", None)
    assert kinds(world) == ["photo"]


async def test_more_files_than_an_album_holds_are_refused(world: World, folder: Desk) -> None:
    files = [folder.file(FileKind.IMAGE, f"{number}.png") for number in range(11)]
    async with running(world.bot, world.desk):
        await world.up()
        with pytest.raises(Rejected, match="10 files"):
            await world.bot.send(carrying(world, *files))
    assert methods(world) == []


async def test_a_file_that_is_not_there_is_refused_without_its_path(world: World, folder: Desk) -> None:
    file = folder.file(FileKind.FILE, "a.pdf")
    file.path.unlink()
    async with running(world.bot, world.desk):
        await world.up()
        with pytest.raises(Rejected) as caught:
            await world.bot.send(carrying(world, file))
    assert str(file.path) not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "Bad Request: not enough rights to send photos to the chat"),
        (400, "Bad Request: CHAT_SEND_PHOTOS_FORBIDDEN"),
        (413, "Request Entity Too Large"),
        (400, "Bad Request: message caption is too long"),
    ],
)
async def test_a_file_that_is_not_wanted_does_not_make_the_chat_dead(
    world: World, folder: Desk, status: int, words: str
) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.answer_error("sendPhoto", status, words)
        with pytest.raises(Rejected):
            await world.bot.send(carrying(world, folder.file(FileKind.IMAGE, "a.png")))
    assert kinds(world) == []


async def test_a_file_whose_answer_is_lost_may_have_arrived(world: World, folder: Desk) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.drop("sendDocument", applied=True)
        with pytest.raises(Unknown):
            await world.bot.send(carrying(world, folder.file(FileKind.FILE, "a.pdf")))
    assert kinds(world) == ["document"]


async def test_a_large_file_goes_out_while_others_talk(world: World, folder: Desk) -> None:
    large = folder.file(FileKind.FILE, "a.pdf", bytes(20_000_000))
    bob = world.server.user("Bob")
    chat = world.server.private(bob)
    async with running(world.bot, world.desk):
        await world.up()
        world.server.hang("sendDocument")
        uploading = asyncio.create_task(world.bot.send(carrying(world, large)))
        await world.server.until(lambda: bool(world.server.calls_of("sendDocument")))
        await world.bot.send(world.delivery("meanwhile", chat=chat))
        world.server.clear_faults()
        with pytest.raises(Unknown):
            await uploading
    assert world.server.chat(chat).bot_texts == ("meanwhile",)


async def test_a_large_file_is_sent_to_a_server_of_ones_own(tmp_path: Path, folder: Desk) -> None:
    async with TelegramServer(limits=None, local=tmp_path / "files") as server:
        local = World(server)
        async with running(local.bot, local.desk):
            await local.up()
            await local.bot.send(carrying(local, folder.file(FileKind.FILE, "a.pdf", bytes(60_000_000))))
        assert local.bot.capabilities.upload_limit_bytes == 2_000_000_000
        assert kinds(local) == ["document"]
        assert server.violations == ()
