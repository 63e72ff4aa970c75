"""Markdown -> lines for a terminal, by rich. Slow to import and to run: from a prompt only, and on a thread. Pure."""

from __future__ import annotations

import io
import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console
from rich.markdown import Markdown

PLAIN_ABOVE: Final = 20_000
"""Code points that are rendered at most; a longer text is shown as it is written. A table of so many takes a second."""

_PADDING: Final = re.compile(r" +$", re.MULTILINE)
# What would lose text is left out: HTML and references stay as written, an image becomes a link.
_PARSER: Final = (
    MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable(["reference", "image"])
)


class _Kept(Markdown):
    """Every line end is kept, and a link shows where it leads."""

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False, code_theme="ansi_dark")
        self.parsed = _PARSER.parse(text)
        for token in self.parsed:
            for child in token.children or ():
                if child.type == "softbreak":
                    child.type = "hardbreak"


def to_ansi(text: str, width: int) -> str:
    """Lines of at most `width` columns, each with its end."""
    if len(text) > PLAIN_ABOVE:
        return f"{text.rstrip()}\n"
    screen = io.StringIO()
    Console(file=screen, force_terminal=True, width=max(width, 10), highlight=False, emoji=False).print(_Kept(text))
    return _PADDING.sub("", screen.getvalue()).strip("\n") + "\n"


def finished(text: str) -> int:
    """How much of the text can't change its look by what is still to come: all blocks but the last, in code points."""
    if len(text) > PLAIN_ABOVE:
        return 0
    starts = [_first_line(token) for token in _PARSER.parse(text) if _is_block(token)]
    if len(starts) < 2:
        return 0
    return sum(len(line) + 1 for line in text.split("\n")[: starts[-1]])


def _is_block(token: Token) -> bool:
    return token.level == 0 and token.nesting >= 0 and token.map is not None


def _first_line(token: Token) -> int:
    return token.map[0] if token.map else 0
