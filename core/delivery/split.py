"""Cuts Markdown source into parts that fit one message each. Pure, and the same for every platform.

The caller says how large a part is once its platform has rendered it; this module knows where Markdown may be cut. It
goes through the source from one cut to the next: a window no longer than the limit is read (fences, tables, list
margins), the best cut in it is taken and the part is measured. One that came out too large is cut again, shorter.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

import regex  # type: ignore[import-untyped]

from core.delivery.lines import INDENT, QUOTE, Fence, Kind, Line, Scanner, columns, line_end, past
from core.delivery.pairs import Pairs, begun, merged, whole

# Flags first: `\X` alone counts a run of them from its beginning at each one (UAX #29, GB9 and GB12).
_GRAPHEME = regex.compile(r"[\U0001f1e6-\U0001f1ff]{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+|\X")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?")
_UNDERLINE = re.compile(r" {0,3}(?:-+|=+)\s*$")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_WHITE = re.compile(r"\s*")
_SPACES = " \t\u3000"
_FEED = "\n"
_LEAST_REACH = 64
_LEAST_SIGHT = 256
"""Characters beyond a window that are read so that a link across its end is seen whole."""
# Of these nothing can be seen: white space, controls, format characters, marks without a letter, fillers.
_INVISIBLE = regex.compile(r"[\s\p{Cc}\p{Cf}\p{Mn}\p{Me}\u115f\u1160\u2800\u3164\uffa0\ufffc]*+")

# What a cut should not go through: links and images, autolinks, bare addresses, inline code.
_WHOLE = re.compile(
    r"!?\[(?:[^\[\]\n]|\n(?!\s*(?:\n|`{3}|~{3}))|\[[^\[\]\n]*\])*\]\((?:[^()\n]|\([^()\n]*\))*\)"
    r"|<[^<>\s]+>"
    r"|https?://[^\s<>]+"
    r"|(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)"
)


def utf16_units(text: str) -> int:
    """The length of `text` in UTF-16 code units, in which some platforms count (`TextUnit.UTF16`)."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def whole_characters(text: str) -> str:
    """`text` with pairs of surrogates joined and lone ones replaced by U+FFFD, so that it can be encoded anywhere."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def is_blank(text: str) -> bool:
    """Whether a reader would see nothing: only white space, controls, zero-width and filler characters."""
    return _INVISIBLE.fullmatch(text) is not None


def split(
    text: str, limit: int, measure: Callable[[str], int] = utf16_units, pairs: Sequence[str] = ()
) -> tuple[str, ...]:  # fmt: skip
    """The parts of `text`, in order, each with `measure(part) <= limit`; `()` if there is nothing to see.

    `measure` says how much of `limit` (60 or more) a part uses on its platform, markup and all, in the platform's
    unit; it is called a few times for each part, with about `limit` characters at most. Text that fits is one part.

    Cuts are sought at a blank line, a line's end, a line's end inside a fence or table, a space, a grapheme, and never
    inside a link or inline code that could go over whole. A fence that is cut is closed, and opened again with its own
    marks and info string; it keeps every character. A table that is cut repeats its header, a quoted line its marks.
    What two of the same of the marks `pairs` enclose outside code goes over whole if it fits, and else is closed and
    opened again. Elsewhere white space at a cut is dropped, and so are parts that show nothing. Lines end in a line
    feed afterwards, surrogates are made whole. Time is linear in `text`. Raises only what `measure` raises.
    """
    source = _LINE_END.sub("\n", whole_characters(text))
    return tuple(part for part in _Splitter(source, Pairs(pairs, limit), measure).parts() if not is_blank(part))


def closed(text: str, pairs: Sequence[str]) -> str:
    """The beginning of a text that grows, with the marks `pairs` that are open at its end closed: what they enclose is
    shown as it will be."""
    for mark in reversed(begun(text, pairs)):
        text = text.rstrip().rstrip(mark[0]).rstrip() + mark
    return text


class _Rank(Enum):
    """How good a place between two lines is for a cut."""

    PARAGRAPH = "after a blank line"
    LINE = "between lines"
    INSIDE = "within a fence or table"


class _Cut(NamedTuple):
    """A part goes up to `end`; the next begins at `resume`, inside `fence` or below the rows `header` of a table.

    With `closed` the fence ends with the part, although it has no closing marks. `quote`: the marks of a quoted line
    that goes on in the next part. `opened`: marks of pairs that go on there; `ended`: those that end with this one.
    """

    end: int
    resume: int
    fence: Fence | None = None
    header: str = ""
    listed: bool = False
    closed: bool = False
    quote: str = ""
    opened: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()


class _Window:
    """What lies between `start` and `stop`, and the cuts in it."""

    def __init__(self, text: str, start: int, stop: int, state: _Cut, pairs: Pairs) -> None:
        self.text = text
        self.start = start
        self.far = min(len(text), stop + max(_LEAST_SIGHT, (stop - start) // 2))
        self.lines = Scanner(state.fence, state.header).lines(text, start, stop, self.far)
        self.cuts: dict[_Rank, list[_Cut]] = {rank: [] for rank in _Rank}
        self.spans: list[tuple[int, int]] | None = None
        self.limit = pairs.limit
        self.quote = state.quote
        self.pairs = pairs.spans(text, self.lines, self.far, state.opened) if pairs.marks else []
        self._rank_lines()

    def _rank_lines(self) -> None:
        above, gap = self.lines[0], False
        for line in self.lines[1:]:
            if line.kind is Kind.BLANK:
                gap = True
                continue
            rank = self._rank(above, line, gap)
            if rank is not None:
                self.cuts[rank].append(self._cut_between(above, line))
            above, gap = line, False
        if gap:
            self.cuts[_Rank.PARAGRAPH].append(self._cut_between(above, None))

    def _cut_between(self, above: Line, line: Line | None) -> _Cut:
        """The cut below `above`, with `line` or only blank ones to follow."""
        if line and line.kind is Kind.CODE:
            return _Cut(line.start, line.start, line.fence)
        resume, listed = (line.start, line.listed) if line else (above.end, above.listed)
        if above.kind in (Kind.OPENING, Kind.CODE):
            return _Cut(above.end, resume, above.fence, listed=listed, closed=True)
        header = line.header if line and line.kind is Kind.ROW else ""
        return _Cut(above.end, resume, header=header, listed=listed)

    def _rank(self, above: Line, line: Line, gap: bool) -> _Rank | None:
        """How good the place above `line` is; None if a cut would empty a fence or table or take a heading apart."""
        match line.kind:
            case Kind.CODE:
                return _Rank.INSIDE if above.kind is Kind.CODE else None
            case Kind.ROW:
                return _Rank.INSIDE if above.kind is Kind.ROW else None
            case Kind.CLOSING | Kind.RULE:
                return None
        if not gap and above.kind is Kind.TEXT and _UNDERLINE.match(self.text, line.start, line.end):
            return None
        return _Rank.PARAGRAPH if gap and not _HEADING.match(self.text, above.start, above.end) else _Rank.LINE

    def end(self, state: _Cut) -> _Cut:
        """The end of the source. A fence that was opened again for this part and never ends is closed."""
        goes_on = self.lines[-1].kind is Kind.CODE and self.lines[-1].fence is state.fence
        return _Cut(len(self.text), len(self.text), state.fence if goes_on else None)

    def marked(self, cut: _Cut) -> _Cut:
        """The cut, with the pairs that it goes through. One right before the closing mark takes that along."""
        within = [span for span in self.pairs if span.start < cut.end < span.end]
        opened = tuple(span.mark for span in within if cut.end + len(span.mark) < span.end)
        ends = [span for span in within if cut.end + len(span.mark) >= span.end]
        resume = max([cut.resume, *(span.end for span in ends)])
        return cut._replace(resume=resume, opened=opened, ended=tuple(span.mark for span in ends))

    def cut(self, stop: int) -> _Cut:
        """The best cut with `end <= stop`. A blank line wins over other lines if the part is a quarter full then."""
        quarter = self.start + (stop - self.start) // 4
        line = self.lines[max(0, bisect_left(self.lines, stop, key=lambda line: line.start) - 1)]
        for rank, floor in (
            (_Rank.PARAGRAPH, quarter),
            (_Rank.LINE, quarter),
            (_Rank.PARAGRAPH, self.start),
            (_Rank.LINE, self.start),
            (_Rank.INSIDE, self.start),
        ):
            cut = self._feed(line, rank, stop, floor) or self._between(rank, stop, floor)
            if cut is not None:
                return cut
        return self._within_line(line, stop)

    def _feed(self, line: Line, rank: _Rank, stop: int, floor: int) -> _Cut | None:
        """A cut at the last line feed among lines that were read together; within code a blank line is better."""
        if line.kind is Kind.TEXT and rank is _Rank.LINE:
            at = self.text.rfind("\n", line.start, min(stop + 1, line.end))
            while at > floor and (whole := self._whole_before(at)) is not None:
                at = self.text.rfind("\n", line.start, whole)
            return _Cut(at, at + 1, listed=line.listed) if at > floor else None
        if line.kind is not Kind.CODE or rank is not _Rank.INSIDE:
            return None
        half = max(line.start, (self.start + stop) // 2)
        gap = self.text.rfind("\n\n", half, min(stop, line.end))
        at = gap + 2 if gap > 0 else self.text.rfind("\n", line.start, min(stop, line.end)) + 1
        return _Cut(at, at, line.fence) if at > line.start and self.text[line.start : at].strip() else None

    def _between(self, rank: _Rank, stop: int, floor: int) -> _Cut | None:
        for index in range(bisect_right(self.cuts[rank], stop, key=lambda cut: cut.end) - 1, -1, -1):
            cut = self.cuts[rank][index]
            if cut.end <= floor:
                break
            if self._whole_before(cut.end) is None:
                return cut
        return None

    def _within_line(self, line: Line, stop: int) -> _Cut:
        if line.kind is Kind.CLOSING and line is not self.lines[0]:
            line = self.lines[self.lines.index(line) - 1]
            stop = line.end if line.kind is Kind.CODE else stop
        fence = line.fence if line.kind is Kind.CODE else None
        if fence and self.text.startswith("\n", stop):
            return _Cut(stop + 1, stop + 1, fence)
        low = max(self.start, self.text.rfind("\n", line.start, stop) + 1)
        if (whole_at := self._whole_before(low)) is not None and self.text[self.start : whole_at].strip():
            return self.cut(whole_at)
        marks, quote = self._quoted(low) if fence is None else ("", "")
        low += len(marks)
        end = self._space(low, stop, bool(fence)) or self._grapheme(low, stop)
        goes_on = self.text[end : line_end(self.text, end, line.end)].strip()
        return _Cut(end, end, fence, listed=line.listed, quote=quote if goes_on else "")

    def _quoted(self, at: int) -> tuple[str, str]:
        """The marks of a quote at the beginning of a line, and those to repeat: its own if it began in another part."""
        if at == self.start and self.quote:
            return "", self.quote
        marks = self.text[at : past(QUOTE, self.text, at)]
        return marks, marks if 3 * len(marks) <= self.limit else ""

    def _space(self, low: int, stop: int, in_fence: bool) -> int | None:
        """The last space that a cut may use, or None; within a fence the space stays with what is before it."""
        at = stop + 1
        while (at := max(self.text.rfind(space, low, at) for space in _SPACES)) > low:
            whole = self._whole_before(at)
            if whole is None:
                break
            at = whole
        if at <= low or not self.text[low:at].strip():
            return None
        return min(at + 1, stop) if in_fence else at

    def _grapheme(self, low: int, stop: int) -> int:
        whole = self._whole_before(stop)
        if whole is not None and self.text[low:whole].strip():
            return whole
        start = max(self.start, stop - 64)
        while start > self.start and not self.text[start - 1 : start + 1].isascii():
            start -= 1
        ends = (start + found.end() for found in _GRAPHEME.finditer(self.text[start : stop + 64]))
        last = max((end for end in ends if end <= stop), default=start)
        return last if last > self.start else stop

    def _whole_before(self, at: int) -> int | None:
        """Where the link or inline code begins that a cut at `at` would go through, if any."""
        if self.spans is None:
            spans = [found.span() for found in _WHOLE.finditer(self.text, self.start, self.far)]
            self.spans = merged([*spans, *whole(self.pairs, self.start, self.limit)]) if self.pairs else spans
        index = bisect_left(self.spans, at, key=lambda span: span[0]) - 1
        return self.spans[index][0] if index >= 0 and at < self.spans[index][1] else None


class _Splitter:
    """The place in the source that has been reached, and the fence or table that is open there."""

    def __init__(self, text: str, pairs: Pairs, measure: Callable[[str], int]) -> None:
        self.text = text
        self.pairs = pairs
        self.limit = limit = pairs.limit
        self.measure = measure
        self.at = 0
        self.reach = limit
        self.state = _Cut(0, 0)
        self.carry = ""

    def parts(self) -> Iterator[str]:
        while self._skip():
            yield self._take()

    def _skip(self) -> bool:
        """Goes past white space that means nothing; False at the end of the source."""
        if self.state.fence is None:
            start = self.at
            self.at = past(_WHITE, self.text, start)
            line = self.text.rfind(_FEED, max(0, start - 1), self.at) + 1
            indent = columns(self.text[line : self.at]) if line or start == 0 else 0
            if indent > 3 and not self.state.opened and self.at < len(self.text):
                self.at = line
                self._outdent(indent if self.state.listed else 0, None, skip_line=False)
        return self.at < len(self.text)

    def _take(self) -> str:
        """Takes the next part off the source. Looks no further than twice the last part, and doubles that while it
        fits."""
        room = self.limit - len(self.carry)
        reach = min(room, self.reach)
        cut, whole = self._fit(reach)
        while whole and reach < room and cut.end < len(self.text):
            reach = min(room, 2 * reach)
            further, whole = self._fit(reach)
            cut = max(cut, further, key=lambda cut: cut.end)
        self.reach = max(_LEAST_REACH, 2 * (cut.end - self.at))
        part = self._part(cut)
        self._go_on(cut)
        return part

    def _fit(self, reach: int) -> tuple[_Cut, bool]:
        """The best cut within `reach` characters that gives a part within the limit, and whether the first one did.

        One character is taken even if it measures more than the limit, without what is carried over if need be.
        """
        stop = min(len(self.text), self.at + reach)
        window = _Window(self.text, self.at, stop, self.state, self.pairs)
        step = 1
        while True:
            cut = window.marked(window.end(self.state) if stop == len(self.text) else window.cut(stop))
            size = self.measure(self._part(cut))
            taken = cut.end - self.at
            if size <= self.limit or (taken <= 1 and not self.carry):
                return cut, step == 1
            if taken <= 1:
                self.carry, self.state = "", _Cut(self.at, self.at)
                return self._fit(reach)
            stop = self.at + max(1, min(taken - step, taken * self.limit // size))
            step *= 2

    def _part(self, cut: _Cut) -> str:
        body = self.text[self.at : cut.end]
        if cut.fence is None or cut.fence.reopened(self.limit) is None:
            return self.carry + body.rstrip() + "".join(cut.ended) + "".join(reversed(cut.opened))
        return f"{self.carry}{body.removesuffix(_FEED)}\n{cut.fence.closing}"

    def _go_on(self, cut: _Cut) -> None:
        """Moves past the part that ends at `cut`, into the state in which the next one begins."""
        fence = cut.fence.reopened(self.limit) if cut.fence and not cut.closed else None
        self.at = cut.resume
        self.carry = cut.header if 3 * len(cut.header) <= self.limit else ""
        self.state = cut._replace(fence=fence, header=self.carry)
        self.carry += cut.quote + "".join(cut.opened)
        if fence is None or cut.fence is None:
            return
        within = self.text[self.at - 1] != _FEED
        if within and self.text.startswith(_FEED, self.at):
            self.at, within = self.at + 1, False
        self._outdent(cut.fence.margin, cut.fence, skip_line=within)
        self.carry = fence.opening + (fence.quote if within else "")
        end = line_end(self.text, self.at, len(self.text))
        kind = fence.reads(self.text[self.at : end])
        if not within and kind is not Kind.CODE:
            self.at = self.at if kind is None else end + 1
            self.carry, self.state = "", _Cut(self.at, self.at, listed=cut.listed)

    def _outdent(self, width: int, fence: Fence | None, *, skip_line: bool) -> None:
        """Takes a list's margin, `width` columns, off the lines that go on in it: the next part is outside the list."""
        if not width:
            return
        lines: list[str] = []
        at = self.at
        while at < len(self.text):
            end = self.text.find("\n", at) + 1 or len(self.text)
            line = self.text[at:end]
            body = fence.unquoted(line)[0] if fence else line
            if skip_line and not lines:
                body = ""
            elif body.strip() and columns(body) < width:
                break
            lines.append(line[: len(line) - len(body)] + body[min(width, past(INDENT, body)) :])
            at = end
        self.text, self.at = "".join(lines) + self.text[at:], 0
