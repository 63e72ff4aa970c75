"""What the verbs print: JSON for programs, tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from core.service.socket import Json

if TYPE_CHECKING:
    from rich.table import Table

_PIPE_COLUMNS: Final = 200
_VISIBLE: Final = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "�")
"""Texts of strangers must not command the terminal."""

Row = Mapping[str, Json]


def print_json(value: Json) -> None:
    """For programs; fails early if nobody reads."""
    print(json.dumps(value, ensure_ascii=False, indent=2), flush=True)


def print_line(text: str) -> None:
    """One line for people."""
    print(_visible(text), flush=True)


def print_rows(rows: Sequence[Row], columns: Mapping[str, str], *, empty: str) -> None:
    """A table with the columns key -> heading, or the word for nothing."""
    if not rows:
        print_line(empty)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in columns.values():
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_visible(_cell(row.get(key)))) for key in columns))
    _print_table(table)


def print_counts(name: str, counts: Row) -> None:
    """One line: how many of what."""
    print_line(f"{name}: " + ", ".join(f"{key} {_cell(count)}" for key, count in counts.items()))


def counted(count: int, one: str, several: str = "") -> str:
    """One thing or several, with their number."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def rows_or_values(value: Json) -> Sequence[Json]:
    """A list in an answer, whatever is in it."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def rows_of(value: Json, key: str | None = None) -> Sequence[Row]:
    """The list of objects in an answer, or under one of its keys."""
    found = row_of(value).get(key) if key else value
    return [row_of(item) for item in found] if isinstance(found, Sequence) and not isinstance(found, str) else []


def texts_of(value: Json, key: str) -> Sequence[str]:
    """The list of texts under one of an answer's keys."""
    found = row_of(value).get(key)
    return [str(item) for item in found] if isinstance(found, Sequence) and not isinstance(found, str) else []


def row_of(value: Json, key: str | None = None) -> Row:
    """The object in an answer, or under one of its keys."""
    if key is not None:
        return row_of(row_of(value).get(key))
    return value if isinstance(value, Mapping) else {}


def _print_table(table: Table) -> None:
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PIPE_COLUMNS
    Console(width=width, highlight=False, emoji=False).print(table)
    sys.stdout.flush()


def _cell(value: Json) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case Sequence():
            return ", ".join(map(_cell, value))
        case Mapping():
            return ", ".join(f"{key} {_cell(item)}" for key, item in value.items())
        case _:
            return str(value)


def _visible(text: str) -> str:
    return text.translate(_VISIBLE)
