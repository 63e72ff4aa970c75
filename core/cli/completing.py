"""What a shell offers for KEY and ID: asked of the desk that runs, and nothing where none does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import typer

from core.cli.options import Place

_PATIENCE_S = 1.0
"""Whoever waits for a completion has pressed a key."""


def session_keys(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Session keys that begin so."""
    yield from _found(context, "sessions.list", None, "key", incomplete)


def people_ids(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Ids of people that begin so."""
    yield from _found(context, "people.list", "people", "id", incomplete)


def _found(context: typer.Context, verb: str, key: str | None, column: str, incomplete: str) -> Iterator[str]:
    from core.cli.tables import rows_of
    from core.errors import FrontdeskError
    from core.service.socket import SOCKET_NAME, Json
    from core.service.socket_client import ask

    async def asked() -> Json:
        async with asyncio.timeout(_PATIENCE_S):
            return await ask(_place(context).state_directory() / SOCKET_NAME, verb, {})

    try:
        rows = rows_of(asyncio.run(asked()), key)
    except (FrontdeskError, OSError, ValueError, TimeoutError):  # a shell has no room for words
        rows = ()
    values = (row.get(column) for row in rows)
    yield from dict.fromkeys(one for one in values if isinstance(one, str) and one.startswith(incomplete))


def _place(context: typer.Context) -> Place:
    """Options as typed so far; no verb has seen them yet."""
    state = None
    at: typer.Context | None = context
    while at is not None and state is None:
        state = at.params.get("state")
        at = at.parent  # type: ignore[assignment]  # its parent is a context of ours too
    return Place(state=state)
