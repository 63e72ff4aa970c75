"""Block Kit as Slack checks it. Sources: https://docs.slack.dev/reference/block-kit/blocks, page by page."""

from collections.abc import Iterator

from tests.fakes.slack.elements import ACCESSORY, ACTION, CONTEXT, CONTEXT_ACTION, IMAGE, INPUT
from tests.fakes.slack.errors import bad_arguments, refused, with_messages
from tests.fakes.slack.model import JsonObject, JsonValue, objects_of, text_of
from tests.fakes.slack.schema import (
    Check,
    Shape,
    anything,
    flag,
    integer,
    listed,
    plain,
    rich,
    text,
    typed,
    url_check,
    word,
)

MAX_MESSAGE_BLOCKS = 50
MAX_VIEW_BLOCKS = 100
MAX_MARKDOWN = 12_000  # .../blocks/markdown-block: cumulative for all markdown blocks in a single payload

_ID: dict[str, Check] = {"block_id": text(255)}
_STYLE = Shape({}, {"bold": flag, "italic": flag, "strike": flag, "code": flag, "underline": flag})
_STYLED: dict[str, Check] = {"style": _STYLE}

_INLINE = typed(
    {
        "text": Shape({"text": text(40_000)}, _STYLED),
        "link": Shape({"url": url_check}, {**_STYLED, "text": text(40_000), "unsafe": flag}),
        "emoji": Shape({"name": text(100)}, {**_STYLED, "unicode": text(100), "url": url_check}),
        "user": Shape({"user_id": text(20)}, _STYLED),
        "usergroup": Shape({"usergroup_id": text(20)}, _STYLED),
        "channel": Shape({"channel_id": text(20)}, _STYLED),
        "team": Shape({"team_id": text(20)}, _STYLED),
        "broadcast": Shape({"range": word("here", "channel", "everyone")}, _STYLED),
        "date": Shape({"timestamp": integer, "format": text(200)}, {"url": url_check, "fallback": text(200)}),
        "color": Shape({"value": text(20)}, _STYLED),
    }
)
_SECTION = Shape({"elements": listed(_INLINE, 5_000, 0)})
_BORDERED = Shape({"elements": listed(_INLINE, 5_000, 0)}, {"border": integer, "language": text(50)})
_RICH = typed(
    {
        "rich_text_section": _SECTION,
        "rich_text_preformatted": _BORDERED,
        "rich_text_quote": _BORDERED,
        "rich_text_list": Shape(
            {
                "style": word("bullet", "ordered"),
                "elements": listed(typed({"rich_text_section": _SECTION}), 5_000),
            },
            {"indent": integer, "offset": integer, "border": integer},
        ),
    }
)
_RICH_TEXT = Shape({"elements": listed(_RICH, 5_000)}, _ID)
_CELL = typed({"raw_text": Shape({"text": text(12_000)}), "raw_number": anything, "rich_text": _RICH_TEXT})
_TASK = Shape(
    {"task_id": text(255), "title": text(256)},
    {
        **_ID,
        "status": word("pending", "in_progress", "complete", "error"),
        "details": _RICH_TEXT,
        "output": _RICH_TEXT,
        "sources": anything,
    },
)

