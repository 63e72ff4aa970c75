"""Files and voices that people send, on each platform: what comes as one is one turn, and what is too large is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import pytest

from core.service.notices import ENGLISH
from tests.crash.conftest import WorldOn
from tests.crash.daemon import until
from tests.crash.everywhere import EVERYWHERE, World, digests
from tests.fakes.sounds import ogg_opus
from tests.fakes.speech import KEY, ThreadedSpeechServer
from tests.fakes.telegram.images import png

pytestmark = [pytest.mark.crash, pytest.mark.parametrize("name", EVERYWHERE)]

MIB: Final = 1024 * 1024
LIMITS: Final = {"telegram": (30, 20), "discord": (2, 2), "slack": (2, 2)}
"""MiB that the configuration allows, and those that hold: Telegram's own are less."""
PICTURES: Final = {f"{side}.png": png(side, side) for side in (9, 10, 11)}
WORDS: Final = {"boats.txt": b"Boats at noon.", "crew.txt": b"Ada and Bob."}
SOUND: Final = b"OggS" + bytes(5000)
UNHEARD: Final = ENGLISH["voice_unheard"]


@pytest.fixture
def speech() -> Iterator[ThreadedSpeechServer]:
    with ThreadedSpeechServer() as made:
        yield made


def endpoint(speech: ThreadedSpeechServer, verb: str) -> str:
    return f"\n[speech.{verb}]\nbase_url = {json.dumps(speech.server.url)}\napi_key = {json.dumps(KEY)}\n"


def begin_acquainted(world: World) -> None:
    """Bob has sent a file: by the first one Telegram's bot learns that the double is no server of one's own, which
    would take larger ones."""
    world.begin()
    world.bob.share("hello", {"hello.txt": b"hello"})
    until(lambda: world.bob.says("re: hello"), "an answer")
    world.settle()


@pytest.mark.parametrize("files", [PICTURES, WORDS], ids=["pictures", "words"])
def test_several_files_are_one_turn(world_on: WorldOn, name: str, files: dict[str, bytes]) -> None:
    with world_on(name) as world:
        world.begin()
        world.ada.share("from the trip", files)
        until(lambda: world.ada.says("re: from the trip"), "an answer")
        world.settle()
        assert len(world.heard) == 1, world.heard
        assert world.files == [digests(files)]
        assert len(world.ada.texts) == 1


def test_what_is_too_large_is_told_and_not_fetched(world_on: WorldOn, name: str) -> None:
    configured, holds = LIMITS[name]
    with world_on(name, more=f"\n[desk]\nattachment_mib = {configured}\n") as world:
        begin_acquainted(world)
        world.ada.share("look at this", {"trip.txt": bytes(holds * MIB + 1)})
        told = ENGLISH["file_too_large"].format(name="trip.txt", limit=holds)
        until(lambda: world.ada.says(told), f"{told!r}, but {world.ada.texts}")
        until(lambda: world.ada.says("re: look at this"), "the words are answered")
        world.settle()
        assert (world.files[1:], world.ada.fetched) == ([[]], 0)


def test_what_is_just_not_too_large_comes(world_on: WorldOn, name: str) -> None:
    configured, holds = LIMITS[name]
    files = {"trip.bin": bytes(holds * MIB)}
    with world_on(name, more=f"\n[desk]\nattachment_mib = {configured}\n") as world:
        begin_acquainted(world)
        world.ada.share("look at this", files)
        until(lambda: world.ada.says("re: look at this"), "an answer")
        assert (world.files[1:], world.ada.fetched) == ([digests(files)], 1)


def test_a_voice_that_nobody_can_hear_is_told_so(world_on: WorldOn, name: str) -> None:
    with world_on(name) as world:
        world.begin()
        world.ada.speak(SOUND)
        until(lambda: world.ada.texts == (UNHEARD,), f"{UNHEARD!r}")
        world.settle()
        assert (world.heard, world.ada.fetched, world.ada.texts) == ([], 0, (UNHEARD,))


def test_a_voice_is_heard_and_answered_in_writing(world_on: WorldOn, name: str, speech: ThreadedSpeechServer) -> None:
    speech.server.hears("when do we sail")
    with world_on(name, more=endpoint(speech, "transcribe")) as world:
        world.begin()
        world.ada.speak(SOUND)
        until(lambda: world.ada.says("when do we sail"), "an answer")
        world.settle()
        assert world.heard == ["[voice] when do we sail"]
        assert [one.data for one in speech.server.heard] == [SOUND]
        assert (world.ada.voices, speech.server.spoken) == (0, [])


def test_a_voice_is_answered_by_voice_as_well(world_on: WorldOn, name: str, speech: ThreadedSpeechServer) -> None:
    """And what is written is not."""
    with world_on(name, more=endpoint(speech, "transcribe") + endpoint(speech, "speak")) as world:
        speech.server.sound = ogg_opus([40] * 50)
        world.begin()
        world.ada.say("hello")
        until(lambda: world.ada.says("re: hello"), "an answer")
        world.ada.speak(SOUND)
        until(lambda: world.ada.voices == 1, "a spoken answer")
        world.settle()
        assert world.heard == ["hello", "[voice] what was said"]
        assert [one.text for one in speech.server.spoken] == ["re: [voice] what was said"]
        assert (world.ada.voices, speech.server.refusals) == (1, [])
