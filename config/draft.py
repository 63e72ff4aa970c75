"""A config in the making: from what somebody chose to settings that can be tried, and to the text of a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from pydantic import ValidationError

from config.example import Example
from config.explain import explain
from config.extras import missing
from config.faults import ConfigFaults, Fault, option_name
from config.lines import KeyPath
from config.settings import Settings
from config.sources import Sources

HEAD: Final = """\
# Frontdesk's config, written by `frontdesk init`. Lines that begin with "#" and a name are options too: take the "#"
# away to set one. `frontdesk check` tries this file, `frontdesk check --probe` everything that it names as well.
# All options there are, each with its default: frontdesk.example.toml, in the folder config of Frontdesk's sources.
"""
Value = str | Sequence[str]


class Line(Struct, frozen=True, kw_only=True):
    """One option: its value, or None to leave it at its default, in sight."""

    name: str
    value: Value | None = None


class Table(Struct, frozen=True, kw_only=True):
    """One table of the file. `like`: the table of the example where its options are explained, if it has another
    name there; the first that knows an option serves."""

    name: str
    lines: Sequence[Line]
    like: Sequence[str] = ()


def settings_of(tables: Mapping[str, object]) -> Settings:
    """What these tables would be, with secrets as values. The environment is not looked at. Raises `ConfigFaults`."""
    try:
        settings = Settings.model_validate(tables, context=Sources())
    except ValidationError as error:
        found = [explain(one) for one in error.errors(include_url=False)]
        faults = [_fault(one.path, one.message, one.hint) for one in found]
    else:
        faults = [_fault(need.path, need.message, need.hint) for need in missing(tables, {})]
        if not faults:
            return settings
    raise ConfigFaults(faults)


def _fault(path: KeyPath, message: str, hint: str) -> Fault:
    return Fault(file="init", line=None, option=option_name(path), message=message, hint=hint)


def text_of(tables: Iterable[Table]) -> str:
    """The file, each option with its words from the example."""
    example = Example.read()
    return HEAD + "".join("\n" + "\n".join(_rows(table, example)) + "\n" for table in tables)


def _rows(table: Table, example: Example) -> Iterator[str]:
    yield f"[{table.name}]"
    for line in table.lines:
        places = ((like, line.name) for like in (*table.like, table.name))
        shown = next(example.options[place] for place in places if place in example.options)
        yield from shown.why
        yield f"#{line.name} = {shown.value}" if line.value is None else f"{line.name} = {_toml(line.value)}"


def _toml(value: Value) -> str:
    # What JSON escapes, TOML escapes the same way.
    text = json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")
