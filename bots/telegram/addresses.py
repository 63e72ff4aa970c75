"""Bare web addresses in Markdown are text as they stand: no underscore in one begins emphasis."""

from __future__ import annotations

import re

from markdown_it.rules_inline import StateInline

_SCHEME = re.compile(r"(?<![A-Za-z0-9])https?\Z", re.IGNORECASE)
_REST = re.compile(r"://[^\s<>\[\]()`|\"*]+(?:\([^\s<>()]*\)[^\s<>\[\]()`|\"*]*)*")
_TRAILING = "_~.,;:!?'"
"""Marks at an address's end that belong to what stands around it."""


def bare_address(state: StateInline, silent: bool) -> bool:
    """An inline rule: what follows `http` or `https` up to a space, a bracket or a mark is taken whole."""
    found = _REST.match(state.src, state.pos) if _SCHEME.search(state.pending) else None
    rest = found.group().rstrip(_TRAILING) if found is not None else ""
    if len(rest) <= len("://"):
        return False
    if not silent:
        state.pending += rest
    state.pos += len(rest)
    return True
