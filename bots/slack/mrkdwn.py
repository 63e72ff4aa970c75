"""Markdown to Slack's older mark-up, mrkdwn (https://docs.slack.dev/messaging/formatting-message-text), without losing
a character of what was meant.

It is written where Slack takes no Markdown: the words above a file, and what a notification shows. markdown-it-py
parses (CommonMark with strikethrough and tables; HTML and reference definitions stay literal) and its tokens are walked
once. mrkdwn has no escape for its own marks, so that an invisible character keeps literal ones from being read as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bots.slack.tokens import escaped
from core.delivery.split import whole_characters

_MARKS: Final = {"strong": "*", "em": "_", "s": "~"}
_ADDRESS: Final = re.compile(r"https?://[^\s<>\[\]()`|\"*]+(?:\([^\s<>()]*\)[^\s<>\[\]()`|\"*]*)*", re.IGNORECASE)
_TRAILING: Final = "_~.,;:!?'"
_LINKED: Final = re.compile(r"(?:https?://[^\s<>|]+|mailto:[^\s<>|@]+@[^\s<>|]+)", re.IGNORECASE)
_BREAK: Final = re.compile(r"<br ?/?>", re.IGNORECASE)
_LITERAL: Final = re.compile(r"(?<!\w)([*_~`]+)(?=\S)")
_LANGUAGE: Final = re.compile(r"[\w+#.-]{1,32}", re.ASCII)
_STEP: Final = "    "
_DEEPEST: Final = 40
_LABEL: Final = "\x02"
"""Stands where a link's label begins, until its end is reached."""
_CONTROLS: Final = {0: "\ufffd", ord(_LABEL): "\ufffd"}
_APART: Final = "\u200b"
"""Keeps a mark and what is beside it apart: marks count only at the edge of a word."""


def render(source: str) -> str:
    """Markdown as mrkdwn. It pings nobody and is not cut to any limit."""
    source = whole_characters(source).replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
    tokens = _PARSER.parse(source)
    if any(token.level >= _DEEPEST - 2 for token in tokens):
        return plain(source)
    page = _Page(source.split("\n"))
    page.blocks(tokens)
    return page.text.strip("\n")


def plain(source: str) -> str:
    """The source as it is, which loses nothing."""
    return escaped(whole_characters(source).strip())


class _Parser(MarkdownIt):
    """Takes every link target as it is written."""

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return True

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link


def _parser() -> _Parser:
    parser = _Parser("commonmark", {"html": False, "maxNesting": _DEEPEST})
    parser.enable(["strikethrough", "table"])
    parser.disable(["reference", "html_block", "html_inline", "text_join"])
    return parser


_PARSER: Final = _parser()


