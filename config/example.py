"""The example file as a source of texts: what each option is for, and what it looks like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

EXAMPLE: Final = Path(__file__).with_name("frontdesk.example.toml")
_HEADER: Final = re.compile(r"#?\[\[?([A-Za-z0-9_.-]+)\]\]?\Z")
_OPTION: Final = re.compile(r"#([a-z_]+) = (.+)\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """One option of the example: its comment, line by line with the "#", and its value as TOML."""

    why: tuple[str, ...]
    value: str


@dataclass(frozen=True, kw_only=True)
class Example:
    """Options by table and name, as in `("bots.telegram", "token")`."""

    options: Mapping[tuple[str, str], Shown] = field(repr=False)

    @classmethod
    def read(cls) -> Example:
        """The one that comes with the program."""
        options: dict[tuple[str, str], Shown] = {}
        table, why = "", list[str]()
        for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
            if header := _HEADER.match(line):
                table, why = header[1], []
            elif option := _OPTION.match(line):
                options.setdefault((table, option[1]), Shown(why=tuple(why), value=option[2]))
                why = []
            elif line.startswith("# "):
                why.append(line)
            else:
                why = []
        return cls(options=options)
