"""Voices: what somebody said becomes text, and an answer becomes sound, by endpoints that speak as OpenAI's do.

https://platform.openai.com/docs/api-reference/audio: `POST /audio/transcriptions` (multipart: file, model) answers with
`{"text": ...}`, `POST /audio/speech` (JSON: model, voice, input, response_format) with the sound itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct

from core.errors import AgentError
from core.faultpoints import faultpoint

if TYPE_CHECKING:
    import aiohttp

    from config.speech import SpeakSettings, SpeechSettings, TranscribeSettings

log = structlog.get_logger("frontdesk.speech")

MOST_TEXT_BYTES = 1024 * 1024
MOST_SOUND_BYTES = 25 * 1024 * 1024
_TYPES = {"opus": "audio/ogg", "mp3": "audio/mpeg", "wav": "audio/wav"}
_ENDINGS = {
    "audio/ogg": "ogg", "audio/opus": "ogg", "audio/mpeg": "mp3", "audio/mp4": "m4a", "audio/x-m4a": "m4a",
    "audio/aac": "m4a", "audio/wav": "wav", "audio/x-wav": "wav", "audio/webm": "webm", "audio/flac": "flac",
}  # fmt: skip
"""Endpoints tell the format by the file's name."""


class Unheard(AgentError):
    """The endpoint gave nothing that can be used."""


class Sound(Struct, frozen=True, kw_only=True):
    data: bytes
    media_type: str
    name: str


class Speech(Struct, frozen=True, kw_only=True):
    """As configured. A connection lives as long as one request: voices are rare, and nothing is to be closed."""

    settings: SpeechSettings
    proxy: str | None

    @property
    def hears(self) -> bool:
        return self.settings.transcribe is not None

    def speaks(self, text: str) -> bool:
        """Would this answer be spoken?"""
        speak = self.settings.speak
        return speak is not None and 0 < len(text.strip()) <= speak.limit_chars

    async def transcribe(self, path: Path, media_type: str) -> str:
        """What is said there. Raises `Unheard`, and `TimeoutError` after the configured time."""
        faultpoint("transcription.begun")
        settings = self.settings.transcribe
        if settings is None:
            raise Unheard("nothing transcribes: there is no [speech.transcribe]")
        import aiohttp

        form = aiohttp.FormData()
        form.add_field("model", settings.model)
        form.add_field("response_format", "json")
        if settings.language is not None:
            form.add_field("language", settings.language)
        with path.open("rb") as stream:
            ending = _ENDINGS.get(media_type.partition(";")[0].lower(), "ogg")
            form.add_field("file", stream, filename=f"voice.{ending}", content_type=media_type or "audio/ogg")
            answer = await self._post(f"{settings.base_url}/audio/transcriptions", settings, data=form)
        heard = _text_in(answer)
        faultpoint("transcription.received")
        return heard

    async def speak(self, text: str) -> Sound:
        """The text as sound. Raises `Unheard`, and `TimeoutError` after the configured time."""
        settings = self.settings.speak
        if settings is None:
            raise Unheard("nothing speaks: there is no [speech.speak]")
        told = {
            "model": settings.model, "voice": settings.voice, "input": text, "response_format": settings.format,
        }  # fmt: skip
        sound = await self._post(f"{settings.base_url}/audio/speech", settings, told=told)
        if not sound:
            raise Unheard("the speech endpoint sent no sound")
        faultpoint("speech.received")
        media_type = _TYPES[settings.format]
        return Sound(data=sound, media_type=media_type, name=f"answer.{_ENDINGS[media_type]}")

    async def _post(
        self, url: str, settings: TranscribeSettings | SpeakSettings, *,
        data: aiohttp.FormData | None = None, told: object = None,
    ) -> bytes:  # fmt: skip
        import aiohttp

        headers = {} if settings.api_key is None else {"Authorization": f"Bearer {settings.api_key.reveal()}"}
        timeout = aiohttp.ClientTimeout(total=settings.timeout_s)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, trust_env=False) as session,
                session.post(url, data=data, json=told, headers=headers, proxy=self.proxy) as answer,
            ):
                if answer.status != 200:
                    raise Unheard(f"the speech endpoint answers {answer.status}")
                return await _bounded(answer.content)
        except aiohttp.ClientError as error:
            raise Unheard(f"the speech endpoint can't be used: {type(error).__name__}") from None


async def _bounded(content: aiohttp.StreamReader) -> bytes:
    whole = bytearray()
    async for piece in content.iter_chunked(65_536):
        whole += piece
        if len(whole) > MOST_SOUND_BYTES:
            raise Unheard("the speech endpoint sends too much")
    return bytes(whole)


def _text_in(answer: bytes) -> str:
    try:
        told = json.loads(answer[:MOST_TEXT_BYTES])
    except ValueError:
        raise Unheard("the speech endpoint's answer is no JSON") from None
    text = told.get("text") if isinstance(told, dict) else None
    if not isinstance(text, str):
        raise Unheard("the speech endpoint's answer has no text")
    return text.strip()
