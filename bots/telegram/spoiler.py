"""Where `||` hides text: CommonMark knows no spoilers, so they are found among the inline tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it.token import Token

_SPOILER = re.compile(r"(?<!\|)\|\|(?!\|)")

_Place = tuple[int, int]
"""A token's index and an offset in its content."""


def spoiler_bars(tokens: Sequence[Token]) -> dict[int, list[int]]:
    """Where `||` begins or ends a spoiler, as offsets by token: tight on the inside, no word outside, both ends in the
    same parent."""
    found: dict[int, list[int]] = {}
    opener: list[_Place | None] = [None]
    for index, token in enumerate(tokens):
        if token.nesting > 0:
            opener.append(None)
        elif token.nesting < 0:
            opener.pop()
        elif token.type == "text":
            opener[-1] = _pair(tokens, index, opener[-1], found)
    return found


def _pair(tokens: Sequence[Token], index: int, start: _Place | None, found: dict[int, list[int]]) -> _Place | None:
    """Add the pairs that end in this token; the opener that is left."""
    content = tokens[index].content
    for bar in _SPOILER.finditer(content):
        before = content[: bar.start()] or _edge(tokens, index - 1)
        after = content[bar.end() :] or _edge(tokens, index + 1)
        if start and not before[-1].isspace() and not after[0].isalnum():
            found.setdefault(start[0], []).append(start[1])
            found.setdefault(index, []).append(bar.start())
            start = None
        elif not before[-1].isalnum() and not after[0].isspace():
            start = (index, bar.start())
    return start


def _edge(tokens: Sequence[Token], index: int) -> str:
    """What a neighbouring token counts as: white space at a line's end, else a mark."""
    inside = 0 <= index < len(tokens) and not tokens[index].type.endswith("break")
    return "*" if inside else " "
