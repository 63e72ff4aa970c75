"""Files that the bot sends."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import ChatDead, Rejected
from core.vocabulary import FileKind, OutFile
from tests.wire.discord_world import World, serving
from tests.wire.test_discord_sending import asked


@pytest.mark.parametrize("code", [50007, 50001, 10003, 50278])
async def test_files_change_nothing_about_a_dead_chat(discord: World, tmp_path: Path, code: int) -> None:
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        discord.server.answer_error("create_message", 403, code, "no", count=None)
        with pytest.raises(ChatDead):
            await bot.send(discord.delivery(question, "hello", files=(_file(tmp_path, "a.txt"),)))


async def test_files_go_out_with_their_caption_and_stay_on_an_edit(discord: World, tmp_path: Path) -> None:
    server = discord.server
    files = tuple(_file(tmp_path, name) for name in ("a.txt", "b.png"))
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        sent = await bot.send(discord.delivery(question, "two files", files=files))
        await bot.edit(discord.delivery(question, "two files, as asked"), sent)
        await bot.send(discord.delivery(question, "", files=files[:1]))
    first, second = server.sent(discord.channel)
    assert [(one.filename, one.content) for one in first.now.attachments] == [("a.txt", b"a.txt"), ("b.png", b"b.png")]
    assert first.texts == ("two files", "two files, as asked")
    assert (second.content, len(second.now.attachments)) == ("", 1)


async def test_a_file_that_is_gone_or_not_allowed_costs_only_its_message(discord: World, tmp_path: Path) -> None:
    server = discord.server
    file = _file(tmp_path, "a.txt")
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        server.overwrite(discord.channel, discord.guild, deny=1 << 15)
        with pytest.raises(Rejected):
            await bot.send(discord.delivery(question, "a file", files=(file,)))
        file.path.unlink()
        with pytest.raises(Rejected):
            await bot.send(discord.delivery(question, "a file", files=(file,)))
        await bot.send(discord.delivery(question, "no file"))
    assert server.texts(discord.channel) == ("no file",)


async def test_a_larger_server_takes_larger_files(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        assert bot.upload_limit(question.address) == bot.capabilities.upload_limit_bytes == 10 * 1024 * 1024
        server.raw_event("GUILD_UPDATE", {"id": str(discord.guild.id), "premium_tier": 3})
        await asked(discord, desk)
        assert bot.upload_limit(question.address) == 100 * 1024 * 1024


def _file(folder: Path, name: str) -> OutFile:
    path = folder / name
    path.write_bytes(name.encode())
    kind = FileKind.IMAGE if name.endswith("png") else FileKind.FILE
    return OutFile(kind=kind, path=path, name=name, media_type="", size=len(name))
