"""Names and texts from outside, made harmless before they reach a prompt, a log or a page."""

from __future__ import annotations

import unicodedata

FILE_NAME_BYTES, EXTENSION_CHARS = 200, 16
"""Of a file's name: file systems take 255 bytes."""
NAME_LIMIT = 64
"""Characters of a display name that are kept."""


def one_line(name: str) -> str:
    """A display name as one short line: no control or format characters (line ends, direction overrides, zero width),
    no square brackets that could pass for our own marks, never empty."""
    return plain_line(name.replace("[", "(").replace("]", ")"), NAME_LIMIT) or "somebody"


def plain_line(text: str, limit: int) -> str:
    """A text as one line of at most so many characters, without control and format characters; it may be empty."""
    begin = text[: limit * 8]
    if not (begin.isascii() and begin.isprintable()):
        spaced = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in begin)
        begin = "".join(c for c in spaced if unicodedata.category(c) not in ("Cf", "Cs", "Co", "Cn"))
    return " ".join(begin.split())[:limit].rstrip()


def file_name(name: str, limit: int = FILE_NAME_BYTES) -> str:
    """A file's name as one line of at most so many bytes in UTF-8; what is cut is the end of its stem, so that the
    extension stays. It may be empty."""
    line = plain_line(name, 8 * limit)
    stem, dot, ending = line.rpartition(".")
    suffix = dot + ending if stem and 0 < len(ending) <= EXTENSION_CHARS and " " not in ending else ""
    room = limit - len(suffix.encode())
    kept = line.removesuffix(suffix).encode()[:room].decode(errors="ignore")
    return f"{kept.rstrip()}{suffix}"


def storable(text: str) -> str:
    """Text that every database and encoding takes: lone surrogates and NUL become U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", "\ufffd")
