"""Tables as text of fixed width, since Discord has none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, repeat, zip_longest
from typing import Final

from core.text_width import padded, text_width

_WIDEST: Final = 40
"""A column's padding goes up to this many places, so that one long cell can't fill a message with blanks."""
_CELL: Final = re.compile(r"(?:\\.|(`+)(?!`).*?(?<!`)\1(?!`)|[^|\\])*")
_STRONG: Final = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`) ?(.+?) ?(?<!`)\1(?!`)")
_BREAK: Final = re.compile(r"<br ?/?>", re.IGNORECASE)


def grid(lines: Sequence[str]) -> str:
    """The lines of a table, its second one being the rule, with their columns aligned. No cell is left out."""
    head, *rows = [_cells(line) for number, line in enumerate(lines) if number != 1]
    aligns = [_align(cell) for cell in _cells(lines[1])]
    widths = [
        min(_WIDEST, max(map(text_width, column))) for column in zip_longest(*(head, *rows), fillvalue="")
    ]  # fmt: skip
    laid = [" | ".join(_laid(row, widths, aligns)).rstrip() for row in (head, *rows)]
    return "\n".join([laid[0], "-+-".join("-" * width for width in widths), *laid[1:]])


def _laid(row: Sequence[str], widths: Sequence[int], aligns: Sequence[str]) -> list[str]:
    return [padded(cell, width, align) for cell, width, align in zip(row, widths, _endless(aligns), strict=False)]


def _endless(aligns: Sequence[str]) -> Iterator[str]:
    """A row may have more cells than the header."""
    return chain(aligns, repeat(""))


def _cells(line: str) -> list[str]:
    """The cells of a row, without what surrounds them and without marks that a code block would show."""
    found: list[str] = []
    at = 0
    line = line.strip()
    while at <= len(line):
        cell = _CELL.match(line, at)
        end = cell.end() if cell is not None else at
        if end < len(line) and line[end] != "|":  # a mark of inline code, or a backslash, that belongs to nothing
            end = _next_edge(line, end)
        found.append(_plain(line[at:end]))
        at = end + 1
    if line.startswith("|"):
        del found[0]
    if len(found) > 1 and line.endswith("|") and not line.endswith("\\|"):
        found.pop()
    return found or [""]


def _next_edge(line: str, start: int) -> int:
    edge = line.find("|", start)
    return len(line) if edge < 0 else edge


def _plain(cell: str) -> str:
    text = _BREAK.sub(" ", cell.strip().replace("\\|", "|"))
    return _CODE.sub(r"\2", _STRONG.sub(r"\2", text))


def _align(rule: str) -> str:
    left, right = rule.startswith(":"), rule.endswith(":")
    return "center" if left and right else "right" if right else "left"
