"""What pydantic found wrong, in words that show the right form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from difflib import get_close_matches
from typing import Final, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from config.agents import AGENT_BACKENDS
from config.bots import PLATFORMS, BotPart
from config.faults import option_name
from config.lines import KeyPath
from config.model_names import LIST_OR_TABLE
from config.providers import DEFAULT_MODELS
from config.settings import Settings
from config.sources import shown

_TAGGED: Final[Mapping[str, Mapping[str, type[BaseModel]]]] = {"bots": PLATFORMS, "agents": AGENT_BACKENDS}
_NO_TABLE: Final = frozenset({"model_type", "model_attributes_type", "mapping_type", "dict_type"})
_ABOUT_TABLES: Final = frozenset({"frontdesk", "extra_forbidden", "union_tag_not_found", "union_tag_invalid"})
_YES: Final = frozenset({"true", "yes", "on", "1", "enabled"})
_NO: Final = frozenset({"false", "no", "off", "0", "disabled"})
_TOML_BITS: Final = 64
"""Of an integer, at least (https://toml.io/en/v1.0.0#integer)."""
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?\Z")
_ITEM: Final = re.compile(r"[^\s,;\[\]\"']+")
_MISSING: Final = {
    "token": 'write token = "env:NAME", "file:PATH" or "credential:NAME"',
    "backend": 'write backend = "model", "offline" or "package.module:factory"',
    "model": f'write it as in model = "{DEFAULT_MODELS["OPENAI_API_KEY"]}"',
    "name": 'write it as in name = "files"',
}


@dataclass(frozen=True, kw_only=True)
class Explained:
    """One error of validation."""

    path: KeyPath
    is_table: bool
    message: str
    hint: str


def explain(error: ErrorDetails) -> Explained:
    """The option that an error is about, what is wrong and what to write. Holds no value that may be a secret."""
    path = _path(error["loc"])
    message, hint = _words(error, path)
    is_table = error["type"] in _NO_TABLE or (isinstance(error["input"], dict) and error["type"] in _ABOUT_TABLES)
    return Explained(path=path, is_table=is_table, message=message, hint=hint)


def _path(loc: KeyPath) -> KeyPath:
    # pydantic names the member of a union that it tried, and marks faults of a key itself.
    tagged = len(loc) > 2 and loc[0] in _TAGGED and loc[2] in _TAGGED[str(loc[0])]
    path = (*loc[:2], *loc[3:]) if tagged else loc
    path = tuple(part for part in path if part not in LIST_OR_TABLE)
    return path[:-1] if path and path[-1] == "[key]" else path


def _words(error: ErrorDetails, path: KeyPath) -> tuple[str, str]:
    context, given = error.get("ctx", {}), error["input"]
    if isinstance(given, int) and given.bit_length() > _TOML_BITS:
        given = None  # Python refuses to write it out
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    match error["type"]:
        case "frontdesk":
            return str(context["message"]), str(context["hint"])
        case "extra_forbidden":
            return "unknown option", _nearest(key, _options_around(error["loc"]))
        case "missing":
            return "is missing", _MISSING.get(key, f"write {key} = ...")
        case "union_tag_not_found":
            return "platform is missing", f"write {_choice('platform', PLATFORMS)}"
        case "union_tag_invalid":
            tag = str(context["tag"])
            return f"{shown(tag)} is no platform", _nearest(tag, PLATFORMS)
        case "literal_error":
            return _literal_words(key, given, re.findall(r"'([^']*)'", str(context["expected"])))
        case _:
            return _type_words(error, key, given)


def _type_words(error: ErrorDetails, key: str, given: object) -> tuple[str, str]:
    match error["type"]:
        case "bool_type":
            return "must be true or false", _boolean_hint(key, given)
        case "int_type" | "float_type":
            return _number_words(error["type"], key, given)
        case "string_type":
            return "must be text in quotes", _text_hint("" if isinstance(error["loc"][-1], int) else key, given)
        case "tuple_type":
            return "must be a list", _list_hint(_path(error["loc"]), given)
        case kind if kind in _NO_TABLE:
            name = option_name(_path(error["loc"]), is_table=True).partition(",")[0]
            return "must be a table", f"write {name} and its options below"
        case _:
            said = error["msg"].removeprefix("Value error, ")
            limits = said.removeprefix("Input should be ").removeprefix("String should ")
            return f"must be {limits}" if limits != said else said, ""


def _boolean_hint(key: str, given: object) -> str:
    word = str(given).strip().lower()
    quotes = ", without quotes" if isinstance(given, str) else ""
    if word in _YES:
        return f"write {key} = true{quotes}"
    if word in _NO:
        return f"write {key} = false{quotes}"
    return f"write {key} = true or {key} = false"


def _number_words(kind: str, key: str, given: object) -> tuple[str, str]:
    whole = kind == "int_type"
    if isinstance(given, str) and (number := _NUMBER.match(given.strip())) and not (whole and number[1]):
        return "must be a number", f"write {key} = {given.strip().removeprefix('+')}, without quotes"
    if isinstance(given, float) and whole:
        return "must be a whole number", ""
    return f"must be a {'whole ' if whole else ''}number", f"write {key} = NUMBER"


def _text_hint(key: str, given: object) -> str:
    scalar = isinstance(given, int | float | datetime | date | time) and not isinstance(given, bool)
    text = shown(str(given)) if scalar else '"..."'
    return f"write {key} = {text}" if key else f"write {text}"


def _list_hint(path: KeyPath, given: object) -> str:
    key = str(path[-1])
    if key == "mcp":
        return f"write {option_name((*path, 0), is_table=True).partition(',')[0]}, in two brackets"
    items = _ITEM.findall(str(given)) if isinstance(given, str | int) and not isinstance(given, bool) else []
    if key == "groups":
        return f"write {key} = [{', '.join(item if _NUMBER.match(item) else 'ID' for item in items)}]"
    if path[0] == "access":
        items = [item if ":" in item else f"PLATFORM:{item}" for item in items]
    return f"write {key} = [{', '.join(map(shown, items))}]"


def _literal_words(key: str, given: object, expected: Sequence[str]) -> tuple[str, str]:
    message = f"must be {' or '.join(f'{chr(34)}{word}{chr(34)}' for word in expected)}"
    if given is False and (off := [word for word in expected if word in {"off", "none"}]):
        return message, f'write {key} = "{off[0]}"'
    near = get_close_matches(given.lower(), expected, n=1) if isinstance(given, str) else []
    return message, f'did you mean "{near[0]}"?' if near else ""


def _choice(key: str, words: Iterable[str]) -> str:
    return " or ".join(f'{key} = "{word}"' for word in words)


def _nearest(word: str, known: Iterable[str]) -> str:
    known = list(known)
    near = get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    return f'did you mean "{near[0]}"?' if near else f"known: {', '.join(known)}"


def _options_around(loc: KeyPath) -> Sequence[str]:
    model: type[BaseModel] = Settings
    rest = loc[:-1]
    if rest and rest[0] in _TAGGED:
        model, rest = _TAGGED[str(rest[0])][str(rest[2])], rest[3:]
    for part in rest:
        if isinstance(part, str):
            model = _table_type(model.model_fields[part].annotation)
    # A bot's `name` is NAME of [bots.NAME], not an option.
    return [name for name in model.model_fields if name != "name" or not issubclass(model, BotPart)]


def _table_type(annotation: object) -> type[BaseModel]:
    return next(
        kind for kind in (annotation, *get_args(annotation)) if isinstance(kind, type) and issubclass(kind, BaseModel)
    )
