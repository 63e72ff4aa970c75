"""What a message says, wherever its words stand, as Slack writes text: escaped, with tokens. Pure; nothing makes it
raise.

People's messages say it in `text`; those of apps often in blocks (https://docs.slack.dev/reference/block-kit/blocks) or
attachments (https://api.slack.com/reference/messaging/attachments) alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bots.slack import tokens
from core.fields import Json, part, parts, records

_UNFURLED: Final = ("from_url", "app_unfurl_url", "is_share")
"""What has one of these was added by Slack to a link or to a message that is handed on."""


def words(said: Json) -> str:
    """All of it, without what Slack added to links. Of an app's message the blocks are shown and the text is not."""
    text, blocks = _text(said, "text"), _blocks(said)
    by_app = said.get("bot_id") is not None or said.get("subtype") == "bot_message"
    own = blocks if blocks and (by_app or not text.strip()) else text
    added = (_attachment(one) for one in parts(said, "attachments") if not any(one.get(key) for key in _UNFURLED))
    return _lines((own, *added))


def handed_on(shared: Json) -> str:
    """The words of a message that is handed on."""
    inner = (part(one, "message") or {} for one in parts(shared, "message_blocks"))
    return _text(shared, "text") or _lines(_blocks(one) for one in inner)


def everything(said: Json) -> str:
    """With the words of a message that is handed on."""
    shared = (handed_on(one) for one in parts(said, "attachments") if one.get("is_share") is True)
    return _lines((words(said), *shared))


def _attachment(one: Json) -> str:
    fields = (_lines((_text(field, "title"), _text(field, "value"))) for field in parts(one, "fields"))
    shown = _lines((_text(one, "pretext"), _text(one, "title"), _text(one, "text"), *fields, _blocks(one)))
    return shown or _text(one, "fallback")


def _blocks(said: Json) -> str:
    return _lines(_block(one) for one in parts(said, "blocks"))


def _block(block: Json) -> str:
    match block.get("type"):
        case "rich_text":
            return _lines(_rich(one) for one in parts(block, "elements"))
        case "markdown":
            return tokens.escaped(_text(block, "text"))
        case "table":
            rows = block.get("rows")
            return _lines(map(_row, rows)) if isinstance(rows, list) else ""
        case "actions" | "input":
            return ""
        case _:
            return _shown(block)


def _shown(block: Json) -> str:
    """The texts of a block, and of what stands in it."""
    inner = (_captions(one) for key in ("fields", "elements") for one in parts(block, key))
    return _lines((_captions(block), *inner))


def _captions(one: Json) -> str:
    return _lines(_text(one, key) or _text(part(one, key) or {}, "text") for key in ("text", "title", "alt_text"))


def _row(row: object) -> str:
    cells = (_lines(map(_rich, parts(cell, "elements"))) or _text(cell, "text") for cell in records(row))
    return " | ".join(cells)


def _rich(one: Json) -> str:
    """A part of rich text: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block."""
    match one.get("type"):
        case "rich_text_list":
            ordered = one.get("style") == "ordered"
            items = enumerate(map(_line, parts(one, "elements")), 1)
            return _lines(f"{number}. {item}" if ordered else f"• {item}" for number, item in items)
        case "rich_text_quote":
            return "&gt; " + _line(one).replace("\n", "\n&gt; ")
        case "rich_text_preformatted":
            return f"```\n{_line(one)}\n```"
        case _:
            return _line(one)


def _line(one: Json) -> str:
    return "".join(map(_inline, parts(one, "elements")))


def _inline(one: Json) -> str:
    match one.get("type"):
        case "user":
            return f"<@{_text(one, 'user_id')}>"
        case "channel":
            return f"<#{_text(one, 'channel_id')}>"
        case "usergroup":
            return f"<!subteam^{_text(one, 'usergroup_id')}>"
        case "broadcast":
            return f"<!{_text(one, 'range')}>"
        case "link":
            label = _text(one, "text")
            return f"<{_text(one, 'url')}|{label}>" if label else f"<{_text(one, 'url')}>"
        case "emoji":
            return f":{_text(one, 'name')}:"
        case _:
            return _text(one, "text") or _text(one, "fallback") or _text(one, "value")


def _text(one: Json, key: str) -> str:
    value = one.get(key)
    return value if isinstance(value, str) else ""


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text.strip())
