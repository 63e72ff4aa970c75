"""How a tool server is, as people see it."""

from __future__ import annotations

from msgspec import Struct


class ToolServerStatus(Struct, frozen=True, kw_only=True):
    """`state` is starting, up or failed; `detail` says why it failed, or which
    tools are called otherwise than their server calls them. `tools`: how many it offers."""

    agent: str
    name: str
    state: str
    detail: str
    tools: int
