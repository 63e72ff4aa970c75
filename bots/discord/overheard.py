"""What discord.py writes to the log, in our words, and each once in a while: it repeats itself with every heartbeat and
every refused call, names addresses and shows stacks."""

from __future__ import annotations

import logging
from typing import Final

_LOGGERS: Final = ("discord.gateway", "discord.http")
_AGAIN_AFTER_S: Final = 600.0
_SEEN: Final = "stopped responding to the gateway"
"""The end of a connection is told by whoever keeps it."""
_WORDS: Final = (
    ("Can't keep up", "discord is heard late: its heartbeats come back slowly", ("shard", "late_s")),
    ("heartbeat blocked", "no heartbeat goes out to discord: the daemon or its network is held up", ("shard", "for_s")),
    ("in shard ID", "too much is said to discord's gateway", ("shard", "wait_s")),
    ("rate limited. %s %s", "discord asks to wait", ("method", "", "wait_s")),
    ("Global rate limit", "discord asks to wait with everything", ("wait_s",)),
)
"""A piece of the library's template, our words, and what its arguments are, "" for none of ours."""


class Overheard(logging.Filter):
    """On the loggers themselves, so that it goes before every handler. Called on any thread."""

    def __init__(self) -> None:
        super().__init__()
        self._told_s: dict[str, float] = {}
        """When our words were last said, by the clock of the records."""

    def filter(self, record: logging.LogRecord) -> bool:
        template = str(record.msg)
        if _SEEN in template:
            return False
        for piece, words, names in _WORDS:
            if piece in template:
                return self._is_due(words, record.created) and _say(record, words, names)
        return True

    def _is_due(self, words: str, now_s: float) -> bool:
        if 0 <= now_s - self._told_s.get(words, -_AGAIN_AFTER_S) < _AGAIN_AFTER_S:
            return False
        self._told_s[words] = now_s
        return True


_OVERHEARD: Final = Overheard()


def translate() -> None:
    """From now on; again is no harm."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_OVERHEARD)


def _say(record: logging.LogRecord, words: str, names: tuple[str, ...]) -> bool:
    told = record.args if isinstance(record.args, tuple) else ()
    record.msg, record.args, record.exc_info = words, (), None
    for name, value in zip(names, told, strict=False):
        if name:
            setattr(record, name, round(value, 1) if isinstance(value, float) else value)
    return True
