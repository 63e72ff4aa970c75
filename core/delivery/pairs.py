"""Marks that stand around what they are about, as those of a spoiler do, in Markdown source. Pure."""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from core.delivery.lines import Kind, Line, Scanner

_CODE = r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)"
_ADDRESS = r"<[^<>\s]+>|https?://[^\s<>]+"
_FENCE = re.compile(r"^[ \t>]*(?:`{3}|~{3})", re.MULTILINE)
_PROSE = (Kind.TEXT, Kind.BLANK)


class Span(NamedTuple):
    """From before the opening `mark` to behind the closing one."""

    start: int
    end: int
    mark: str


class Pairs(NamedTuple):
    """Which marks come in pairs, and how much of the source one part can hold at most."""

    marks: Sequence[str]
    limit: int

    def spans(self, text: str, lines: Sequence[Line], far: int, opened: Sequence[str]) -> list[Span]:
        """Those that begin in `lines`, in order. `opened` were open before, the outermost first: each goes on up to its
        next mark."""
        before = {mark: sum(map(len, opened[number:])) for number, mark in enumerate(opened)}
        return sorted(span for mark in self.marks for span in _spans(text, lines, far, mark, before.get(mark)))


def begun(text: str, marks: Sequence[str]) -> list[str]:
    """Those of `marks` that are open at the end of the text, in order."""
    lines = Scanner(None, "").lines(text, 0, len(text), len(text))
    start, stop = _runs(lines)[-1] if lines and lines[-1].kind in _PROSE else (0, 0)
    found = [
        (one.start(), mark) for mark in marks for one in _pattern(mark).finditer(text, start, stop) if one["begun"]
    ]
    return [mark for _, mark in sorted(found)]


def whole(spans: Sequence[Span], start: int, limit: int) -> list[tuple[int, int]]:
    """What no cut should go through: pairs that fit a part, and the marks of others."""
    found: list[tuple[int, int]] = []
    for span in spans:
        size = len(span.mark)
        if span.start >= start and span.end - span.start <= limit:
            found.append((span.start, span.end))
        else:
            found += [(span.start, span.start + size + 1), (span.end - size, span.end)]
    return found


def merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that overlap become one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _spans(text: str, lines: Sequence[Line], far: int, mark: str, before: int | None) -> list[Span]:
    """`before`: it was open already, so many characters earlier."""
    found: list[Span] = []
    begin = lines[0].start
    if before is not None:
        end = text.find(mark, begin, far)
        end = end + len(mark) if end >= 0 else far + len(mark)
        found.append(Span(begin - before, end, mark))
        begin = end
    for start, stop in _runs(lines):
        for one in _pattern(mark).finditer(text, max(start, begin), stop):
            if one["pair"] is not None:
                found.append(Span(*one.span(), mark))
            elif one["begun"] is not None and stop >= lines[-1].end:
                further = _further(text, one.start(), stop, mark)
                found += [Span(one.start(), further, mark)] if further is not None else []
    return found


def _runs(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """Lines of prose that follow each other."""
    found: list[tuple[int, int]] = []
    for line in lines:
        if line.kind in _PROSE:
            goes_on = found and found[-1][1] + 1 == line.start
            start = found.pop()[0] if goes_on else line.start
            found.append((start, line.end))
    return found


def _further(text: str, start: int, stop: int, mark: str) -> int | None:
    """Behind the mark that closes what begins at `start`, beyond what was read."""
    at = text.find(mark, max(stop - len(mark) + 1, start + len(mark)))
    if at < 0 or text[at - 1].isspace() or _FENCE.search(text, start, at):
        return None
    return at + len(mark)


@cache
def _pattern(mark: str) -> re.Pattern[str]:
    """As long as it is read: code, addresses and escapes, which hold no marks; a pair; one not closed yet."""
    edge = re.escape(mark)
    within = rf"(?:(?!{edge}).)"
    pair, begun = rf"{edge}(?=\S){within}+?(?<=\S){edge}", rf"{edge}(?=\S){within}*+\Z"
    return re.compile(rf"{_CODE}|{_ADDRESS}|\\.|(?P<pair>{pair})|(?P<begun>{begun})", re.DOTALL)
