"""The parameters of one API call: decoding of bodies, typed access.

Telegram takes query strings, forms (structured values as JSON text) and JSON bodies alike
(https://core.telegram.org/bots/api#making-requests). Unlike it, the double refuses values of the wrong type.
"""

import json
from collections.abc import Mapping
from urllib.parse import parse_qsl

from tests.fakes.telegram.errors import ApiError, bad_request
from tests.fakes.telegram.model import JsonObject, JsonValue, Upload

_STRUCTURED = frozenset(
    {
        "allowed_updates",
        "caption_entities",
        "commands",
        "entities",
        "link_preview_options",
        "media",
        "message_ids",
        "reaction",
        "reply_markup",
        "reply_parameters",
        "scope",
    }
)
_INTEGERS = frozenset(
    {
        "cache_time",
        "draft_id",
        "limit",
        "max_connections",
        "message_id",
        "message_thread_id",
        "offset",
        "reply_to_message_id",
        "timeout",
        "user_id",
    }
)
_FLAGS = frozenset(
    {
        "allow_paid_broadcast",
        "allow_sending_without_reply",
        "disable_content_type_detection",
        "disable_notification",
        "disable_web_page_preview",
        "drop_pending_updates",
        "is_big",
        "protect_content",
        "show_alert",
        "supports_streaming",
    }
)


def form_values(body: bytes) -> JsonObject:
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise bad_request("strings must be encoded in UTF-8", rule="surrogate") from None
    return normalised(dict(pairs))


def json_values(body: bytes) -> JsonObject:
    try:
        values = json.loads(body)
    except ValueError:
        raise bad_request("can't parse request body as JSON", rule="params") from None
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise bad_request("strings must be encoded in UTF-8", rule="surrogate") from None
    if not isinstance(values, dict):
        raise bad_request("request body must be a JSON Object", rule="params")
    return normalised(values)


def normalised(raw: Mapping[str, JsonValue]) -> JsonObject:
    return {name: _normalised(name, value) for name, value in raw.items() if value is not None}


def _normalised(name: str, value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        return value
    if name in _STRUCTURED:
        try:
            parsed: JsonValue = json.loads(value) if value else None
        except ValueError:
            raise bad_request(f"can't parse {name} JSON object", rule="params") from None
        return parsed
    if name in _INTEGERS or name == "chat_id":
        return int(value) if value.removeprefix("-").isdecimal() and value.isascii() else value
    if name in _FLAGS:
        return {"true": True, "false": False, "1": True, "0": False}.get(value.lower(), value)
    return value


class Params:
    """One call's parameters by name. Every getter raises `ApiError` (rule "params") for a value of the wrong type."""

    def __init__(self, values: JsonObject, number: int, uploads: Mapping[str, Upload] | None = None) -> None:
        """`number` is the call's place in the journal; `uploads` are the files of its body, by their names there."""
        self.values = values
        self.number = number
        self.uploads = uploads or {}

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            raise _wrong_type(name, "String")
        return value

    def integer(self, name: str) -> int | None:
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise _wrong_type(name, "Number")
        return value

    def needed_integer(self, name: str, reason: str) -> int:
        value = self.integer(name)
        if value is None:
            raise bad_request(reason, rule="params")
        return value

    def flag(self, name: str) -> bool:
        value = self.values.get(name, False)
        if not isinstance(value, bool):
            raise _wrong_type(name, "Boolean")
        return value

    def array(self, name: str) -> list[JsonValue] | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, list):
            raise _wrong_type(name, "Array")
        return value

    def object(self, name: str) -> JsonObject | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, dict):
            raise _wrong_type(name, "Object")
        return value


def _wrong_type(name: str, kind: str) -> ApiError:
    return bad_request(f'field "{name}" must be of type {kind}', rule="params")
