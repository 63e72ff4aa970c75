"""What people record in Slack itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.vocabulary import FileKind
from tests.contract.doubles import running
from tests.wire.slack_world import World, opened


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


def recorded(world: World, name: str, mimetype: str, subtype: str) -> None:
    """A clip, which the event tells by one word only (https://docs.slack.dev/reference/objects/file-object)."""
    clip = world.server.file(world.ada, name, b"sound", mimetype=mimetype)
    said = world.server.say(world.chat, world.ada, "", files=[clip])
    files = world.server.delivery(said.event_ids[0]).event["files"]
    assert isinstance(files, list)
    assert isinstance(files[0], dict)
    files[0]["subtype"] = subtype


@pytest.mark.parametrize(
    ("mimetype", "subtype", "kind"),
    [
        ("audio/mp4", "slack_audio", FileKind.VOICE),
        ("video/webm", "slack_audio", FileKind.VOICE),
        ("audio/mp4", "", FileKind.AUDIO),
        ("video/mp4", "slack_video", FileKind.VIDEO),
    ],
)
async def test_a_recorded_voice_is_one_and_is_fetched(
    world: World, mimetype: str, subtype: str, kind: FileKind
) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        recorded(world, "audio_message.m4a", mimetype, subtype)
        await world.heard(1)
        [clip] = world.messages[0].attachments
        assert b"".join([piece async for piece in world.bot.fetch(clip)]) == b"sound"
    assert clip.kind is kind