BLOCKS: dict[str, Check] = {
    "section": Shape(
        {},
        {**_ID, "text": rich(3_000), "fields": listed(rich(2_000), 10), "accessory": ACCESSORY, "expand": flag},
        ("text", "fields"),
    ),
    "header": Shape({"text": plain(150)}, _ID),
    "divider": Shape({}, _ID),
    "context": Shape({"elements": listed(CONTEXT, 10)}, _ID),
    "actions": Shape({"elements": listed(ACTION, 25)}, _ID),
    "context_actions": Shape({"elements": listed(CONTEXT_ACTION, 5)}, _ID),
    "image": Shape(
        {"alt_text": text(2_000)},
        {**_ID, "image_url": url_check, "slack_file": anything, "title": plain(2_000)},
        ("image_url", "slack_file"),
    ),
    "markdown": Shape({"text": text(MAX_MARKDOWN)}, _ID),
    "rich_text": _RICH_TEXT,
    "input": Shape(
        {"label": plain(2_000), "element": INPUT},
        {**_ID, "hint": plain(2_000), "optional": flag, "dispatch_action": flag},
    ),
    "video": Shape(
        {"alt_text": text(2_000), "title": plain(200), "thumbnail_url": url_check, "video_url": url_check},
        {**_ID, "author_name": text(50), "description": plain(200), "provider_icon_url": url_check}
        | {"provider_name": text(50), "title_url": url_check},
    ),
    "table": Shape({"rows": listed(listed(_CELL, 20), 100)}, {**_ID, "column_settings": listed(anything, 20)}),
    "task_card": _TASK,
    "plan": Shape({"title": text(256)}, {**_ID, "tasks": listed(typed({"task_card": _TASK}), 50)}),
    "alert": Shape({"text": rich(3_000)}, {**_ID, "level": word("default", "info", "warning", "error", "success")}),
    "card": Shape(
        {},
        {**_ID, "hero_image": IMAGE, "icon": IMAGE, "title": rich(150), "subtitle": rich(150), "body": rich(200)}
        | {"actions": listed(ACTION, 25)},
        ("hero_image", "title", "actions", "body"),
    ),
}
_MESSAGE_ONLY = {"markdown", "table", "context_actions", "task_card", "plan", "alert", "card"}
_IN_MESSAGE = typed(BLOCKS)
_IN_VIEW = typed({kind: check for kind, check in BLOCKS.items() if kind not in _MESSAGE_ONLY})


def check_blocks(blocks: list[JsonValue], *, most: int = MAX_MESSAGE_BLOCKS) -> None:
    """The blocks of a message. Raises `ApiError` invalid_blocks with every fault, or msg_blocks_too_long."""
    if not blocks:
        return
    faults: list[str] = []
    listed(_IN_MESSAGE, most)(blocks, "/blocks", faults)
    _look_for_twins(objects_of(blocks), faults)
    tables = sum(1 for one in objects_of(blocks) if one.get("type") == "table")
    if tables > 1:
        faults.append("only one table is allowed [json-pointer:/blocks]")
    if faults:
        raise with_messages("invalid_blocks", faults)
    markdown = sum(len(text_of(one, "text")) for one in objects_of(blocks) if one.get("type") == "markdown")
    if markdown > MAX_MARKDOWN:
        raise refused("msg_blocks_too_long", f"markdown blocks have {markdown} characters together")


def check_view(view: JsonObject, kind: str) -> None:
    """A Home tab (kind "home") or a modal. Raises `ApiError` invalid_arguments with every fault."""
    faults: list[str] = []
    if view.get("type") != kind:
        faults.append(f"must be {kind} [json-pointer:/view/type]")
    shared: dict[str, Check] = {
        "blocks": listed(_IN_VIEW, MAX_VIEW_BLOCKS, 0),
        "private_metadata": text(3_000, 0),
        "callback_id": text(255, 0),
        "external_id": text(255, 0),
    }
    if kind == "home":
        Shape({"blocks": shared.pop("blocks")}, shared)(view, "/view", faults)
    else:
        modal: dict[str, Check] = {"submit": plain(24), "close": plain(24), "clear_on_close": flag}
        modal |= {"notify_on_close": flag, "submit_disabled": flag}
        Shape({"title": plain(24), "blocks": shared.pop("blocks")}, shared | modal)(view, "/view", faults)
        if any(one.get("type") == "input" for one in objects_of(view.get("blocks"))) and not view.get("submit"):
            faults.append("a submit button is needed with input blocks [json-pointer:/view]")
    _look_for_twins(objects_of(view.get("blocks")), faults)
    if faults:
        raise bad_arguments(*faults)


def _look_for_twins(blocks: list[JsonObject], faults: list[str]) -> None:
    """block_id is unique in a message or view, action_id in its block."""
    named = [block["block_id"] for block in blocks if isinstance(block.get("block_id"), str)]
    faults += [f"block_id already exists: {one} [json-pointer:/blocks]" for one in _doubles(named)]
    for place, block in enumerate(blocks):
        inner = block.get("elements")
        elements = objects_of(inner if isinstance(inner, list) else [])
        actions = [one["action_id"] for one in elements if isinstance(one.get("action_id"), str)]
        faults += [f"action_id already exists: {one} [json-pointer:/blocks/{place}]" for one in _doubles(actions)]


def _doubles(values: list[JsonValue]) -> Iterator[str]:
    yield from {str(one) for one in values if values.count(one) > 1}
