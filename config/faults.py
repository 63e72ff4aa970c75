"""What is wrong with a config, for the person who can put it right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from config.lines import KeyPath

_BARE: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing to put right. As a warning it does not keep the desk from starting. Never holds a secret."""

    file: str
    """The config file, or "environment"."""
    line: int | None
    """From 1; None where no line is to blame."""
    option: str
    """As in `[bots.telegram] token`; empty where no option is to blame."""
    message: str
    hint: str = ""
    """What to do."""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return (
            f"{place}: {self.option + ': ' if self.option else ''}{self.message}{'; ' + self.hint if self.hint else ''}"
        )


class ConfigFaults(Exception):
    """The config cannot be used. Holds every fault found, in the order of their lines; its text has one per line."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(faults, key=lambda fault: (fault.line is None, fault.line or 0)))
        super().__init__("\n".join(map(str, self.faults)))


def option_name(path: KeyPath, *, is_table: bool = False) -> str:
    """How a person finds an option: `[desk] name`, `[access] allow, item 1`, `[[agents.default.mcp]] name`."""
    item = f", item {path[-1] + 1}" if path and isinstance(path[-1], int) else ""
    names = [index for index, part in enumerate(path) if isinstance(part, str)]
    last = [] if is_table else names[-1:]
    tables = names[: len(names) - len(last)]
    header = ".".join(_shown(str(path[index])) for index in tables)
    if header:
        is_array = isinstance(next(iter(path[tables[-1] + 1 :]), None), int)
        header = f"[[{header}]]" if is_array else f"[{header}]"
    option = "".join(_shown(str(path[index])) for index in last)
    return f"{header} {option}".strip() + item


def _shown(name: str) -> str:
    return name if _BARE.match(name) else json.dumps(name[:64])
