"""What the endpoints take, and what they refuse.

Fields, formats and sizes: https://platform.openai.com/docs/api-reference/audio/createTranscription and /createSpeech;
the words of refusals as the service has them for other endpoints.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import BodyPartReader, web

from tests.fakes.models.dialect import ApiError
from tests.fakes.models.openai_errors import bad, missing, unknown
from tests.fakes.models.payload import JsonObject

MAX_FILE = 25 << 20  # "file uploads are currently limited to 25 MB", guides/speech-to-text
MAX_INPUT = 4096  # "The maximum length is 4096 characters."
ENDINGS = ("flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm")
FORMATS = {"whisper-1": ("json", "text", "srt", "verbose_json", "vtt")}
JSON_ONLY = ("json",)  # "For gpt-4o-transcribe and gpt-4o-mini-transcribe, the only supported format is json"
TRANSCRIBERS = ("whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe")
SPEAKERS = ("tts-1", "tts-1-hd", "gpt-4o-mini-tts")
VOICES = (
    "alloy",
    "ash",
    "ballad",
    "coral",
    "echo",
    "fable",
    "onyx",
    "nova",
    "sage",
    "shimmer",
    "verse",
    "marin",
    "cedar",
)
SOUNDS = {
    "mp3": "audio/mpeg", "opus": "audio/opus", "aac": "audio/aac", "flac": "audio/flac", "wav": "audio/wav",
    "pcm": "audio/pcm",
}  # fmt: skip
FIELDS = {"file", "model", "language", "prompt", "response_format", "temperature", "stream"}
SPEECH_FIELDS = {"model", "input", "voice", "instructions", "response_format", "speed", "stream_format"}
LANGUAGE = re.compile(r"[a-z]{2}")  # ISO-639-1
MEDIA_TYPE = re.compile(r"[a-z]+/[a-zA-Z0-9.+-]+(; ?[a-z]+=[^;]+)*")


@dataclass(frozen=True, kw_only=True)
class Heard:
    """A request for a transcription that kept all the rules."""

    model: str
    language: str | None
    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A request for speech that kept all the rules."""

    model: str
    voice: str
    text: str
    format: str


async def read_transcription(http: web.Request) -> Heard:
    """Raises `ApiError` for whatever the real service refuses."""
    if http.content_type != "multipart/form-data":
        raise bad(f"Unsupported content type: {http.content_type}; expected multipart/form-data.")
    fields: dict[str, str] = {}
    upload: tuple[str, str, bytes] | None = None
    async for part in await http.multipart():
        if not isinstance(part, BodyPartReader) or part.name is None:
            raise bad("Could not parse multipart form")
        if part.name == "file":
            upload = (part.filename or "", part.headers.get("Content-Type", ""), bytes(await part.read()))
        elif part.name in fields:
            raise bad(f"Duplicate form field: {part.name}", part.name)
        else:
            fields[part.name] = await part.text()
    return _transcription(fields, upload)


def _transcription(fields: Mapping[str, str], upload: tuple[str, str, bytes] | None) -> Heard:
    if strange := sorted(fields.keys() - FIELDS):
        raise unknown(strange[0])
    if upload is None:
        raise missing("file")
    if "model" not in fields:
        raise missing("model")
    model, language = fields["model"], fields.get("language")
    if model not in TRANSCRIBERS:
        raise bad(f"invalid model ID: {model}", "model")
    wanted = fields.get("response_format", "json")
    if wanted not in FORMATS.get(model, JSON_ONLY):
        raise bad(f"response_format '{wanted}' is not compatible with model '{model}'", "response_format")
    if language is not None and not LANGUAGE.fullmatch(language):
        raise bad(
            f"Invalid language '{language}'. Language parameter must be specified in ISO-639-1 format.", "language"
        )
    return _file(upload, model, language)


def _file(upload: tuple[str, str, bytes], model: str, language: str | None) -> Heard:
    name, media_type, data = upload
    if name.rpartition(".")[2].lower() not in ENDINGS:
        raise bad(f"Unrecognized file format. Supported formats: {list(ENDINGS)}", "file")
    if not MEDIA_TYPE.fullmatch(media_type):
        raise bad(f"Invalid content type '{media_type}'", "file")
    if not data:
        raise bad("Audio file is too short. Minimum audio length is 0.1 seconds.", "file", "audio_too_short")
    if len(data) > MAX_FILE:
        raise ApiError(413, _error(f"Maximum content size limit ({MAX_FILE}) exceeded ({len(data)} bytes read)"))
    return Heard(model=model, language=language, name=name, media_type=media_type, data=data)


def read_speech(body: JsonObject) -> Spoken:
    """Raises `ApiError` for whatever the real service refuses."""
    if strange := sorted(body.keys() - SPEECH_FIELDS):
        raise unknown(strange[0])
    for name in ("model", "input", "voice"):
        if not isinstance(body.get(name), str):
            raise missing(name)
    model, text, voice = str(body["model"]), str(body["input"]), str(body["voice"])
    wanted = str(body.get("response_format", "mp3"))
    if model not in SPEAKERS:
        raise bad(f"invalid model ID: {model}", "model")
    if voice not in VOICES:
        raise bad(f"Input should be one of {list(VOICES)}", "voice")
    if not text.strip():
        raise bad("input must not be empty", "input")
    if len(text) > MAX_INPUT:
        raise bad(f"String should have at most {MAX_INPUT} characters", "input", "string_too_long")
    if wanted not in SOUNDS:
        raise bad(f"Input should be one of {list(SOUNDS)}", "response_format")
    return Spoken(model=model, voice=voice, text=text, format=wanted)


def _error(message: str) -> JsonObject:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
