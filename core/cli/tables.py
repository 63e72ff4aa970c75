"""What the verbs print: JSON for programs, tables for people."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from core.service.socket import Json

_GAP: Final = "  "
_FOLDS: Final = frozenset({"title", "text", "name", "sender", "detail", "identities"})
"""Columns of words, which may be broken to fit. Ids, keys and times are there to be copied."""
_NARROWEST: Final = 16
"""Columns of a terminal for words; with less, every row is told in lines of its own."""
_PADDING: Final = re.compile(r" +(\x1b\[0m)?$")
_FRACTION: Final = re.compile(r"\.\d+(?=Z$)")
_DIRECTIONS: Final = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_VISIBLE: Final = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), *_DIRECTIONS), "�")
"""Texts of strangers must not command the terminal, nor turn round what stands beside them."""

Row = Mapping[str, Json]


def print_json(value: Json) -> None:
    """For programs; fails early if nobody reads."""
    print(json.dumps(value, ensure_ascii=False, indent=2), flush=True)


def print_line(text: str, *, aside: bool = False) -> None:
    """One line for people. `aside`: on standard error, since it is not what was asked for."""
    print(_visible(text), file=sys.stderr if aside else sys.stdout, flush=True)


def print_rows(rows: Sequence[Row], columns: Mapping[str, str], *, empty: str) -> None:
    """A table with the columns key -> heading, or the word for nothing. Where nobody looks at a terminal, nothing is
    broken into lines."""
    if not rows:
        print_line(empty)
        return
    from core.text_width import text_width

    cells = [[_visible(_cell(row.get(key), key)) for key in columns] for row in rows]
    told = [list(columns.values()), *cells]
    widths = [max(text_width(line) for row in told for line in row[at].split("\n")) for at in range(len(columns))]
    if not sys.stdout.isatty():
        lines = (line for row in told for line in _lines(row, widths))
        print(*lines, sep="\n", flush=True)
    else:
        _print_fitting(cells, columns, widths)


def second(time: Json) -> str:
    """A time of an answer, to the second."""
    return _FRACTION.sub("", str(time))


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


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """A row of a table; a cell of several lines goes on below itself."""
    from core.text_width import padded

    for line in zip_longest(*(cell.split("\n") for cell in row), fillvalue=""):
        *cells, last = line
        filled = [padded(cell, width) for cell, width in zip(cells, widths, strict=False)]
        yield _GAP.join([*filled, last]).rstrip()


def _print_fitting(cells: Sequence[Sequence[str]], columns: Mapping[str, str], widths: Sequence[int]) -> None:
    """On a terminal: words are folded, and where not even that makes room, each row has lines of its own."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, emoji=False)
    needed = [min(width, _NARROWEST) if key in _FOLDS else width for key, width in zip(columns, widths, strict=True)]
    if sum(needed) + len(_GAP) * (len(needed) - 1) > console.width:
        for row in cells:
            _print_alone(row, columns)
        return
    table = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style="bold")
    for heading, (key, width) in zip(columns.values(), zip(columns, needed, strict=True), strict=True):
        table.add_column(heading, overflow="fold", min_width=width, no_wrap=key not in _FOLDS)
    for row in cells:
        table.add_row(*map(Text, row))
    with console.capture() as drawn:
        console.print(table)
    print(*(_PADDING.sub(r"\1", line) for line in drawn.get().splitlines()), sep="\n", flush=True)


def _print_alone(row: Sequence[str], columns: Mapping[str, str]) -> None:
    """What is empty is left out."""
    told = [(heading, cell) for heading, cell in zip(columns.values(), row, strict=True) if cell]
    lines = [f"{_GAP}{heading}: {cell}" if at else cell for at, (heading, cell) in enumerate(told)]
    print(*lines, sep="\n", flush=True)


def _cell(value: Json, key: str = "") -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return second(value) if key == "at" or key.endswith("_at") else value
        case Sequence():
            return ", ".join(map(_cell, value))
        case Mapping():
            return ", ".join(f"{key} {_cell(item)}" for key, item in value.items())
        case _:
            return str(value)


def _visible(text: str) -> str:
    return text.translate(_VISIBLE)
