"""A config file as it was read: its tables and where each key stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from config.faults import ConfigFaults, Fault
from config.lines import KeyPath, key_lines
from config.reading import content_of

_LIMIT_BYTES: Final = 4 * 1024 * 1024
_AT_LINE: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)\Z")
# The commonest slips, by the line that tomllib stumbles over, and what to write instead.
_SLIPS: Final = (
    (re.compile(r".*[\u2018\u2019\u201c\u201d\u00ab\u00bb]"), "use straight quotes"),
    (re.compile(r"""\s*[\w."'-]+\s*:(\s|\Z)"""), "write KEY = VALUE"),
    (re.compile(r"[^=]*=\s*(true|false|yes|no|on|off)\s*(#|\Z)", re.IGNORECASE), "write true or false"),
    (re.compile(r"[^=]*=\s*(none|null|nil|~)?\s*(#|\Z)", re.IGNORECASE), "leave the line out for the default"),
    (re.compile(r"[^=]*=\s*[^\s\"'\[{0-9+-]"), 'put text in quotes, as in name = "Frontdesk"'),
)


@dataclass(frozen=True, kw_only=True)
class Document:
    """The content of one config file; without a path, that of none."""

    path: Path | None = None
    tables: dict[str, object] = field(default_factory=dict, repr=False)
    lines: Mapping[KeyPath, int] = field(default_factory=dict, repr=False)
    blank: bool = False
    """There is a file, and nothing is in it, not even a remark."""

    @classmethod
    def read(cls, path: Path) -> Document:
        """Reads `path`. Raises `ConfigFaults` if it cannot be read or is no TOML; nothing is ever put in its place."""
        text = _text_of(path)
        try:
            tables: dict[str, object] = tomllib.loads(text)
            return cls(path=path, tables=tables, lines=key_lines(text), blank=not text.strip())
        except tomllib.TOMLDecodeError as error:
            fault = _syntax_fault(path, text, str(error))
        except RecursionError:
            fault = Fault(file=str(path), line=None, option="", message="is nested too deeply")
        except ValueError as error:  # a number of thousands of digits
            fault = Fault(file=str(path), line=None, option="", message=f"cannot be read as TOML: {error}")
        raise ConfigFaults([fault])

    @property
    def name(self) -> str:
        """What faults call it."""
        return str(self.path) if self.path else "environment"

    def line_of(self, path: KeyPath) -> int | None:
        """The line of the option, or of the nearest table around it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None


def _text_of(path: Path) -> str:
    line, hint = None, ""
    try:
        _, content = content_of(path, _LIMIT_BYTES)
        if len(content) <= _LIMIT_BYTES:
            # An editor's byte order mark is no part of the text.
            return content.decode("utf-8-sig").replace("\r\n", "\n")
        message = "is larger than 4 MiB"
    except OSError as error:
        message = f"cannot be read: {error.strerror or 'no such file'}"
        hint = "write the path of a TOML file that the account running frontdesk can read"
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        message, hint = "is not UTF-8", "save it as UTF-8"
    raise ConfigFaults([Fault(file=str(path), line=line, option="", message=message, hint=hint)])


def _syntax_fault(path: Path, text: str, message: str) -> Fault:
    rows = text.split("\n")
    place = _AT_LINE.search(message)
    number = int(place[1]) if place and place[1] else len(text.rstrip("\n").split("\n"))
    row = rows[number - 1] if number <= len(rows) else ""
    hint = next((hint for slip, hint in _SLIPS if slip.match(row)), "")
    said = message[: place.start()] if place else message
    return Fault(file=str(path), line=number, option="", message=f"is no TOML: {said}", hint=hint)
