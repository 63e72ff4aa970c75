"""What libraries would say on their own: a banner on a terminal, and what a tool server wrote, as it wrote it."""

from __future__ import annotations

import logging

import pydantic_ai
import structlog

log = structlog.get_logger("frontdesk.tools")

QUOTE = ("mcp", "fastmcp", "client")
"""Loggers that quote what a server said (`client` is mcp's session)."""


class _Unquoted(logging.Handler):
    """Says that something was wrong, and where, without the words: a server may have written a secret, and what a
    library has cut out of the middle of one is not known for one any more."""

    def emit(self, record: logging.LogRecord) -> None:
        log.warning("tool_server_misspoke", library=record.name, at=f"{record.filename}:{record.lineno}")


def quieten() -> None:
    """Before the first agent is asked; once more does nothing more."""
    pydantic_ai.BANNER_ENABLED = False
    for name in QUOTE:
        logger = logging.getLogger(name)
        logger.handlers[:] = [_Unquoted(level=logging.WARNING)]
        logger.propagate = False
