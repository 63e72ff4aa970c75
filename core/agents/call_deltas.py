"""Calls of tools in a stream of chat completions, numbered as OpenAI numbers them.

Servers of one's own leave the number out (Ollama before 0.4.7, Gemini's endpoint), give every call the number 0 (Ollama
in 2026, https://github.com/ollama/ollama/issues/15457), or send the arguments as an object. pydantic-ai would make one
call of two, or none.
"""

from __future__ import annotations

import json

_Call = dict[str, object]


class CallNumbers:
    """Of one response."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        """Of each call so far, by its number; "" where none was given."""
        self._of_index: dict[int, int] = {}
        """Which call a number of the server's stands for."""

    def renumbered(self, event: bytes) -> bytes:
        """An event that holds calls, with its numbers set right; the same bytes where nothing was wrong."""
        head, mark, body = event.partition(b"data:")
        try:
            data = json.loads(body)
        except ValueError:
            return event
        match data:
            case {"choices": [{"delta": {"tool_calls": list() as calls}}]}:
                changed = [self._mend(call) for call in calls if isinstance(call, dict)]
            case _:
                changed = []
        return head + mark + b" " + json.dumps(data).encode() if any(changed) else event

    def _mend(self, call: _Call) -> bool:
        """Whether anything had to be changed."""
        number = self._number(call)
        changed = call.get("index") != number
        call["index"] = number
        function = call.get("function")
        if isinstance(function, dict) and isinstance(function.get("arguments"), dict | list):
            function["arguments"] = json.dumps(function["arguments"])
            changed = True
        return changed

    def _number(self, call: _Call) -> int:
        given, own = call.get("index"), str(call.get("id") or "")
        known = self._of_index.get(given) if isinstance(given, int) else None
        if not isinstance(given, int) and self._ids and not _begins(call, own, self._ids[-1]):
            known = len(self._ids) - 1
        if known is not None and not (own and self._ids[known] and own != self._ids[known]):
            self._ids[known] = self._ids[known] or own
            return known
        self._ids.append(own)
        if isinstance(given, int):
            self._of_index[given] = len(self._ids) - 1
        return len(self._ids) - 1


def _begins(call: _Call, own: str, last: str) -> bool:
    """Is this another call than the last one, as far as can be told without a number?"""
    function = call.get("function")
    return own != last if own else isinstance(function, dict) and bool(function.get("name"))
