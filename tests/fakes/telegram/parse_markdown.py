"""parse_mode=MarkdownV2 and the legacy Markdown. Source: https://core.telegram.org/bots/api#markdownv2-style."""

import re
from dataclasses import dataclass, field

from tests.fakes.telegram.errors import ApiError, bad_request
from tests.fakes.telegram.links import link_fault
from tests.fakes.telegram.model import Entity
from tests.fakes.telegram.utf16 import byte_offset, utf16_length

_RESERVED = frozenset("_*[]()~`>#+-=|{}.!")
_MARKS = {
    "__": "underline",
    "||": "spoiler",
    "```": "pre",
    "*": "bold",
    "_": "italic",
    "~": "strikethrough",
    "`": "code",
    "[": "text_link",
    "![": "custom_emoji",
}
_NAMES = {"text_link": "TextUrl", "custom_emoji": "CustomEmoji", "blockquote": "BlockQuote"}
_TARGET = re.compile(r"\(((?:\\.|[^)\\])*)\)", re.DOTALL)
_LANGUAGE = re.compile(r"([^\s`]+)?(?=[\s])\n?|\n")
_EMOJI_URL = re.compile(r"tg://emoji\?id=(\d+)")


@dataclass(frozen=True)
class _Open:
    kind: str
    offset: int
    at: int
    language: str | None = None


@dataclass
class _Parse:
    source: str
    position: int = 0
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    stack: list[_Open] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    at_line_start: bool = True

    def starts(self, mark: str) -> bool:
        return self.source.startswith(mark, self.position)

    def add(self, char: str) -> None:
        self.pieces.append(char)
        self.length += utf16_length(char)
        self.at_line_start = char == "\n"
        self.position += 1


def parse_markdown_v2(source: str) -> tuple[str, list[Entity]]:
    state = _Parse(source)
    while state.position < len(source):
        _step(state)
    _end_quote(state)
    if state.stack:
        raise _no_end(state.stack[-1])
    return "".join(state.pieces), sorted(state.entities, key=lambda entity: (entity.offset, -entity.length))


def _step(state: _Parse) -> None:
    char = state.source[state.position]
    inside = state.stack[-1].kind if state.stack else ""
    following = state.source[state.position + 1 : state.position + 2]
    if char == "\\" and following and following <= "~":
        state.position += 1
        state.add(following)
        return
    if inside in {"pre", "code"}:
        _inside_code(state, inside)
        return
    if char == ">" and state.at_line_start:
        if not _quoting(state):
            _open(state, "blockquote")
        state.position += 1
        return
    if char in _RESERVED:
        _mark(state, inside)
        return
    if char == "\n" and following != ">":
        _end_quote(state)
    state.add(char)


def _quoting(state: _Parse) -> bool:
    return any(item.kind == "blockquote" for item in state.stack)


def _inside_code(state: _Parse, inside: str) -> None:
    end = "```" if inside == "pre" else "`"
    if state.starts(end):
        state.position += len(end)
        _close(state, inside)
    else:
        state.add(state.source[state.position])


def _mark(state: _Parse, inside: str) -> None:
    if state.starts("]") and inside in {"text_link", "custom_emoji"}:
        state.position += 1
        _close_link(state, inside)
        return
    for mark, kind in _MARKS.items():
        if not state.starts(mark):
            continue
        if kind == inside:
            state.position += len(mark)
            _close(state, kind)
        else:
            _open(state, kind)
            state.position += len(mark)
            _take_language(state, kind)
        return
    char = state.source[state.position]
    raise _unparsable(f"Character '{char}' is reserved and must be escaped with the preceding '\\'")


def _take_language(state: _Parse, kind: str) -> None:
    if kind != "pre":
        return
    match = _LANGUAGE.match(state.source, state.position)
    if match is not None:
        opened = state.stack.pop()
        state.stack.append(_Open(kind, opened.offset, opened.at, match[1]))
        state.position = match.end()


def _open(state: _Parse, kind: str) -> None:
    state.stack.append(_Open(kind, state.length, byte_offset(state.source, state.position)))


def _close(state: _Parse, kind: str) -> None:
    opened = state.stack.pop()
    if state.length > opened.offset:
        state.entities.append(Entity(kind, opened.offset, state.length - opened.offset, language=opened.language))


def _close_link(state: _Parse, kind: str) -> None:
    opened = state.stack.pop()
    length = state.length - opened.offset
    target = _TARGET.match(state.source, state.position)
    if target is None and state.starts("("):
        raise _unparsable(f"Can't find end of a URL at byte offset {byte_offset(state.source, state.position + 1)}")
    text = "".join(state.pieces).encode("utf-16-le")[opened.offset * 2 :].decode("utf-16-le")
    url = re.sub(r"\\(.)", r"\1", target[1], flags=re.DOTALL) if target else text
    state.position = target.end() if target else state.position
    if kind == "custom_emoji":
        emoji = _EMOJI_URL.fullmatch(url)
        if target is None or emoji is None:
            raise _unparsable("Custom emoji entity must contain a tg://emoji URL")
        state.entities.append(Entity(kind, opened.offset, length, custom_emoji_id=emoji[1]))
    elif length and link_fault(url) is None:
        state.entities.append(Entity(kind, opened.offset, length, url=url))


def _end_quote(state: _Parse) -> None:
    """At the end of a line that is not continued. A quote that ends in an open `||` is expandable."""
    if not _quoting(state):
        return
    kind = "blockquote"
    if state.stack[-1].kind == "spoiler" and state.stack[-1].offset == state.length:
        state.stack.pop()
        kind = "expandable_blockquote"
    if state.stack[-1].kind != "blockquote":
        raise _no_end(state.stack[-1])
    _close(state, kind)


def parse_markdown(source: str) -> tuple[str, list[Entity]]:
    """The legacy mode: no nesting, `_`, `*`, `` ` `` and `[text](url)`."""
    state = _Parse(source)
    while state.position < len(source):
        char = source[state.position]
        if char == "\\" and source[state.position + 1 : state.position + 2] in {"_", "*", "`", "["}:
            state.position += 1
            state.add(source[state.position])
        elif char in "_*`[":
            _take_legacy(state, char)
        else:
            state.add(char)
    return "".join(state.pieces), state.entities


def _take_legacy(state: _Parse, char: str) -> None:
    begin = state.position
    mark = "```" if state.starts("```") else char
    end_mark = "]" if char == "[" else mark
    end = state.source.find(end_mark, begin + len(mark))
    if end < 0:
        at = byte_offset(state.source, begin)
        raise _unparsable(f"Can't find end of the entity starting at byte offset {at}")
    offset = state.length
    for inner in state.source[begin + len(mark) : end]:
        state.add(inner)
    state.position = end + len(end_mark)
    length = state.length - offset
    target = _TARGET.match(state.source, state.position) if char == "[" else None
    if target is not None:
        state.position = target.end()
    if char == "[":
        if target is not None and length and link_fault(target[1]) is None:
            state.entities.append(Entity("text_link", offset, length, url=target[1]))
    elif length:
        state.entities.append(Entity(_MARKS[mark], offset, length))


def _no_end(opened: _Open) -> ApiError:
    name = _NAMES.get(opened.kind, opened.kind.title())
    return _unparsable(f"Can't find end of {name} entity at byte offset {opened.at}")


def _unparsable(reason: str) -> ApiError:
    return bad_request(f"can't parse entities: {reason}", rule="parse_mode")
