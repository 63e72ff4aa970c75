"""How wide text is in a font of fixed width."""

from __future__ import annotations

import wcwidth


def text_width(text: str) -> int:
    """Columns of one line, as terminals count them: two for wide characters and emoji, none for marks that join the
    character before them, and none for what can't be seen."""
    return len(text) if text.isascii() else wcwidth.width(text, control_codes="ignore")


def padded(text: str, width: int, align: str = "left") -> str:
    """One line, filled up to `width` columns; a longer one as it is. `align`: left, right or center."""
    room = max(0, width - text_width(text))
    left = room if align == "right" else room // 2 if align == "center" else 0
    return " " * left + text + " " * (room - left)
