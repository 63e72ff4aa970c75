"""Markdown as a message of Slack's: how it is split, and the blocks that show it. Pure.

There is one way for sends, edits and messages with buttons: a `markdown` block
(https://docs.slack.dev/reference/block-kit/blocks/markdown-block), which takes Markdown as models write it, four times
what a text may have, and stands beside buttons, which `markdown_text` does not. Slack's own tokens count in it too, so
that what would be one is written so that it is none; everything else goes out as it came. The words above a file and
of a notification are mrkdwn (`mrkdwn`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from bots.slack import mrkdwn
from core.delivery.split import is_blank, split, utf16_units, whole_characters
from core.vocabulary import Button

LIMIT_UTF16: Final = 12_000
"""Characters in all `markdown` blocks of a message (https://docs.slack.dev/reference/block-kit/blocks/markdown-block);
whether of UTF-16 or not is not said, so the smaller one counts."""
SECTION_LIMIT: Final = 3_000
"""Characters of a section (https://docs.slack.dev/reference/block-kit/blocks/section-block)."""
TEXT_LIMIT: Final = 4_000
"""Characters of `text` (https://docs.slack.dev/reference/methods/chat.update: msg_too_long)."""
_MOST_NOTIFIED: Final = 5_000
"""Characters of what may fit `text` once its marks are gone; of more only the beginning is rendered, since that is made
anew at each edit of an answer that grows."""
BUTTONS_LIMIT: Final = 25
"""Elements of an actions block (https://docs.slack.dev/reference/block-kit/blocks/actions-block)."""
PRESS: Final = "fd:"
"""What the `action_id` of a delivery's button begins with; its data follows."""

_STYLES: Final = {"plain": None, "good": "primary", "bad": "danger"}
_FENCE: Final = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})", re.MULTILINE)
_TICKS: Final = re.compile(r"(?<![`\\])(`+)(?!`)")
_AUTOLINK: Final = re.compile(r"<(?:https?://[^\s<>|]+|mailto:[^\s<>|]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)>", re.IGNORECASE)
_TOKEN: Final = re.compile(r"<(?=[@#!]|https?:|mailto:|tel:)", re.IGNORECASE)
_DEFINITION: Final = re.compile(r"^([ \t>]*)\[(?=[^\]\n]+\]:)", re.MULTILINE)
_BREAK: Final = re.compile(r"<br ?/?>", re.IGNORECASE)
_ROW: Final = re.compile(r"^[ \t>]*\|.*$", re.MULTILINE)
_FENCE_LINE: Final = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:`{1,2}\Z|~{1,2}\Z|`{3,}[^`\n]*\Z|~{3,}[^\n]*\Z)"
)
"""A last line that may be, or become, the beginning or the end of a fence."""
_OPEN_DEFINITION: Final = re.compile(r"(?<![^\n])[ \t>]*\[[^\]\n]*\]?\Z")
_OPEN_BREAK: Final = re.compile(r"<br ?/?\Z", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"https?://|\bwww\.", re.IGNORECASE)
_JOINER: Final = "\u2060"
"""Shows nothing, and what it follows begins no token any more."""

Block = dict[str, object]


def parts(source: str) -> tuple[str, ...]:
    """The source in parts that fit one message each; parts of which nothing is seen are left out."""
    found = split(source, LIMIT_UTF16, lambda part: max(utf16_units(part), utf16_units(defused(part))))
    return tuple(part for part in found if not is_blank(defused(part)))


@lru_cache(maxsize=64)  # a part is measured and then sent
def defused(source: str) -> str:
    """The source, so that Slack reads none of it as a token of its own and drops none of it as HTML or as the target
    of a reference. Outside code an angle bracket is an entity there; within code, where it would be shown as such, an
    invisible character keeps a token from being one."""
    source = whole_characters(source).replace("\0", "\ufffd")
    pieces: list[str] = []
    for text, is_code in _regions(source):
        pieces.append(_TOKEN.sub(f"<{_JOINER}", text) if is_code else _defused_text(text))
    return "".join(pieces)


def unfurls(source: str) -> bool:
    """Is there something in it of which Slack would show a preview, where it is not told to show none?"""
    return _ADDRESS.search(source) is not None


def settled(source: str) -> int:
    """How much of a text that grows is `defused` as it will be in the end, whatever follows: what may yet become a
    fence, code, a link or a token waits until that is decided."""
    at = len(source)
    while (sooner := _decided(source[:at])) < at:
        at = sooner
    return at


def blocks(source: str, buttons: Sequence[Button] = ()) -> list[Block]:
    """What shows a text with its buttons."""
    return [{"type": "markdown", "text": defused(source)}, *actions(buttons)]


def plain_blocks(source: str, buttons: Sequence[Button] = ()) -> list[Block]:
    """The same words without any mark-up, for when Slack can't take what it was given."""
    pieces = split(whole_characters(source), SECTION_LIMIT)
    sections: list[Block] = [{"type": "section", "text": plain_text(piece)} for piece in pieces]
    return [*sections, *actions(buttons)]


def notification(source: str) -> str:
    """What stands in a notification, and is read aloud; a long text ends where it is too long for one."""
    if len(source) <= _MOST_NOTIFIED:
        whole = mrkdwn.render(source)
        if len(whole) <= TEXT_LIMIT:
            return whole
    for limit in (TEXT_LIMIT // 2, TEXT_LIMIT // 8):
        beginning = mrkdwn.render(next(iter(split(source[: 2 * limit], limit)), ""))
        if len(beginning) < TEXT_LIMIT:
            return f"{beginning} …"
    return "…"


def caption(source: str) -> str:
    """The words above a file."""
    shown = mrkdwn.render(source)
    return shown if len(shown) <= TEXT_LIMIT else mrkdwn.plain(source)


def plain_text(words: str) -> Block:
    """Words in which nothing is mark-up."""
    return {"type": "plain_text", "text": words, "emoji": False}


def mrkdwn_text(words: str) -> Block:
    """Words that are mrkdwn already."""
    return {"type": "mrkdwn", "text": words, "verbatim": True}


def actions(buttons: Sequence[Button]) -> list[Block]:
    """The block with the buttons, if there are any."""
    if not buttons:
        return []
    return [{"type": "actions", "elements": [_button(one) for one in buttons[:BUTTONS_LIMIT]]}]


def _button(button: Button) -> Block:
    shown: Block = {"type": "button", "action_id": PRESS + button.data, "text": plain_text(button.label)}
    style = _STYLES[button.style]
    return {**shown, "style": style} if style else shown


def _defused_text(text: str) -> str:
    text = _DEFINITION.sub(r"\1\\[", text)
    text = _BREAK.sub("\n", _ROW.sub(lambda row: _BREAK.sub(" ", row[0]), text))
    pieces, at = [], 0
    for found in _AUTOLINK.finditer(text):
        pieces += [text[at : found.start()].replace("<", "&lt;"), found[0]]
        at = found.end()
    return "".join([*pieces, text[at:].replace("<", "&lt;")])


def _decided(source: str) -> int:
    """Where the first begins that is still open at the end."""
    line = source.rfind("\n") + 1
    if _FENCE_LINE.match(source, line):
        return line
    *_, (text, _) = _stretches(source)
    start = len(source) - len(text)
    if (tick := _open_tick(text)) is not None:
        return _word(source, start + tick)
    *_, (piece, _) = _spans(text)
    if (found := _OPEN_DEFINITION.search(piece)) is not None:
        return len(source) - len(piece) + found.start()
    if (found := _OPEN_BREAK.search(source)) is not None:
        return found.start()
    word = _word(source, len(source))
    return word if "<" in source[word:] else len(source)


def _open_tick(text: str) -> int | None:
    """Where the first backticks stand that may yet begin code within a line or paragraph."""
    at = 0
    while (opening := _TICKS.search(text, at)) is not None:
        end = _span_end(text, opening)
        if end == len(text) or (end is None and "\n\n" not in text[opening.end() :]):
            return opening.start()
        at = end or opening.end()
    return None


def _word(source: str, end: int) -> int:
    """Where the characters begin that reach up to there without a gap."""
    at = end
    while at > 0 and not source[at - 1].isspace():
        at -= 1
    return at


def _regions(source: str) -> Iterator[tuple[str, bool]]:
    """The source in pieces, in order: text outside of code, and code."""
    for text, is_code in _stretches(source):
        yield from [(text, True)] if is_code else _spans(text)


def _stretches(source: str) -> Iterator[tuple[str, bool]]:
    """The source in pieces, in order: text without fences, and fences. The last is text."""
    at = 0
    while (opening := _FENCE.search(source, at)) is not None:
        yield source[at : opening.start()], False
        mark, line_end = opening[1], source.find("\n", opening.end())
        closing = re.compile(rf"^[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$", re.MULTILINE)
        ended = closing.search(source, line_end) if line_end >= 0 else None
        at = ended.end() if ended is not None else len(source)
        yield source[opening.start() : at], True
    yield source[at:], False


def _spans(text: str) -> Iterator[tuple[str, bool]]:
    """Text without fences, in pieces: outside of code, and code within a line or paragraph. The last is outside."""
    at = start = 0
    while (opening := _TICKS.search(text, at)) is not None:
        end = _span_end(text, opening)
        if end is None:
            at = opening.end()
            continue
        yield text[start : opening.start()], False
        yield text[opening.start() : end], True
        at = start = end
    yield text[start:], False


def _span_end(text: str, opening: re.Match[str]) -> int | None:
    """Where the code ends that begins there; None where it is none, since its paragraph ends before."""
    closing = re.compile(rf"(?<!`){opening[1]}(?!`)").search(text, opening.end())
    gap = text.find("\n\n", opening.end())
    return None if closing is None or (0 <= gap < closing.start()) else closing.end()
