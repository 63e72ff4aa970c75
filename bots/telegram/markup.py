"""Markdown to Telegram's text and entities, without losing a character of what was meant.

markdown-it-py parses (CommonMark with strikethrough and tables; HTML and reference definitions stay literal, since both
would vanish) and this module walks its tokens once. Spans are kept in code points while the text grows; at the end they
are cut where Telegram forbids overlaps, trimmed (as tdlib does) and counted in UTF-16 (Bot API, `MessageEntity`).
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink
from markdown_it.token import Token
from msgspec import Struct
from msgspec.structs import replace
from telegram.constants import MessageLimit

from bots.telegram.addresses import bare_address
from bots.telegram.spoiler import spoiler_bars
from bots.telegram.table import grid, surplus
from core.delivery.split import is_blank, split, utf16_units, whole_characters

LIMIT_UTF16: int = MessageLimit.MAX_TEXT_LENGTH
"""Length of a message's text in UTF-16 code units after entities."""
ENTITIES_PER_MESSAGE: int = MessageLimit.MESSAGE_ENTITIES
"""Entities beyond this many are ignored by Telegram."""

# Targets that Telegram takes; one that it refuses would cost the whole message its entities. tg://user pings somebody.
_LINKED = re.compile(
    r"https?://(?:[^\s/?#@]*@)?(?:(?:[^\s.:/?#@]+\.)+[^\s.:/?#@]{2,}|localhost)(?::\d{1,5})?(?:[/?#]\S*)?"
    r"|tg://(?!user\b)\S+|mailto:[^@\s]+@[^@\s.]+\.[^@\s]+",
    re.IGNORECASE,
)
_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_LANGUAGE = re.compile(r"[\w+#.-]{1,32}", re.ASCII)
_WEB = re.compile(r"(?:https?://|tg://)", re.IGNORECASE)
_RULE = "———"
_BULLET = "• "
_STEP = "  "
_DEEPEST = 40
"""Levels of nesting, two for each list; the parser drops what lies deeper, so such a text is shown as it is."""

_STYLES = {"strong": "bold", "em": "italic", "s": "strikethrough"}
_NESTING = ("blockquote", "bold", "italic", "strikethrough", "spoiler", "text_link", "code", "pre")


@dataclass(frozen=True, kw_only=True)
class Entity:
    """One Telegram `MessageEntity`: `type` as the Bot API spells it, `offset` and `length` in UTF-16 code units."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """A message's text and its entities, sorted by offset, the longer first."""

    text: str
    entities: tuple[Entity, ...]


@lru_cache(maxsize=64)  # a part is measured and then sent
def render(source: str) -> Rendered:
    """Renders Markdown. Entities nest and never cross; code overlaps nothing. The text may be empty and is not cut to
    any limit."""
    source = whole_characters(source).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    tokens = (_WITH_LINKS if "](" in source else _WITHOUT_LINKS).parse(source)
    if any(token.level >= _DEEPEST - 2 for token in tokens):
        return plain(source)
    page = _Page(source.split("\n"))
    page.blocks(tokens)
    return page.finish()


def plain(source: str) -> Rendered:
    """The plainer form for when Telegram refuses the entities: the source as it is, which loses nothing."""
    return Rendered(text=whole_characters(source).strip(), entities=())


