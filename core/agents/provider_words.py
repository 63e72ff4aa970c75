"""What a provider itself says of an error: one short sentence that may stand in the log."""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.people.names import plain_line

MOST_CHARS = 200
MASK = "[secret]"
_SHORTEST = 4
"""Characters of a secret; see `core.service.logs`."""

_SECRETS = (
    re.compile(r"(?i)(?<=://)[^\s/@]+(?=@)"),
    re.compile(r"(?i)\b(?:bearer|basic)\s+[^\s,;\"')]+"),
    re.compile(r"(?i)(?<=key provided: )[^\s,;\"')]+"),
    re.compile(r"(?i)(?<=[?&])(?:key|api_?key|token|access_token|secret|sig|signature)=[^\s&\"')]+"),
    re.compile(
        r"(?i)\b(?:[a-z_-]*api[ _-]?key|[a-z_-]*secret|[a-z_-]*token|password|authorization)[\"']?\s*[=:]\s*[\"']?"
        r"[^\s,;\"')]+"
    ),
    re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|nvapi|AIza|ya29|ghp|glpat|xox[a-z])[-_.]?[A-Za-z0-9*_.-]{6,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){0,2}"),
    re.compile(r"(?<![\w/.-])(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{24,}(?![\w/])"),
)
"""Keys, tokens and whatever else opens something, as providers quote them."""
_PATH = re.compile(r"(?<![\w:/.])(?:/[\w.@+-]+){2,}/?|\b[A-Za-z]:\\[^\s\"']+")
"""Where something lies on the provider's machine."""


def sentence(body: object, secrets: Iterable[str] = ()) -> str:
    """The words of an error's body, on one line of at most `MOST_CHARS` characters, without keys, tokens (those of
    `secrets` whatever they look like) and paths; "" where the body has none, or is a page."""
    said = plain_line(_words(body), 4 * MOST_CHARS)
    if said.startswith("<"):
        return ""
    for secret in sorted(secrets, key=len, reverse=True):
        said = said.replace(secret, MASK) if len(secret) >= _SHORTEST else said
    for pattern in _SECRETS:
        said = pattern.sub(MASK, said)
    said = _PATH.sub("[path]", said)
    return said if len(said) <= MOST_CHARS else f"{said[: MOST_CHARS - 1]}…"


def _words(body: object) -> str:
    """Of the shapes that are known: OpenAI's and Anthropic's error object, a bare text, FastAPI's detail, a list."""
    match body:
        case str():
            return body
        case {"error": (dict() | list()) as inner}:
            return _words(inner)
        case {"message": str(words)} | {"error": str(words)} | {"detail": str(words)} | {"msg": str(words)}:
            return words
        case {"detail": (dict() | list()) as inner} | {"errors": (dict() | list()) as inner} | [inner, *_]:
            return _words(inner)
        case _:
            return ""
