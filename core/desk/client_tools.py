"""Tools that a client brought with a message, as its inbox row keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from core.people.names import storable
from core.store.inbox import Waiting
from core.vocabulary import ClientTool


def tools_text(tools: Sequence[ClientTool]) -> str:
    """As JSON; "" for none."""
    if not tools:
        return ""
    return storable(json.dumps([[tool.name, tool.description, tool.schema] for tool in tools], ensure_ascii=False))


def tools_of(rows: Iterable[Waiting]) -> tuple[ClientTool, ...]:
    """Of the latest of these rows that brought any."""
    latest = [row.tools for row in rows if row.tools]
    if not latest:
        return ()
    return tuple(
        ClientTool(name=name, description=words, schema=schema) for name, words, schema in json.loads(latest[-1])
    )
