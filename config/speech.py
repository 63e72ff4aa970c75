"""`[speech]`: voices, by endpoints that speak as OpenAI's do (https://platform.openai.com/docs/api-reference/audio)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from config.part import Part
from config.secret import Secret
from config.values import Seconds, Text, WebRoot


class TranscribeSettings(Part):
    """`[speech.transcribe]`: what people say becomes text."""

    base_url: WebRoot = "https://api.openai.com/v1"
    """`/audio/transcriptions` is put behind it."""
    api_key: Secret | None = None
    """None: the endpoint wants none."""
    model: Text = "gpt-4o-mini-transcribe"
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}$")] | None = None
    """ISO 639-1 code; None: the endpoint finds out."""
    timeout_s: Seconds = 60
    """For one message."""


class SpeakSettings(Part):
    """`[speech.speak]`: who asks by voice is answered by voice as well."""

    base_url: WebRoot = "https://api.openai.com/v1"
    """`/audio/speech` is put behind it."""
    api_key: Secret | None = None
    """None: the endpoint wants none."""
    model: Text = "gpt-4o-mini-tts"
    voice: Text = "alloy"
    format: Literal["opus", "mp3", "wav"] = "opus"
    """"opus" is what platforms show as a voice message."""
    timeout_s: Seconds = 60
    """For one answer."""
    limit_chars: Annotated[int, Field(ge=1, le=4096)] = 1500
    """Longer answers are not spoken."""


class SpeechSettings(Part):
    """`[speech]`: without these tables, voice messages are told to be unheard, and answers are written only."""

    transcribe: TranscribeSettings | None = None
    speak: SpeakSettings | None = None
