"""Markdown for Discord, which knows most of it: https://support.discord.com/hc/en-us/articles/210298617.

The source goes out as it stands, but for what Discord would show otherwise than it is meant: tables, fences of other
marks, indented code, deep headings and quotes, images, and bars that are no spoiler. Discord refuses no markup, so that
there is no plainer form to fall back on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bots.discord.tables import grid
from core.delivery.split import closed, is_blank, split, whole_characters

LIMIT: Final = 2_000
"""Characters of a message, in code points: https://docs.discord.com/developers/resources/message#create-message."""

_PAIRS: Final = ("||", "**", "~~")
_FENCE: Final = "```"
_PARTED: Final = "`\u200b``"
"""Three marks that end no fence."""

_NOTHING_TO_DO: Final = re.compile(r"(?!.*(?:[`~|>#=\t\r]|!\[|<br|^ {4}|\n {4}|^-|\n-))", re.DOTALL | re.IGNORECASE)
_QUOTE: Final = re.compile(r" {0,3}>[ \t]?(?:[ ]{0,3}>[ \t]?)*")
_MARKS: Final = re.compile(r"(?P<before>.*?)(?P<marks>`{3,}|~{3,})(?P<info>.*)")
_LANGUAGE: Final = re.compile(r"[\w+.#-]+", re.ASCII)
# Code, links and addresses are left alone; what else may need a change comes after them.
_INLINE: Final = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|!\[(?P<alt>[^\[\]\n]*)\]\((?P<target>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?P<title>\s+\"[^\"\n]*\")?\)"
    r"|(?P<spoiler>\|\|(?=\S)(?:(?!\|\|).)+?(?<=\S)\|\|)"
    r"|(?P<bars>\|{2,})"
    r"|(?P<break><br ?/?>)",
    re.DOTALL | re.IGNORECASE,
)
_PARSER: Final = MarkdownIt("commonmark").enable("table").disable(["html_block", "reference"])
_PARSER.core.ruler.enableOnly(["normalize", "block"])


def parts(text: str) -> tuple[str, ...]:
    """Source that fits a message each, once rendered; parts of which nothing is seen are left out."""
    found = split(text, LIMIT, lambda part: len(render(part)), _PAIRS)
    return tuple(part for part in found if not is_blank(render(part)))


def beginning(source: str) -> str:
    """What is sent of an answer that grows: what it hides stays hidden before its end has come."""
    return render(closed(source, _PAIRS))


@lru_cache(maxsize=64)  # a part is measured and then sent
def render(source: str) -> str:
    """What is sent. Every word of the source is in it, in order; its length is not bounded."""
    source = whole_characters(source).replace("\r\n", "\n").replace("\r", "\n")
    if _NOTHING_TO_DO.match(source):
        return source.strip()
    page = _Page(source.split("\n"))
    page.go_through(_PARSER.parse(source))
    return page.text().strip("\n ")


class _Page:
    """The lines of the source, each of which is rewritten by at most one block."""

    def __init__(self, lines: list[str]) -> None:
        self._lines: list[str | None] = [*lines]
        self._source = lines
        self._code: set[int] = set()
        """Lines of code, which keep what looks like markup."""

    def go_through(self, tokens: Sequence[Token]) -> None:
        quotes: list[Token] = []
        for token in tokens:
            if token.map is None:
                continue
            match token.type:
                case "fence":
                    self._fence(token, *token.map)
                case "code_block":
                    self._indented(token, *token.map)
                case "table_open":
                    self._table(*token.map)
                case "heading_open":
                    self._heading(token, *token.map)
                case "blockquote_open" if token.level == 0:
                    quotes.append(token)
                case _:
                    pass
        for quote in quotes:
            self._quote(*(quote.map or [0, 0]))

    def text(self) -> str:
        """Runs of lines between code go through the inline rules as a whole: spoilers and code may span lines."""
        made: list[str] = []
        run: list[str] = []
        for number, line in enumerate(self._lines):
            if line is None:
                continue
            if number in self._code:
                made += [*_inline(run), line]
                run = []
            else:
                run.append(line)
        return "\n".join([*made, *_inline(run)])

    def _fence(self, token: Token, start: int, end: int) -> None:
        """Discord knows fences of three backticks, closed."""
        self._code.update(range(start, end))
        opening = _MARKS.match(self._source[start])
        if opening is None:
            return
        closed = end - start > 1 and _closes(self._source[end - 1], token.markup)
        plain = token.markup == _FENCE and _FENCE not in token.content
        if plain and closed:
            return
        before = opening["before"]
        self._lines[start] = f"{before}{_FENCE}{opening['info'].strip()}"
        for number in range(start + 1, end - closed):
            self._lines[number] = self._source[number].replace(_FENCE, _PARTED)
        if closed:
            self._lines[end - 1] = f"{_margin(before)}{_FENCE}"
        else:
            self._lines[end - 1] = f"{self._lines[end - 1]}\n{_margin(before)}{_FENCE}"

    def _indented(self, token: Token, start: int, end: int) -> None:
        if token.level:
            return
        self._code.update(range(start, end))
        self._replace(start, end, f"{_FENCE}\n{token.content.rstrip().replace(_FENCE, _PARTED)}\n{_FENCE}")

    def _table(self, start: int, end: int) -> None:
        quote = _QUOTE.match(self._source[start])
        before = "> " if quote is not None else ""
        rows = [_QUOTE.sub("", line, count=1) if quote is not None else line for line in self._source[start:end]]
        shown = grid([row.strip() for row in rows if row.strip()]).replace(_FENCE, _PARTED)
        self._code.update(range(start, end))
        self._replace(start, end, "\n".join(before + line for line in (_FENCE, *shown.split("\n"), _FENCE)))

    def _replace(self, start: int, end: int, text: str) -> None:
        """Blank lines behind a block belong to it in the parser's eyes, and stay."""
        while end - 1 > start and not self._source[end - 1].strip():
            end -= 1
        self._lines[start] = text
        self._lines[start + 1 : end] = [None] * (end - start - 1)

    def _heading(self, token: Token, start: int, end: int) -> None:
        """Three levels are known, and no underlines."""
        if token.markup.startswith("#"):
            if len(token.markup) > 3:
                self._lines[start] = self._source[start].replace(token.markup, "###", 1)
        elif end - start == 2 and not token.level:
            self._lines[start] = f"{'#' if token.markup == '=' else '##'} {self._source[start].strip()}"
            self._lines[start + 1] = None

    def _quote(self, start: int, end: int) -> None:
        """One level, with a space behind its mark. Three marks would quote the whole rest of the message."""
        for number in range(start, end):
            line = self._lines[number]
            if line is not None and number not in self._code:
                self._lines[number] = _QUOTE.sub("> ", line, count=1)


def _closes(line: str, marks: str) -> bool:
    bare = line.lstrip(" >\t").rstrip()
    return bare.startswith(marks) and not bare.strip(marks[0])


def _margin(before: str) -> str:
    """What stands before the closing marks: the quote's, and blanks in place of a list's."""
    return re.sub(r"[^>\s]", " ", before)


def _inline(run: Sequence[str]) -> Iterator[str]:
    if run:
        yield _INLINE.sub(_changed, "\n".join(run))


def _changed(found: re.Match[str]) -> str:
    if found["alt"] is not None and found["target"] is not None:
        return f"[{found['alt']}]({found['target']}{found['title'] or ''})" if found["alt"] else found["target"]
    if found["bars"] is not None:
        return found["bars"].replace("|", "\\|")
    if found["break"] is not None:
        return "\n"
    return found[0]
