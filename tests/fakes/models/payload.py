"""JSON as it comes in: its types, and looks at parts of it that may not be what they should be."""

import json
import math
from collections.abc import Iterator
from typing import TypeAlias

JsonValue: TypeAlias = dict[str, "JsonValue"] | list["JsonValue"] | str | int | float | bool | None
JsonObject: TypeAlias = dict[str, JsonValue]

CHARACTERS_PER_TOKEN = 4  # OpenAI's help centre: "one token is approximately 4 characters" of English


def as_object(value: JsonValue) -> JsonObject:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> list[JsonValue]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: JsonValue) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def type_name(value: JsonValue) -> str:
    """How OpenAI's messages name a JSON type, with its article."""
    names = {bool: "a boolean", int: "an integer", float: "a decimal", str: "a string", list: "an array"}
    return "null" if value is None else names.get(type(value), "an object")


def compact(value: JsonValue) -> str:
    """As JSON without blanks."""
    return json.dumps(value, separators=(",", ":"))


def count_tokens(value: JsonValue) -> int:
    """A crude count: the characters of every string in the value, over four, rounded up."""
    return math.ceil(sum(map(len, _strings(value))) / CHARACTERS_PER_TOKEN)


def _strings(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
