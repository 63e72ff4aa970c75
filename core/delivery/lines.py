"""Markdown source line by line: what each line is to the blocks around it, as far as cutting the source needs to know.

A light reading of CommonMark and of tables: fences with the quotes and lists they are in, list margins, table headers.
"""

import re
from enum import Enum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

# Lines that neither begin nor end any block but a paragraph; read together, for speed.
_PLAIN = re.compile(r"(?:(?!\d{1,9}[.)]|[*+][ \t\n])[^\s>`~|#=:-][^\n|]*(?:\n|\Z))+")
QUOTE = re.compile(r"(?: {0,3}>[ \t]?)*")
_QUOTE_MARK = re.compile(r" {0,3}>[ \t]?")
INDENT = re.compile(r"[ \t]*")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])([ \t]+|$)")
_OPENING = re.compile(r"(?P<marks>`{3,})(?P<info>[^`]*)$|(?P<tildes>~{3,})(?P<rest>.*)$")
_TABLE_RULE = re.compile(r"(?=.*-)[|:-][|:\-\s]*$")
_CELL_EDGE = re.compile(r"(?<!\\)\|")


class Kind(Enum):
    """What a line is."""

    TEXT = "text"
    BLANK = "blank"
    OPENING = "opening of a fence"
    CODE = "code"
    CLOSING = "closing of a fence"
    HEADER = "header of a table"
    RULE = "rule below a header"
    ROW = "row of a table"


class Fence(Struct, frozen=True, kw_only=True):
    """An open fence: `quote` is the marks of the quote around it, `margin` the columns that belong to a list around it,
    `indent` its own."""

    quote: str
    margin: int
    indent: int
    marks: str
    info: str

    @property
    def opening(self) -> str:
        return f"{self.quote}{' ' * (self.margin + self.indent)}{self.marks}{self.info}\n"

    @property
    def closing(self) -> str:
        return f"{self.quote}{' ' * (self.margin + self.indent)}{self.marks}"

    def reopened(self, limit: int) -> "Fence | None":
        """The fence in the next part: without its info, or not at all, if its lines would take a third of the part."""
        for fence in (replace(self, margin=0), replace(self, margin=0, info="")):
            if 3 * (len(fence.opening) + len(self.closing)) <= limit:
                return fence
        return None

    @property
    def depth(self) -> int:
        return self.quote.count(">")

    def unquoted(self, line: str) -> tuple[str, int]:
        """A line without the marks of the quotes around the fence, and how many of them it has."""
        at = found = 0
        while found < self.depth and (mark := _QUOTE_MARK.match(line, at)):
            at, found = mark.end(), found + 1
        return line[at:], found

    def reads(self, line: str) -> Kind | None:
        """What a line is to the fence: None if it isn't in it, because the quote or the list item has ended."""
        body, depth = self.unquoted(line) if self.quote else (line, 0)
        stripped, indent = body.strip(), columns(body)
        if (stripped and indent < self.margin) or (self.quote and depth < self.depth):
            return None
        closes = stripped.startswith(self.marks) and not stripped.strip(self.marks[0])
        return Kind.CLOSING if closes and indent - self.margin < 4 else Kind.CODE


class Line(NamedTuple):
    """One line, or several plain ones, from `start` to the line feed at `end`."""

    start: int
    end: int
    kind: Kind
    fence: Fence | None
    header: str
    listed: bool


class Scanner:
    """Reads lines in order and remembers the fence, the table and the list margins they are in."""

    def __init__(self, fence: Fence | None, header: str) -> None:
        self.fence = fence
        self.header = header
        self.margins: list[int] = []
        self.above = ""

    def lines(self, text: str, start: int, stop: int, far: int) -> list[Line]:
        """The lines that begin before `stop`, the last read no further than `far`."""
        found: list[Line] = []
        while start < stop:
            end = self._run(text, start, far)
            kind = Kind.CODE if self.fence else Kind.TEXT
            if end <= start:
                end = line_end(text, start, far)
                kind = self._read(text[start:end])
            if kind is Kind.RULE:
                found[-1] = found[-1]._replace(kind=Kind.HEADER)
                self.header = text[found[-1].start : end + 1]
            elif kind is not Kind.ROW:
                self.header = ""
            found.append(Line(start, end, kind, self.fence, self.header, bool(self.margins)))
            self.fence = None if kind is Kind.CLOSING else self.fence
            self.above = text[start:end] if kind is Kind.TEXT else ""
            start = end + 1
        return found

    def _run(self, text: str, start: int, far: int) -> int:
        """The end of as many lines as are surely alike, if any: plain ones, or code with no closing marks."""
        if self.fence is None:
            end = 0 if self.header else past(_PLAIN, text, start, far)
            if end > start:
                self.margins.clear()
            return end - text.startswith("\n", end - 1, far)
        if self.fence.margin or self.fence.quote:
            return 0
        marks = text.find(self.fence.marks, start, far)
        return far if marks < 0 else text.rfind("\n", start, marks)

    def _read(self, line: str) -> Kind:
        kind = self.fence.reads(line) if self.fence else None
        if kind is not None:
            return kind
        self.fence = None
        if not line or line.isspace():
            return Kind.BLANK
        if self._opens(line):
            return Kind.OPENING
        if self.header:
            return Kind.ROW
        return Kind.RULE if "|" in self.above and _rules(self.above, line) else Kind.TEXT

    def _opens(self, line: str) -> bool:
        """Keeps the list margins up to date and says whether the line opens a fence."""
        quote = past(QUOTE, line) if ">" in line else 0
        at = past(INDENT, line, quote)
        column = columns(line[quote:at]) if at > quote else 0
        while self.margins and column < self.margins[-1]:
            self.margins.pop()
        if column - (self.margins[-1] if self.margins else 0) > 3:
            return False
        while item := _ITEM.match(line, at):
            gap = len(item[1]) if 0 < len(item[1]) < 5 else 1
            at = item.start(1) + gap
            column += at - item.start()
            self.margins.append(column)
        opening = _OPENING.match(line, at)
        if opening is None:
            return False
        margin = self.margins[-1] if self.margins else 0
        self.fence = Fence(
            quote=line[:quote],
            margin=margin,
            indent=max(0, column - margin),
            marks=opening["marks"] or opening["tildes"],
            info=(opening["info"] or opening["rest"] or "").strip(),
        )
        return True


def past(pattern: re.Pattern[str], text: str, at: int = 0, far: int = 1 << 62) -> int:
    """Where a match of `pattern` at `at` ends; `at` itself if there is none."""
    found = pattern.match(text, at, far)
    return found.end() if found else at


def line_end(text: str, start: int, far: int) -> int:
    """Where the line feed after `start` is; `far` if there is none before it."""
    end = text.find("\n", start, far)
    return far if end < 0 else end


def columns(text: str) -> int:
    """The indentation of a line, tabs going to the next multiple of four (CommonMark 2.2)."""
    lead = past(INDENT, text)
    return len(text[:lead].expandtabs(4)) if "\t" in text else lead


def _rules(above: str, line: str) -> bool:
    """Whether `line` is the rule between the header `above` and the rows of a table."""
    head, rule = (row[past(QUOTE, row) :].strip() for row in (above, line))
    cells = (len(_CELL_EDGE.findall(row.strip("|"))) for row in (head, rule))
    return _TABLE_RULE.match(rule) is not None and next(cells) == next(cells)
