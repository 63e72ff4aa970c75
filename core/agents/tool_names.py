"""What a model calls the tools of servers. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence

NAME_CHARS = 64
"""Of a tool's name, for OpenAI (https://platform.openai.com/docs/api-reference/chat/create) and Anthropic."""
DESK_TOOLS = frozenset({"current_time", "search_conversations", "send_files"})
"""The desk's own tools keep their names, also where an agent does not have them."""
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


def full_name(server: str, tool: str) -> str:
    """The server's name before the tool's own, as providers allow it."""
    name = _joined(server, tool)
    return name if len(name) <= NAME_CHARS else _marked(name, tool)


def _joined(server: str, tool: str) -> str:
    return _UNFIT.sub("_", f"{server}_{tool}")


def _marked(name: str, origin: str) -> str:
    return f"{name[: NAME_CHARS - 9]}_{hashlib.sha256(origin.encode()).hexdigest()[:8]}"


def distinct(server: str, tools: Sequence[str], taken: Collection[str]) -> dict[str, str]:
    """What each tool of a server is called, by its own name: its full name, with a mark of its own where that is taken,
    or is the name of another tool of the server that comes first in the alphabet."""
    used, named = set(taken), dict[str, str]()
    for tool in sorted(tools):
        name = full_name(server, tool)
        if name in used:
            name = _marked(_joined(server, tool), f"{server}\0{tool}")
        used.add(name)
        named[tool] = name
    return named


def renamed(server: str, named: Mapping[str, str]) -> dict[str, str]:
    """Those of `distinct` that are called otherwise than their full name."""
    return {tool: name for tool, name in named.items() if name != full_name(server, tool)}


def told(names: Mapping[str, str]) -> str:
    """What whoever runs the desk is told of such names; "" for none."""
    each = ", ".join(f"{tool} is called {name}" for tool, name in names.items())
    return f"{each}: another tool has the name" if each else ""
