"""Logs: constant texts, facts as fields, secrets masked wherever they turn up. Readable on a terminal, else JSON."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from typing import TextIO, cast

import structlog
from msgspec import Struct
from structlog.typing import EventDict, Processor, WrappedLogger

MASK = "[secret]"
_UNTOLD = ("exception", "level", "timestamp")
PRIORITIES: Mapping[str, int] = {"critical": 2, "error": 3, "warning": 4, "info": 6, "debug": 7}
"""Of syslog(3), by the names of levels here."""
TROUBLES = 20
"""The last errors that are kept for `status`."""
OURS = ("bots", "core", "config")
"""Every other logger is a library's and is heard from warnings on: some write addresses, tokens included, at INFO."""


SHORTEST = 4
"""Characters of a secret: what is shorter protects nothing, and masking it would make the log unreadable."""


class Mask:
    """Replaces every secret in every text of an event, tracebacks included."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Hide these too; what was a secret once stays one."""
        self._known.update(secret for secret in secrets if len(secret) >= SHORTEST)
        longest_first = sorted(self._known, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        return self._pattern.sub(MASK, text) if self._pattern is not None else text

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        return {key: value if key[:1] == "_" else self._clean(value) for key, value in event.items()}

    def _clean(self, value: object) -> object:
        match value:
            case None | bool() | int() | float():
                return value
            case list() | tuple() | set() | frozenset():
                return [self._clean(item) for item in value]
            case _:
                return self.text(str(value))


def _newline(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """A value stays on its line; a traceback is the one that may have several."""
    return {
        key: value.replace("\n", "\\n") if isinstance(value, str) and key != "exception" else value
        for key, value in event.items()
    }


class Troubles:
    """The last errors, for `status`: what was logged as one, and whatever a person was given a reference for."""

    def __init__(self) -> None:
        self.last: deque[Mapping[str, str]] = deque(maxlen=TROUBLES)

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        if event.get("level") in ("error", "critical") or "reference" in event:
            told = {key: str(value) for key, value in event.items() if key not in _UNTOLD and key[:1] != "_"}
            self.last.append({"at": str(event.get("timestamp", "")), **told})
        return event


class Logs(Struct, frozen=True, kw_only=True):
    """What `set_up` made: `mask` may learn more secrets."""

    mask: Mask
    troubles: Troubles


def set_up(
    secrets: Iterable[str], *, level: str = "INFO", stream: TextIO | None = None, journal: str | None = None
) -> Logs:
    """Configure structlog and the standard library's logging to one stream, stderr by default.

    `journal`: the device and inode of the stream that systemd's journal reads (JOURNAL_STREAM, systemd.exec(5)); if it
    is ours, each line begins with its priority (sd-daemon(3)), which the journal takes off.
    """
    made = Logs(mask=Mask(secrets), troubles=Troubles())
    out = stream if stream is not None else sys.stderr
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        made.mask,
        _newline,
        made.troubles,
    ]
    render: Processor = (
        structlog.dev.ConsoleRenderer(colors=True, pad_event_to=28)
        if out.isatty()
        else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    if _is(out, journal):
        render = _with_priority(render)
    structlog.configure(
        processors=[*shared, render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.WriteLoggerFactory(file=out),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(out)
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name.partition(".")[0] in OURS)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, made.mask, render],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    return made


def _is(stream: TextIO, named: str | None) -> bool:
    if named is None:
        return False
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):  # no file behind it
        return False
    return named == f"{found.st_dev}:{found.st_ino}"


def _with_priority(render: Processor) -> Processor:
    def prefixed(logger: WrappedLogger, method: str, event: EventDict) -> str:
        priority = PRIORITIES.get(str(event.get("level")), 6)
        return f"<{priority}>{cast('str', render(logger, method, event))}"

    return prefixed
