"""Answers that are spoken, on Discord."""

from __future__ import annotations

import base64
from pathlib import Path

from core.vocabulary import FileKind, OutFile
from tests.fakes.sounds import ogg_opus
from tests.wire.discord_world import World, serving
from tests.wire.test_discord_sending import asked

VOICE = 1 << 13
SOUND = ogg_opus([20] * 100)


def voice(folder: Path, data: bytes = SOUND) -> OutFile:
    path = folder / "answer.ogg"
    path.write_bytes(data)
    return OutFile(kind=FileKind.VOICE, path=path, name=path.name, media_type="audio/ogg", size=len(data))


async def test_a_voice_is_a_voice_message(discord: World, tmp_path: Path) -> None:
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        await bot.send(discord.delivery(question, "", files=(voice(tmp_path),)))
    [sent] = discord.server.sent(discord.channel)
    [file] = sent.now.attachments
    assert (sent.flags & VOICE, sent.content, file.content) == (VOICE, "", SOUND)
    assert file.extra["duration_secs"] == 2.0
    assert len(base64.b64decode(str(file.extra["waveform"]))) == 20
    assert sent.reply_to == int(question.message)


async def test_a_voice_whose_answer_is_lost_is_sent_once(discord: World, tmp_path: Path) -> None:
    async with serving(discord) as (bot, desk):
        delivery = discord.delivery(await asked(discord, desk), "", files=(voice(tmp_path),))
        assert await bot.send(delivery) == await bot.send(delivery)
    assert len(discord.server.sent(discord.channel)) == 1


async def test_where_no_voice_messages_may_be_sent_it_is_a_file(discord: World, tmp_path: Path) -> None:
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        discord.server.overwrite(discord.channel, discord.guild, deny=1 << 46)
        await bot.send(discord.delivery(question, "", files=(voice(tmp_path),)))
    [sent] = discord.server.sent(discord.channel)
    assert (sent.flags & VOICE, [file.content for file in sent.now.attachments]) == (0, [SOUND])


async def test_sound_that_can_not_be_read_is_a_file(discord: World, tmp_path: Path) -> None:
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        await bot.send(discord.delivery(question, "", files=(voice(tmp_path, b"OggS"),)))
    [sent] = discord.server.sent(discord.channel)
    assert (sent.flags & VOICE, [file.content for file in sent.now.attachments]) == (0, [b"OggS"])
