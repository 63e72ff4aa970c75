"""Names and texts from outside, made harmless before they reach a prompt, a log or a page."""

from __future__ import annotations

import unicodedata

NAME_LIMIT = 64
"""Characters of a display name that are kept."""


def one_line(name: str) -> str:
    """A display name as one short line: no control or format characters (line ends, direction overrides, zero width),
    no square brackets that could pass for our own marks, never empty."""
    spaced = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in name[: NAME_LIMIT * 8])
    kept = "".join(c for c in spaced if unicodedata.category(c) not in ("Cf", "Cs", "Co", "Cn"))
    line = " ".join(kept.replace("[", "(").replace("]", ")").split())
    return line[:NAME_LIMIT].rstrip() or "somebody"


def storable(text: str) -> str:
    """Text that every database and encoding takes: lone surrogates and NUL become U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", "\ufffd")
