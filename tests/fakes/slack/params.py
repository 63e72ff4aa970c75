"""The parameters of one API call: decoding of bodies, typed access.

Slack takes forms and query strings (structured values as JSON text), and JSON bodies where a method says so
(https://docs.slack.dev/apis/web-api/#basics). Unlike it, the double refuses values of the wrong type.
"""

import json
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from tests.fakes.slack.errors import ApiError, bad_arguments
from tests.fakes.slack.model import JsonObject, JsonValue

STRUCTURED = frozenset(
    {"attachments", "blocks", "chunks", "files", "loading_messages", "manifest", "metadata", "prompts", "view"}
)
FLAGS = {"true": True, "false": False, "1": True, "0": False}
TS = re.compile(r"\d{9,11}\.\d{6}")


def form_values(body: bytes) -> JsonObject:
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise ApiError("invalid_form_data", problem="invalid_form_data") from None
    return normalised(dict(pairs))


def json_values(body: bytes) -> JsonObject:
    try:
        values = json.loads(body)
    except ValueError:
        raise ApiError("invalid_json", problem="invalid_json") from None
    if not isinstance(values, dict):
        raise ApiError("json_not_object", problem="json_not_object")
    return normalised(values)


def normalised(raw: Mapping[str, JsonValue]) -> JsonObject:
    return {name: _normalised(name, value) for name, value in raw.items() if value is not None}


def _normalised(name: str, value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or name not in STRUCTURED:
        return value
    try:
        parsed: JsonValue = json.loads(value) if value else None
    except ValueError:
        return value
    return parsed


class Params:
    """One call's parameters by name. Every getter raises `ApiError` invalid_arguments for a value of the wrong type."""

    def __init__(self, values: JsonObject, number: int) -> None:
        """`number` is the call's place in the journal."""
        self.values = values
        self.number = number

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        if isinstance(value, bool | dict | list):
            raise bad_arguments(f"must be a string [json-pointer:/{name}]")
        return None if value is None else str(value)

    def needed(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise bad_arguments(f"missing required field: {name}")
        return value

    def ts(self, name: str, error: str) -> str | None:
        """A message's timestamp: seconds, a dot and six digits, as a string (a number would have lost digits)."""
        value = self.values.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str) or not TS.fullmatch(value):
            raise ApiError(error, problem="malformed_ts", detail=f"{name}={value!r}")
        return value

    def moment(self, name: str, error: str) -> float | None:
        """`oldest` and `latest`: Unix seconds with or without a fraction."""
        value = self.text(name)
        if value is None or value in {"", "now"}:
            return None
        try:
            return float(value)
        except ValueError:
            raise ApiError(error, problem=error, detail=f"{name}={value!r}") from None

    def integer(self, name: str) -> int | None:
        value = self.text(name)
        if value is None or value == "":
            return None
        if not value.removeprefix("-").isdecimal():
            raise bad_arguments(f"must be an integer [json-pointer:/{name}]")
        return int(value)

    def flag(self, name: str, *, default: bool = False) -> bool:
        value = self.values.get(name)
        if value is None or value == "":
            return default
        if isinstance(value, bool):
            return value
        found = FLAGS.get(str(value).lower())
        if found is None:
            raise bad_arguments(f"must be a boolean [json-pointer:/{name}]")
        return found

    def array(self, name: str, error: str = "invalid_arguments") -> list[JsonValue] | None:
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise ApiError(error, problem=error, detail=f"{name} is no array")
        return value

    def object(self, name: str, error: str = "invalid_arguments") -> JsonObject | None:
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise ApiError(error, problem=error, detail=f"{name} is no object")
        return value
