"""The double refuses what the real service refuses."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.fakes.speech import KEY, SpeechServer


@pytest.fixture
async def server() -> AsyncIterator[SpeechServer]:
    async with SpeechServer() as made:
        yield made


async def post(server: SpeechServer, path: str, *, key: str = KEY, **how: object) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{server.url}{path}", headers=headers, **how) as answer,  # type: ignore[arg-type]  # handed through
    ):
        return answer.status, await answer.read()


def form(**fields: str) -> aiohttp.FormData:
    made = aiohttp.FormData()
    name, media_type = fields.pop("name", "voice.ogg"), fields.pop("media_type", "audio/ogg")
    data = fields.pop("data", "OggS").encode()
    if name:
        made.add_field("file", io.BytesIO(data), filename=name, content_type=media_type)
    for field, value in {"model": "whisper-1", **fields}.items():
        if value:
            made.add_field(field, value)
    return made


async def test_a_good_request_is_heard(server: SpeechServer) -> None:
    server.hears("hello")
    assert await post(server, "/audio/transcriptions", data=form(language="de")) == (200, b'{"text": "hello"}')
    [heard] = server.heard
    assert (heard.model, heard.language, heard.name, heard.data) == ("whisper-1", "de", "voice.ogg", b"OggS")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"model": ""}, 400),
        ({"model": "gpt-9"}, 400),
        ({"name": ""}, 400),
        ({"name": "voice.txt"}, 400),
        ({"name": "voice"}, 400),
        ({"media_type": "audio"}, 400),
        ({"data": ""}, 400),
        ({"language": "german"}, 400),
        ({"response_format": "xml"}, 400),
        ({"model": "gpt-4o-transcribe", "response_format": "text"}, 400),
        ({"voice": "alloy"}, 400),
        ({"data": "x" * ((25 << 20) + 1)}, 413),
    ],
)
async def test_a_bad_one_is_refused(server: SpeechServer, fields: dict[str, str], status: int) -> None:
    found, _ = await post(server, "/audio/transcriptions", data=form(**fields))
    assert (found, len(server.refusals), server.heard) == (status, 1, [])


async def test_so_is_another_key_or_another_form(server: SpeechServer) -> None:
    assert (await post(server, "/audio/transcriptions", key="sk-other", data=form()))[0] == 401
    assert (await post(server, "/audio/transcriptions", json={"model": "whisper-1"}))[0] == 400
    assert (await post(server, "/audio/speech", data=form()))[0] == 400


SPEECH = {"model": "tts-1", "voice": "alloy", "input": "hello", "response_format": "opus"}


async def test_a_good_text_is_spoken(server: SpeechServer) -> None:
    assert await post(server, "/audio/speech", json=SPEECH) == (200, b"OggS sound")
    assert server.spoken[0].text == "hello"


@pytest.mark.parametrize(
    "change",
    [{"model": "x"}, {"voice": "x"}, {"input": ""}, {"input": "x" * 4097}, {"response_format": "ogg"}, {"x": 1}],
)
async def test_a_bad_text_is_refused(server: SpeechServer, change: dict[str, object]) -> None:
    assert (await post(server, "/audio/speech", json={**SPEECH, **change}))[0] == 400
    assert server.spoken == []