class _Page:
    """The text written so far, and what it stands in: quotes and lists."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._pieces: list[str] = []
        self._quotes = 0
        self._lists: list[int | None] = []
        self._bullet = ""
        self._bold = 0

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def blocks(self, tokens: Iterable[Token]) -> None:
        stream = iter(tokens)
        for token in stream:
            match token.type:
                case "paragraph_open":
                    self._start(token)
                case "heading_open":
                    self._start(token)
                    self._write("*")
                    self._bold += 1
                case "heading_close":
                    self._bold -= 1
                    self._write("*")
                case "inline":
                    self._write(self._inline(token.children or []))
                case "blockquote_open":
                    self._quotes += 1
                case "blockquote_close":
                    self._quotes -= 1
                case "bullet_list_open":
                    self._lists.append(None)
                case "ordered_list_open":
                    self._lists.append(0)
                case "bullet_list_close" | "ordered_list_close":
                    self._lists.pop()
                case "list_item_open":
                    self._item(token)
                case "list_item_close" if self._bullet:
                    self._start(None)
                case "fence" | "code_block":
                    self._code(token)
                case "hr":
                    self._start(token)
                    self._write("———")
                case "table_open":
                    self._table(token, stream)
                case _:
                    pass

    def _write(self, text: str) -> None:
        """Further lines stand where the first one does."""
        if text:
            self._pieces.append(text.replace("\n", "\n" + self._margin()))

    def _margin(self) -> str:
        return ("> " if self._quotes else "") + _STEP * max(0, len(self._lists) - 1)

    def _start(self, token: Token | None) -> None:
        """Goes to a new line, after a blank one where the source has one, and writes the bullet that is due."""
        if self._pieces:
            line = token.map[0] if token and token.map else 0
            gap = line > 0 and not self._lines[line - 1].lstrip(" \t>")
            self._pieces.append(("\n" + ("> " if self._quotes else "") if gap else "") + "\n")
        self._pieces.append(self._margin() + self._bullet)
        self._bullet = ""

    def _item(self, token: Token) -> None:
        """Owes a bullet, or the number in the source if it goes on counting and else the next one."""
        count = self._lists[-1]
        if count is None:
            self._bullet += "• "
            return
        number = max(count, int(token.info))
        self._lists[-1] = number + 1
        self._bullet += f"{number}{token.markup} "

    def _code(self, token: Token) -> None:
        """Slack knows no languages: what else the fence says of itself stands above it."""
        remark = token.info.strip()
        if remark and not (_LANGUAGE.fullmatch(remark) and token.content.strip()):
            self._start(token)
            self._write(escaped(remark))
        self._fence(token, token.content.removesuffix("\n"))

    def _fence(self, token: Token, text: str) -> None:
        self._start(token)
        inner = escaped(text).replace("```", f"`{_APART}`{_APART}`")
        self._write(f"```\n{inner}\n```")

    def _table(self, table: Token, stream: Iterator[Token]) -> None:
        """Text of fixed width, since mrkdwn has no tables: the rows as they were written."""
        for token in stream:
            if token.type == "table_close":
                break
        first, last = table.map or [0, 0]
        rows = [line.lstrip(" \t>") for line in self._lines[first:last]]
        self._fence(table, "\n".join(row for row in rows if row.strip()))

    # inline

    def _inline(self, children: Sequence[Token]) -> str:
        tokens = _joined(children)
        pieces: list[str] = []
        closing: list[str] = []
        targets: list[Token] = []
        for index, token in enumerate(tokens):
            match token.type:
                case "text":
                    pieces.append(_text(token.content))
                case "softbreak" | "hardbreak":
                    pieces.append("\n")
                case "code_inline":
                    pieces.append(_code_span(token.content))
                case "strong_open" | "em_open" | "s_open":
                    opened, closed = self._style(tokens, index)
                    closing.append(closed)
                    pieces.append(_edge(pieces) + opened)
                case "strong_close" | "em_close" | "s_close":
                    pieces.append(closing.pop() + _outside(tokens, index + 1))
                case "link_open":
                    targets.append(token)
                    pieces.append(_LABEL)
                case "link_close":
                    _link(pieces, targets.pop())
                case "image":
                    pieces += [_LABEL, self._inline(token.children or [])]
                    _link(pieces, token)
                case _:
                    pieces.append(escaped(token.content))
        return "".join(pieces)

    def _style(self, tokens: Sequence[Token], index: int) -> tuple[str, str]:
        """The marks that open and close a style. Bold goes around italic where both cover the same, and a heading is
        bold already."""
        tag = tokens[index].tag
        if tag == "em" and (end := _whole(tokens, index)) is not None and not self._bold:
            tokens[index + 1].tag = tokens[end - 1].tag = "em"
            return _MARKS["strong"], _MARKS["strong"]
        if tag == "strong" and self._bold:
            return "", ""
        return _MARKS[tag], _MARKS[tag]


def _joined(children: Sequence[Token]) -> list[Token]:
    """With neighbouring texts as one, and without those that are empty."""
    tokens: list[Token] = []
    for child in children:
        if child.type not in ("text", "text_special"):
            tokens.append(child)
        elif tokens and tokens[-1].type == "text":
            tokens[-1].content += child.content
        elif child.content:
            tokens.append(Token("text", "", 0, content=child.content, level=child.level))
    return tokens


def _whole(tokens: Sequence[Token], index: int) -> int | None:
    """Where the italics that begin here end, if bold covers all that is in them."""
    if tokens[index + 1].type != "strong_open" or tokens[index + 1].tag != "strong":
        return None
    level = tokens[index].level
    for at in range(index + 1, len(tokens)):
        if tokens[at].type == "em_close" and tokens[at].level == level:
            inner = tokens[index + 1].level
            closers = [n for n in range(index + 2, at) if tokens[n].type == "strong_close" and tokens[n].level == inner]
            return at if closers and closers[0] == at - 1 else None
    return None


def _edge(pieces: Sequence[str]) -> str:
    """What has to stand before an opening mark."""
    before = next((piece[-1] for piece in reversed(pieces) if piece), " ")
    return _APART if before.isalnum() else ""


def _outside(tokens: Sequence[Token], index: int) -> str:
    """What has to stand after a closing mark."""
    after = tokens[index].content[:1] if index < len(tokens) and tokens[index].type == "text" else ""
    return _APART if after.isalnum() else ""


def _text(text: str) -> str:
    """Literal text: bare addresses become links, what would be marks is kept from being any."""
    pieces, at = [], 0
    for found in _ADDRESS.finditer(text):
        address = found[0].rstrip(_TRAILING)
        pieces += [_literal(text[at : found.start()]), f"<{escaped(address)}>"]
        at = found.start() + len(address)
    return "".join([*pieces, _literal(text[at:])])


def _literal(text: str) -> str:
    return _LITERAL.sub(rf"\1{_APART}", escaped(_BREAK.sub("\n", text)))


def _code_span(text: str) -> str:
    return f"`{escaped(text).replace('`', 'ˋ')}`"


def _link(pieces: list[str], token: Token) -> None:
    """Put the label, which is all since the link's beginning, together with its target."""
    start = len(pieces) - 1 - pieces[::-1].index(_LABEL)
    label = "".join(pieces[start + 1 :])
    del pieces[start:]
    target = str(token.attrs.get("href", token.attrs.get("src", "")))
    title = token.attrs.get("title")
    pieces += [_linked(label, target, auto=token.markup == "autolink"), f' "{escaped(str(title))}"' if title else ""]


def _linked(label: str, target: str, *, auto: bool) -> str:
    if not _LINKED.fullmatch(target):
        shown = label if auto else f"{label} ({escaped(target)})" if target else f"[{label}]()"
        return f"&lt;{escaped(target)}&gt;" if auto and target else shown
    address = escaped(target)
    if auto or not label or re.fullmatch(rf"<?{re.escape(address)}>?", label):
        return f"<{address}>"
    inner = re.sub(r"<([^<>|]+)(?:\|([^<>]*))?>", lambda found: found[2] or found[1], label)
    return f"<{address}|{inner.replace('|', '¦')}>"
