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
_JOINER: Final = "\u2060"
"""Shows nothing, and what it follows begins no token any more."""

Block = dict[str, object]


def parts(source: str) -> tuple[str, ...]:
    """The source in parts that fit one message each; parts of which nothing is seen are left out."""
    found = split(source, LIMIT_UTF16, lambda part: max(utf16_units(part), utf16_units(defused(part))))
    return tuple(part for part in found if not is_blank(defused(part)))


def defused(source: str) -> str:
    """The source, so that Slack reads none of it as a token of its own and drops none of it as HTML or as the target
    of a reference. Outside code an angle bracket is an entity there; within code, where it would be shown as such, an
    invisible character keeps a token from being one."""
    source = whole_characters(source).replace("\0", "\ufffd")
    pieces: list[str] = []
    for text, is_code in _regions(source):
        pieces.append(_TOKEN.sub(f"<{_JOINER}", text) if is_code else _defused_text(text))
    return "".join(pieces)


def blocks(source: str, buttons: Sequence[Button] = ()) -> list[Block]:
    """What shows a text with its buttons."""
    return [{"type": "markdown", "text": defused(source)}, *_actions(buttons)]


def plain_blocks(source: str, buttons: Sequence[Button] = ()) -> list[Block]:
    """The same words without any mark-up, for when Slack can't take what it was given."""
    pieces = split(whole_characters(source), SECTION_LIMIT)
    sections: list[Block] = [{"type": "section", "text": plain_text(piece)} for piece in pieces]
    return [*sections, *_actions(buttons)]


def notification(source: str) -> str:
    """What stands in a notification, and is read aloud; a long text ends where it is too long for one."""
    whole = mrkdwn.render(source)
    if len(whole) <= TEXT_LIMIT:
        return whole
    for limit in (TEXT_LIMIT // 2, TEXT_LIMIT // 8):
        beginning = mrkdwn.render(next(iter(split(source, limit)), ""))
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


def _actions(buttons: Sequence[Button]) -> list[Block]:
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


def _regions(source: str) -> Iterator[tuple[str, bool]]:
    """The source in pieces, in order: text outside of code, and code."""
    at = 0
    while (opening := _FENCE.search(source, at)) is not None:
        yield from _spans(source[at : opening.start()])
        mark, line_end = opening[1], source.find("\n", opening.end())
        closing = re.compile(rf"^[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$", re.MULTILINE)
        ended = closing.search(source, line_end) if line_end >= 0 else None
        at = ended.end() if ended is not None else len(source)
        yield source[opening.start() : at], True
    yield from _spans(source[at:])


def _spans(text: str) -> Iterator[tuple[str, bool]]:
    """Text without fences, in pieces: outside of code, and code within a line or paragraph."""
    at = start = 0
    while (opening := _TICKS.search(text, at)) is not None:
        closing = re.compile(rf"(?<!`){opening[1]}(?!`)").search(text, opening.end())
        gap = text.find("\n\n", opening.end())
        if closing is None or (0 <= gap < closing.start()):
            at = opening.end()
            continue
        yield text[start : opening.start()], False
        yield text[opening.start() : closing.end()], True
        at = start = closing.end()
    yield text[start:], False
