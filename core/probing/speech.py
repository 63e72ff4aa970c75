"""Voices: is the endpoint there, and does it take the key? It is asked the cheapest question, which needs no voice:
`GET /models` (https://platform.openai.com/docs/api-reference/models/list)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Final

from config.secret import Secret
from config.speech import SpeakSettings, SpeechSettings, TranscribeSettings
from core.ports import Blamed, Finding, State

PATIENCE_S: Final = 10.0
_MOST_BYTES: Final = 1 << 20
_UNPROVED: Final = "send a voice message to a bot to be sure"


async def look_at_speech(settings: SpeechSettings, proxy: Secret | None) -> list[Finding]:
    """Each endpoint that is configured, all at the same time."""
    parts = {"transcribe": settings.transcribe, "speak": settings.speak}
    asked = [_look(f"[speech.{name}]", part, proxy) for name, part in parts.items() if part is not None]
    return list(await asyncio.gather(*asked))


async def _look(what: str, part: TranscribeSettings | SpeakSettings, proxy: Secret | None) -> Finding:
    import aiohttp

    try:
        async with asyncio.timeout(PATIENCE_S):
            status, told = await _models(part, proxy)
    except TimeoutError:
        return _found(what, "fault", f"no answer within {PATIENCE_S:.0f} s", _reach(part), blames="world")
    except aiohttp.ClientError as error:
        return _found(what, "fault", f"can't be reached ({type(error).__name__})", _reach(part), blames="world")
    return _judged(what, part, status, told)


async def _models(part: TranscribeSettings | SpeakSettings, proxy: Secret | None) -> tuple[int, bytes]:
    """Status and body. Raises `aiohttp.ClientError`."""
    import aiohttp

    headers = {} if part.api_key is None else {"Authorization": f"Bearer {part.api_key.reveal()}"}
    through = None if proxy is None else proxy.reveal()
    async with (
        aiohttp.ClientSession(trust_env=False) as session,
        session.get(f"{part.base_url}/models", headers=headers, proxy=through, allow_redirects=False) as answer,
    ):
        told = b""
        async for piece in answer.content.iter_chunked(1 << 16):
            told += piece
            if len(told) > _MOST_BYTES:
                break
        return answer.status, told


def _judged(what: str, part: TranscribeSettings | SpeakSettings, status: int, told: bytes) -> Finding:
    match status:
        case 200:
            return _listed(what, part, _names(told))
        case 401 if part.api_key is None:
            return _found(what, "fault", "the endpoint wants a key", "set api_key there")
        case 401:
            return _found(what, "fault", "the endpoint refuses the key", f"put a valid key into {_key(part.api_key)}")
        case 403:
            return _found(what, "warning", "the key may not ask for the models; whether for voices is open", _UNPROVED)
        case 404 | 405 | 501:
            return _found(what, "warning", "the endpoint answers, and does not tell its models", _UNPROVED)
        case 429:
            return _found(what, "warning", "the endpoint is too busy, or the quota is used up", "try again in a minute")
        case code if code >= 500:
            return _found(what, "fault", f"the endpoint answers {code}", "try again in a minute", blames="world")
        case code:
            return _found(what, "fault", f"the endpoint answers {code}", "mend base_url; it may have to end in /v1")


def _listed(what: str, part: TranscribeSettings | SpeakSettings, names: Sequence[str] | None) -> Finding:
    if names is None:
        detail = "what answers there does not speak as OpenAI's endpoints do"
        return _found(what, "fault", detail, "mend base_url; it may have to end in /v1")
    if names and part.model not in names:
        detail = f"the endpoint is there, and does not list the model {part.model}"
        return _found(what, "warning", detail, f"mend model, or {_UNPROVED}")
    proved = "takes the key" if part.api_key is not None else "wants no key"
    return _found(what, "ok", f"the endpoint is there, and {proved}; no voice was sent")


def _names(told: bytes) -> Sequence[str] | None:
    """The models' ids; None where it is no list of models."""
    try:
        answer = json.loads(told)
    except ValueError:
        return None
    listed = answer.get("data") if isinstance(answer, dict) else None
    return [str(one.get("id")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else None


def _key(key: Secret | None) -> str:
    return "api_key" if key is None or key.exposed else f"api_key ({key.origin})"


def _reach(part: TranscribeSettings | SpeakSettings) -> str:
    return f"look at base_url ({part.base_url}) and at the network, and try again"


def _found(what: str, state: State, detail: str, do: str = "", *, blames: Blamed = "config") -> Finding:
    return Finding(what=what, state=state, detail=detail, do=do, blames=blames)