def parts(source: str) -> tuple[str, ...]:
    """The source in parts that fit one message each, both rendered and `plain`. `()` if there is nothing to see."""
    unseen: set[str] = set()

    def measure(part: str) -> int:
        """How much of `LIMIT_UTF16` it needs: the largest of its source, its rendering and its share of entities."""
        units = utf16_units(part)
        if units > LIMIT_UTF16:
            return units
        rendered = render(part)
        if is_blank(rendered.text):
            unseen.add(part)
        share = -(-len(rendered.entities) * LIMIT_UTF16 // ENTITIES_PER_MESSAGE)
        return max(units, utf16_units(rendered.text), share)

    return tuple(part for part in split(source, LIMIT_UTF16, measure) if part not in unseen)


class _Parser(MarkdownIt):
    """Takes every link target as it is written: targets are judged, encoded or printed here."""

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return True

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link


def _parser(*literal: str) -> _Parser:
    parser = _Parser("commonmark", {"html": False, "maxNesting": _DEEPEST})
    parser.enable(["strikethrough", "table"]).inline.ruler.before("escape", "bare_address", bare_address)
    parser.disable(["reference", "html_block", "html_inline", "text_join", *literal])
    return parser


_WITH_LINKS = _parser()
# A bracket that opens no link costs the parser a search to the end of its paragraph; most texts hold no link at all.
_WITHOUT_LINKS = _parser("link", "image")


class _Span(Struct, frozen=True, kw_only=True):
    """An entity in the making; `start` and `end` in code points."""

    type: str
    start: int
    end: int
    url: str | None = None
    language: str | None = None


class _Page:
    """The text written so far, the styles open at its end, and the spans that are done."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.pieces: list[str] = []
        self.size = 0
        self.spans: list[_Span] = []
        self.open: list[tuple[str, int]] = []
        self.lists: list[int | None] = []
        self.bullet = ""

    def write(self, text: str) -> None:
        if text:
            self.pieces.append(text)
            self.size += len(text)

    def begin(self, style: str) -> None:
        self.open.append((style, self.size))

    def end(self, url: str | None = None) -> None:
        """Closes the style opened last; within another of its kind it adds nothing."""
        style, start = self.open.pop()
        if not self.within(style):
            self.spans.append(_Span(type=style, start=start, end=self.size, url=url))

    def within(self, *styles: str) -> bool:
        return any(name in styles for name, _ in self.open)

    # Blocks

    def blocks(self, tokens: Iterable[Token]) -> None:
        stream = iter(tokens)
        for token in stream:
            match token.type:
                case "paragraph_open":
                    self._start(token)
                case "heading_open":
                    self._start(token)
                    self.begin("bold")
                case "heading_close":
                    self.end()
                case "inline":
                    self.inline(token.children or [])
                case "blockquote_open":
                    self.begin("blockquote")
                case "blockquote_close":
                    self.end()
                case "bullet_list_open":
                    self.lists.append(None)
                case "ordered_list_open":
                    self.lists.append(0)
                case "bullet_list_close" | "ordered_list_close":
                    self.lists.pop()
                case "list_item_open":
                    self._item(token)
                case "list_item_close" if self.bullet:
                    self._start(None)
                case "fence" | "code_block":
                    self._code(token)
                case "hr":
                    self._start(token)
                    self.write(_RULE)
                case "table_open":
                    self._table(token, stream)
                case _:
                    pass

    def _start(self, token: Token | None, *, indented: bool = True) -> None:
        """Goes to a new line, after a blank one where the source has one, and writes the bullet that is due."""
        if self.size:
            line = token.map[0] if token and token.map else 0
            gap = line > 0 and not self.lines[line - 1].lstrip(" \t>")
            self.write("\n\n" if gap else "\n")
        if self.bullet or indented:
            self.write(_STEP * (len(self.lists) - bool(self.bullet)) + self.bullet)
        self.bullet = ""

    def _item(self, token: Token) -> None:
        """Owes a bullet, or the number in the source if it goes on counting and else the next one."""
        count = self.lists[-1]
        if count is None:
            self.bullet += _BULLET
            return
        number = max(count, int(token.info))
        self.lists[-1] = number + 1
        self.bullet += f"{number}{token.markup} "

    def _code(self, token: Token) -> None:
        """Preformatted text, with the language if the info string begins with one; what else it says goes above."""
        language, _, remark = token.info.strip().partition(" ")
        if not token.content.strip() or not _LANGUAGE.fullmatch(language):
            language, remark = "", token.info.strip()
        self._pre(token, token.content.removesuffix("\n"), language, remark)

    def _pre(self, token: Token, text: str, language: str = "", remark: str = "") -> None:
        if self.bullet or remark:
            self._start(token)
            self.write(remark)
            self._start(None, indented=False)
        else:
            self._start(token, indented=False)
        self.spans.append(_Span(type="pre", start=self.size, end=self.size + len(text), language=language or None))
        self.write(text)

    def _table(self, table: Token, stream: Iterator[Token]) -> None:
        """Preformatted text with columns aligned by display width; cells that have no column stay at the end of their
        row."""
        rows: list[list[str]] = []
        aligns: list[str] = []
        for token in stream:
            if token.type == "table_close":
                break
            if token.type == "tr_open":
                rows.append([])
                line = self.lines[token.map[0]] if token.map else ""
            elif token.type == "th_open":
                aligns.append(str(token.attrs.get("style", "")))
            elif token.type == "inline":
                rows[-1].append(_flat(token.children or []))
            elif token.type == "tr_close":
                rows[-1] += surplus(line, len(aligns)) if rows[1:] else []
        self._pre(table, grid(rows, aligns))

    # Inline

    def inline(self, tokens: Sequence[Token]) -> None:
        bars = spoiler_bars(tokens)
        targets: list[Token] = []
        for index, token in enumerate(tokens):
            match token.type:
                case "text" | "text_special":
                    self._text(token.content, bars.get(index, []))
                case "softbreak" | "hardbreak":
                    self.write("\n" + _STEP * len(self.lists))
                case "code_inline":
                    self._inline_code(token.content)
                case "strong_open" | "em_open" | "s_open":
                    self.begin(_STYLES[token.tag])
                case "strong_close" | "em_close" | "s_close":
                    self.end()
                case "link_open":
                    targets.append(token)
                    self._link_open(token)
                case "link_close":
                    self._link_close(targets.pop())
                case "image":
                    self._link_open(token)
                    self.inline(token.children or [])
                    self._link_close(token)
                case _:
                    self.write(token.content)

    def _text(self, text: str, bars: Sequence[int]) -> None:
        """Writes text; at each of `bars` a spoiler begins or ends."""
        at = 0
        for bar in bars:
            self._line(text[at:bar])
            if self.open and self.open[-1][0] == "spoiler":
                self.end()
            else:
                self.begin("spoiler")
            at = bar + 2
        self._line(text[at:])

    def _line(self, text: str) -> None:
        self.write(_BREAK.sub("\n" + _STEP * len(self.lists), text))

    def _inline_code(self, text: str) -> None:
        """Code gives way where an entity around it has to stay whole: a link its target, a spoiler its secret, a quote
        its block."""
        if not self.within("text_link", "spoiler", "blockquote"):
            self.spans.append(_Span(type="code", start=self.size, end=self.size + len(text)))
        self.write(text)

    def _link_open(self, token: Token) -> None:
        target = _target(token)
        if token.markup == "autolink":
            self.write("" if _WEB.match(target) else "<")
            self.begin("")
        elif _LINKED.fullmatch(normalizeLink(target)) and not self.within("text_link"):
            self.begin("text_link")
        else:
            self.write("" if target else "[")
            self.begin("")

    def _link_close(self, token: Token) -> None:
        target = _target(token)
        style, start = self.open[-1]
        labelled = self.size > start
        if token.markup == "autolink":
            self.open.pop()
            self.write("" if _WEB.match(target) else ">")
            return
        if style == "text_link":
            self.write("" if labelled else target)
            self.end(url=normalizeLink(target))
        else:
            self.open.pop()
            self.write(f" ({target})" if target else "]()")
        title = token.attrs.get("title")
        self.write(f' "{title}"' if title else "")

    # The end

    def finish(self) -> Rendered:
        """The text, trimmed as Telegram trims it, and the spans as entities."""
        text = "".join(self.pieces)
        solid = sorted((span.start, span.end) for span in self.spans if span.type in ("code", "pre"))
        spans = [piece for span in self.spans for piece in _outside(span, solid)]
        spans = [trimmed for span in spans if (trimmed := _trimmed(span, text)) is not None]
        first = min((span.start for span in spans), default=len(text))
        lead = min(first, len(text) - len(text.lstrip()))
        astral = [index for index, char in enumerate(text) if char > "\uffff"]

        def units(at: int) -> int:
            return at - lead + bisect_left(astral, at)

        entities = {
            Entity(
                type=span.type,
                offset=units(span.start),
                length=units(span.end) - units(span.start),
                url=span.url,
                language=span.language,
            )
            for span in spans
        }
        ordered = sorted(entities, key=lambda each: (each.offset, -each.length, _NESTING.index(each.type)))
        return Rendered(text=text[lead:].rstrip(), entities=tuple(ordered))


def _target(token: Token) -> str:
    return str(token.attrs.get("href", token.attrs.get("src", "")))


def _flat(tokens: Sequence[Token]) -> str:
    """Inline content as text alone, link targets printed."""
    page = _Page(())
    page.open.append(("text_link", 0))
    page.inline(tokens)
    return " ".join("".join(page.pieces).split("\n"))


def _outside(span: _Span, solid: Sequence[tuple[int, int]]) -> Iterator[_Span]:
    """The pieces of a span around the code in it, since code may share no character with anything else."""
    start = span.start
    if span.type not in ("code", "pre"):
        for low, high in solid[bisect_left(solid, (start, start)) :]:
            if low >= span.end:
                break
            yield replace(span, start=start, end=low)
            start = high
    yield replace(span, start=start)


def _trimmed(span: _Span, text: str) -> _Span | None:
    """The span without white space at its ends, or None if nothing is left. Preformatted text keeps its first
    indentation."""
    body = text[span.start : span.end]
    if is_blank(body):
        return None
    lead = 0 if span.type == "pre" else len(body) - len(body.lstrip())
    return replace(span, start=span.start + lead, end=span.start + len(body.rstrip()))
