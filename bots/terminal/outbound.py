"""What is sent -> what a terminal may be shown, and the words of the wire to an attached one. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

TEXT_LIMIT: Final = 1_000_000
"""Code points of one message; longer answers come in several."""

_KEPT: Final = "\n\t"
_PICTURES: Final = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in _KEPT},
    0x7F: "\u2421",
    **dict.fromkeys(range(0x80, 0xA0), "\ufffd"),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}
"""Control characters have pictures (Unicode block 2400) or are replaced, so that no text can command the terminal."""


def visible(text: str) -> str:
    """The same text with line ends as `\\n` and every other control character as its picture."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_PICTURES)


def parts_of(text: str, limit: int = TEXT_LIMIT) -> tuple[str, ...]:
    """Cut at line ends where there are any, so that each part has at most `limit` code points. Blank parts go."""
    parts = []
    while len(text) > limit:
        line_end = text.rfind("\n", 0, limit) + 1
        parts.append(text[: line_end or limit])
        text = text[line_end or limit :]
    return tuple(part for part in (*parts, text) if part.strip())


def to_wire(words: Mapping[str, object]) -> bytes:
    """One line of JSON."""
    return json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def from_wire(line: bytes) -> Mapping[str, object]:
    """The object of one line. Raises `ValueError` for anything else."""
    words = json.loads(line)
    if not isinstance(words, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004
    return words
