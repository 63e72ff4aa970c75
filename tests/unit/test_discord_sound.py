"""What a voice message tells of its sound."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bots.discord.sound import is_voice, sound_in
from core.vocabulary import Address, BotName, Button, ChatId, ChatKind, Delivery, DeliveryId, FileKind, OutFile
from tests.fakes.sounds import ogg_opus


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answer.ogg"


def test_how_long_it_is_and_how_loud_where(path: Path) -> None:
    path.write_bytes(ogg_opus([10] * 50 + [100] * 50))
    sound = sound_in(path)
    assert sound is not None
    assert sound.seconds == 2.0
    assert base64.b64decode(sound.waveform) == bytes([round(255 * 10 / 100)] * 10 + [255] * 10)


@pytest.mark.parametrize(("packets", "points"), [(1, 1), (4, 1), (50, 10), (5_000, 256)])
def test_a_waveform_has_a_point_for_each_tenth_and_no_more_than_discord_shows(
    path: Path, packets: int, points: int
) -> None:
    path.write_bytes(ogg_opus([20] * packets))
    sound = sound_in(path)
    assert sound is not None
    assert sound.seconds == packets * 0.02
    assert len(base64.b64decode(sound.waveform)) == points


def test_packets_that_go_on_over_many_pieces_are_one(path: Path) -> None:
    path.write_bytes(ogg_opus([255, 600, 510], per_page=3))
    sound = sound_in(path)
    assert sound is not None
    assert sound.seconds == 0.06


@pytest.mark.parametrize("data", [b"", b"OggS", b"ID3 and so on", ogg_opus([]), b"RIFF" + ogg_opus([20] * 10)])
def test_what_is_no_opus_in_ogg_is_none(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    assert sound_in(path) is None


def test_what_is_gone_is_none(path: Path) -> None:
    assert sound_in(path) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_nothing_that_is_broken_raises(path: Path, data: st.DataObject) -> None:
    whole = bytearray(ogg_opus([20, 300, 1]))
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=8)):
        whole[at] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(whole[: data.draw(st.integers(0, len(whole)))]))
    sound = sound_in(path)
    assert sound is None or (sound.seconds > 0 and len(base64.b64decode(sound.waveform)) <= 256)


def test_only_a_voice_by_itself_is_a_voice_message(path: Path) -> None:
    file = OutFile(kind=FileKind.VOICE, path=path, name=path.name, media_type="audio/ogg", size=1)
    voice = Delivery(
        id=DeliveryId(1), address=Address(bot=BotName("main"), chat=ChatId("7")), kind=ChatKind.DIRECT, text="",
        files=(file,),
    )  # fmt: skip
    assert is_voice(voice)
    for other in (
        replace(voice, text="words"),
        replace(voice, buttons=(Button(label="x", data="y"),)),
        replace(voice, files=(file, file)),
        replace(voice, files=(replace(file, kind=FileKind.AUDIO),)),
        replace(voice, files=()),
    ):
        assert not is_voice(other)
