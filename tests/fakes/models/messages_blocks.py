"""The content blocks of POST /v1/messages, one at a time: https://docs.claude.com/en/api/messages."""

import re

from tests.fakes.models.anthropic_errors import bad, extra, no_match, required
from tests.fakes.models.messages_parameters import TOOL_NAME
from tests.fakes.models.payload import JsonObject, JsonValue, as_list, as_object, as_text

TOOL_USE_ID = re.compile(r"[a-zA-Z0-9_-]+")  # the service's own words
REQUIRED = {
    "text": ("text",),
    "image": ("source",),
    "document": ("source",),
    "search_result": ("source", "title", "content"),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
}
OPTIONAL = {
    "text": ("cache_control", "citations"),
    "image": ("cache_control", "transformations"),
    "document": ("cache_control", "citations", "context", "title"),
    "search_result": ("cache_control", "citations"),
    "tool_use": ("cache_control", "caller", "toolset_name"),
    "tool_result": ("cache_control", "content", "is_error", "toolset_name"),
}
ROLES = {
    "user": ("text", "image", "document", "search_result", "tool_result"),
    "assistant": ("text", "thinking", "redacted_thinking", "tool_use"),
    "system": ("text",),
}
RESULT_PARTS = ("text", "image", "search_result", "document")


def check_block(block: JsonValue, role: str, at: str) -> JsonObject:
    """The block, if a message of this role may have it. Raises `ApiError`."""
    if not isinstance(block, dict):
        raise bad(f"{at}: Input should be a valid dictionary or object to extract fields from")
    kind = as_text(block.get("type"))
    if kind not in REQUIRED:
        listed = ", ".join(f"'{one}'" for one in sorted(REQUIRED))
        raise bad(f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {listed}")
    if kind not in ROLES[role]:
        raise bad(f"{at}: `{kind}` blocks are not permitted within a message of role `{role}`")
    _check_fields(block, kind, at)
    if kind == "text":
        _check_text(as_text(block["text"]))
    elif kind == "tool_use":
        _check_call(block, at)
    elif kind == "tool_result":
        _check_result(block, at)
    return block


def _check_fields(block: JsonObject, kind: str, at: str) -> None:
    for name in REQUIRED[kind]:
        if block.get(name) is None:
            raise required(f"{at}.{kind}.{name}")
    if strange := sorted(block.keys() - {"type", *REQUIRED[kind], *OPTIONAL.get(kind, ())}):
        raise extra(f"{at}.{kind}.{strange[0]}")


def _check_text(text: str) -> None:
    if not text:
        raise bad("messages: text content blocks must be non-empty")
    if not text.strip():
        raise bad("messages: text content blocks must contain non-whitespace text")


def _check_call(block: JsonObject, at: str) -> None:
    if not TOOL_USE_ID.fullmatch(as_text(block["id"])):
        raise no_match(f"{at}.tool_use.id", "^[a-zA-Z0-9_-]+$")
    if not TOOL_NAME.fullmatch(as_text(block["name"])):
        raise no_match(f"{at}.tool_use.name", "^[a-zA-Z0-9_-]{1,64}$")
    if not isinstance(block["input"], dict):
        raise bad(f"{at}.tool_use.input: Input should be a valid dictionary")


def _check_result(block: JsonObject, at: str) -> None:
    content = block.get("content")
    if content is None or isinstance(content, str):
        return
    for index, part in enumerate(as_list(content)):
        kind = as_text(as_object(part).get("type"))
        if kind not in RESULT_PARTS:
            raise bad(f"{at}.tool_result.content.{index}: Input tag '{kind}' found using 'type' does not match")
        _check_fields(as_object(part), kind, f"{at}.tool_result.content.{index}")
        if kind == "text":
            _check_text(as_text(as_object(part)["text"]))
