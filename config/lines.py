"""On which line of a TOML text each key stands; tomllib does not say.

The text must be one that tomllib accepts: this scanner trusts its syntax and only looks where things are.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from typing import Final

KeyPath = tuple[str | int, ...]
"""From the root: names of keys, and positions (from 0) in arrays."""

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE: Final = re.compile(r"[^,\]}#\n]*")
# Up to two quotes may stand directly before the three that close a multi-line string.
_STRING: Final = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)


def key_lines(text: str) -> Mapping[KeyPath, int]:
    """The line, from 1, of every key, table, array item and inline key in `text`, by its path.

    A table has the line of its header, or of the first key that implies it; an array of tables that of its first.
    """
    return _Scanner(text).document()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._lines: dict[KeyPath, int] = {}
        self._lengths: dict[KeyPath, int] = {}

    def document(self) -> Mapping[KeyPath, int]:
        table: KeyPath = ()
        self._skip(_BLANK)
        while self._position < len(self._text):
            if self._looking_at("["):
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK)
        return self._lines

    def _header(self) -> KeyPath:
        line = self._line()
        many = self._looking_at("[[")
        self._position += 2 if many else 1
        *parents, last = self._key()
        self._position += 2 if many else 1
        path: KeyPath = ()
        for part in parents:
            path = self._last_item((*path, part))
            self._lines.setdefault(path, line)
        path = (*path, last)
        if many:
            self._lines.setdefault(path, line)
            self._lengths[path] = self._lengths.get(path, 0) + 1
            path = self._last_item(path)
        self._lines[path] = line
        return path

    def _last_item(self, path: KeyPath) -> KeyPath:
        return (*path, self._lengths[path] - 1) if path in self._lengths else path

    def _pair(self, table: KeyPath) -> None:
        line = self._line()
        path = table
        for part in self._key():
            path = (*path, part)
            self._lines.setdefault(path, line)
        self._position += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _key(self) -> list[str]:
        parts = []
        while True:
            self._skip(_SPACE)
            parts.append(self._key_part())
            self._skip(_SPACE)
            if not self._looking_at("."):
                return parts
            self._position += 1

    def _key_part(self) -> str:
        if not self._looking_at('"', "'"):
            return self._take(_BARE_KEY)
        # tomllib knows the escapes.
        return str(tomllib.loads(f"key = {self._take(_STRING)}")["key"])

    def _value(self, path: KeyPath) -> None:
        if self._looking_at('"', "'"):
            self._take(_STRING)
        elif self._looking_at("["):
            self._array(path)
        elif self._looking_at("{"):
            self._inline_table(path)
        else:
            self._take(_BARE_VALUE)

    def _array(self, path: KeyPath) -> None:
        index = 0
        self._open()
        while not self._looking_at("]"):
            self._lines[(*path, index)] = self._line()
            self._value((*path, index))
            self._separate()
            index += 1
        self._position += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._open()
        while not self._looking_at("}"):
            self._pair(path)
            self._separate()
        self._position += 1

    def _open(self) -> None:
        self._position += 1
        self._skip(_BLANK)

    def _separate(self) -> None:
        self._skip(_BLANK)
        if self._looking_at(","):
            self._open()

    def _line(self) -> int:
        return bisect_right(self._starts, self._position)

    def _looking_at(self, *tokens: str) -> bool:
        return self._text.startswith(tokens, self._position)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        self._take(pattern)

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._position)
        if match is None:
            raise ValueError(f"not TOML at line {self._line()}")
        self._position = match.end()
        return match[0]
