"""parse_mode=HTML. Source: https://core.telegram.org/bots/api#html-style."""

import html
import re
from dataclasses import dataclass, field

from tests.fakes.telegram.errors import ApiError, bad_request
from tests.fakes.telegram.links import link_fault
from tests.fakes.telegram.model import Entity
from tests.fakes.telegram.utf16 import byte_offset, utf16_length

_KINDS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "tg-emoji": "custom_emoji",
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
    "span": "span",
}
_TAG = re.compile(r"<(/?)([a-zA-Z-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
_ATTRIBUTE = re.compile(r"([a-zA-Z-]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_REFERENCE = re.compile(r"&(?:#[0-9]+|#x[0-9a-fA-F]+|lt|gt|amp|quot);")


@dataclass(frozen=True)
class _OpenTag:
    name: str
    offset: int
    attributes: dict[str, str]


@dataclass
class _Parse:
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    stack: list[_OpenTag] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        self.length += utf16_length(piece)


def parse_html(source: str) -> tuple[str, list[Entity]]:
    state = _Parse()
    position = 0
    while position < len(source):
        char = source[position]
        if char == "<":
            position = _take_tag(source, position, state)
        elif char == "&" and (reference := _REFERENCE.match(source, position)):
            state.add(html.unescape(reference[0]))
            position = reference.end()
        else:
            state.add(char)
            position += 1
    if state.stack:
        raise _unparsable(f'Can\'t find end tag corresponding to start tag "{state.stack[-1].name}"')
    return "".join(state.pieces), state.entities


def _take_tag(source: str, position: int, state: _Parse) -> int:
    at = byte_offset(source, position)
    tag = _TAG.match(source, position)
    if tag is None:
        if source.startswith("</", position):
            raise _unparsable(f"Unclosed end tag at byte offset {at}")
        name = re.match(r"<([a-zA-Z-]*)", source[position:])
        if name and name[1].lower() in _KINDS:
            raise _unparsable(f"Unclosed start tag at byte offset {at}")
        raise _unparsable(f'Unsupported start tag "{name[1].lower() if name else ""}" at byte offset {at}')
    name_ = tag[2].lower()
    if tag[1]:
        _close(name_, at, state)
    else:
        _open(name_, tag[3], at, state)
    return tag.end()


def _open(name: str, rest: str, at: int, state: _Parse) -> None:
    attributes = {
        match[1].lower(): html.unescape(match[2] or match[3] or match[4] or "") for match in _ATTRIBUTE.finditer(rest)
    }
    if name not in _KINDS:
        raise _unparsable(f'Unsupported start tag "{name}" at byte offset {at}')
    if name == "span" and attributes.get("class") != "tg-spoiler":
        raise _unparsable(f'Tag "span" must have class "tg-spoiler" at byte offset {at}')
    state.stack.append(_OpenTag(name, state.length, attributes))


def _close(name: str, at: int, state: _Parse) -> None:
    if not state.stack:
        raise _unparsable(f"Unexpected end tag at byte offset {at}")
    tag = state.stack.pop()
    if name not in {"", tag.name}:
        raise _unparsable(f'Unmatched end tag at byte offset {at}, expected "</{tag.name}>", found "</{name}>"')
    length = state.length - tag.offset
    if length == 0:
        return
    language = tag.attributes.get("class", "").removeprefix("language-") if tag.name == "code" else ""
    if language and state.stack and state.stack[-1] == _OpenTag("pre", tag.offset, {}):
        state.stack[-1] = _OpenTag("pre", tag.offset, {"language": language})
        return
    if (entity := _entity(tag, length, "".join(state.pieces))) is not None:
        state.entities.append(entity)


def _entity(tag: _OpenTag, length: int, text: str) -> Entity | None:
    kind = _KINDS[tag.name]
    if kind == "text_link":
        url = tag.attributes.get("href") or text.encode("utf-16-le")[tag.offset * 2 :].decode("utf-16-le")
        return Entity(kind, tag.offset, length, url=url) if link_fault(url) is None else None
    if kind == "custom_emoji":
        identifier = tag.attributes.get("emoji-id", "")
        if not identifier.isdecimal() or int(identifier) >= 1 << 63:
            raise _unparsable("Invalid custom emoji identifier specified")
        return Entity(kind, tag.offset, length, custom_emoji_id=identifier)
    if kind == "span":
        return Entity("spoiler", tag.offset, length)
    if kind == "blockquote" and "expandable" in tag.attributes:
        return Entity("expandable_blockquote", tag.offset, length)
    return Entity(kind, tag.offset, length, language=tag.attributes.get("language") if kind == "pre" else None)


def _unparsable(reason: str) -> ApiError:
    return bad_request(f"can't parse entities: {reason}", rule="parse_mode")
