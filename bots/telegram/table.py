"""Tables as text of fixed width, since Telegram has none."""

import re
from collections.abc import Sequence

from core.text_width import padded, text_width

_COLUMN_CAP = 40
"""A column's padding goes up to this many places, so that one long cell can't fill a message with blanks."""

_CELL_EDGE = re.compile(r"(?<!\\)\|")


def surplus(line: str, columns: int) -> list[str]:
    """The cells of a row beyond the header's columns, which the parser leaves out."""
    cells = [cell.strip() for cell in _CELL_EDGE.split(line.lstrip(" \t>").rstrip())]
    if cells and not cells[0]:
        del cells[0]
    if cells and not cells[-1]:
        cells.pop()
    return cells[columns:]


def grid(rows: Sequence[Sequence[str]], aligns: Sequence[str]) -> str:
    """Rows under a header, columns aligned.

    `aligns` has one entry for each column of the header: what its style ends in, right, center or anything else.
    """
    widths = [min(_COLUMN_CAP, max(text_width(row[column]) for row in rows)) for column in range(len(aligns))]
    lines: list[str] = []
    for row in rows:
        surplus = len(row) - len(widths)
        layout = zip(row, [*widths, *[0] * surplus], [*aligns, *[""] * surplus], strict=True)
        lines.append(" | ".join(padded(cell, width, align.rpartition(":")[2]) for cell, width, align in layout))
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)
