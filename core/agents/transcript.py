"""Entries become the messages that a model is shown, and a model's response the data that is stored with its entries.

A response comes back exactly as it was, with the provider's own details (signatures of thinking, ids). The text of an
entry is not stored twice: a response's only text is that of its entry, a result's is that of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter
from pydantic_ai.messages import (
    CompactionPart,
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from core.desk.history import CLOSED_BY_KILL, render
from core.store.entries import Entry, Json, Kind

SUMMARY = "Summary of the conversation before this point:"
"""What stands before a summary, so that the model does not take it for somebody's words."""

_RESPONSE = TypeAdapter(ModelResponse)
_RESULT = TypeAdapter(ToolReturnPart)
_OF_A_RUN = {"run_id", "conversation_id", "kind"}
_FOREIGN = (ThinkingPart, NativeToolCallPart, NativeToolReturnPart, CompactionPart, FilePart)
"""What only the provider that made it can read."""


def response_data(response: ModelResponse) -> Mapping[str, Json]:
    """A response as JSON, without its text where that is one piece."""
    dumped: dict[str, Json] = _RESPONSE.dump_python(response, mode="json", exclude=_OF_A_RUN, exclude_none=True)
    texts = [part for part in response.parts if isinstance(part, TextPart)]
    parts = dumped["parts"]
    if len(texts) == 1 and isinstance(parts, list):
        dumped["parts"] = [_without_content(part) if part["part_kind"] == "text" else part for part in parts]
    return dumped


def result_data(result: ToolReturnPart) -> Mapping[str, Json]:
    """A result as JSON, without its content where that is text."""
    dumped: dict[str, Json] = _RESULT.dump_python(result, mode="json", exclude_none=True)
    return _without_content(dumped) if isinstance(result.content, str) else dumped


def _without_content(part: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in part.items() if name != "content"}


@dataclass(slots=True)
class Rebuilt:
    """`dropped` counts parts that the model's provider can't read."""

    messages: list[ModelMessage] = field(default_factory=list)
    dropped: int = 0


def messages_of(entries: Sequence[Entry], systems: frozenset[str], waiting: frozenset[str] = frozenset()) -> Rebuilt:
    """What the model is shown of these entries. `systems`: the providers that will read it, by the names that
    responses carry. `waiting`: calls whose results are not due yet; any other call without one gets it here."""
    fold = _Fold(systems, waiting, entries)
    for entry in entries:
        fold.add(entry)
    fold.finish()
    return Rebuilt(fold.messages, fold.dropped)


class _Fold:
    def __init__(self, systems: frozenset[str], waiting: frozenset[str], entries: Sequence[Entry]) -> None:
        self.messages: list[ModelMessage] = []
        self.dropped = 0
        self._systems = systems
        self._waiting = waiting
        self._results = _results(entries)
        self._open: list[ToolCallPart] = []
        """Calls of the last response; their results come right behind it, wherever their entries are."""
        self._known: set[str] = set()
        """Calls of the last response by id: their own entries say nothing new."""

    def add(self, entry: Entry) -> None:
        match entry.kind:
            case Kind.USER:
                self._ask(UserPromptPart(render(entry), timestamp=entry.at))
            case Kind.COMPACTION:
                self._ask(UserPromptPart(f"{SUMMARY}\n\n{entry.text}", timestamp=entry.at))
            case Kind.ASSISTANT:
                self._respond(self._response(entry) or _spoken(entry))
            case Kind.TOOL_CALL:
                self._call(entry)
            case _:
                pass

    def _call(self, entry: Entry) -> None:
        response = self._response(entry)
        if response is not None:
            self._respond(response)
            return
        call = _call_of(entry)
        if call.tool_call_id in self._known:
            return
        last = self.messages[-1] if self.messages else None
        if isinstance(last, ModelResponse):
            self.messages[-1] = replace(last, parts=[*last.parts, call])
            self._open.append(call)
            self._known.add(call.tool_call_id)
        else:
            self._respond(ModelResponse(parts=[call], timestamp=entry.at))

    def _ask(self, part: UserPromptPart) -> None:
        self.finish()
        self.messages.append(ModelRequest(parts=[part]))

    def _respond(self, response: ModelResponse) -> None:
        self.finish()
        if not response.parts:
            return
        self.messages.append(response)
        self._open = [part for part in response.parts if isinstance(part, ToolCallPart)]
        self._known = {call.tool_call_id for call in self._open}

    def finish(self) -> None:
        """Give the last response's calls their results."""
        due = [call for call in self._open if call.tool_call_id not in self._waiting or self._has_result(call)]
        if due:
            self.messages.append(ModelRequest(parts=[self._result(call) for call in due]))
        self._open = []

    def _has_result(self, call: ToolCallPart) -> bool:
        return bool(self._results.get(call.tool_call_id))

    def _result(self, call: ToolCallPart) -> ToolReturnPart:
        stored = self._results.get(call.tool_call_id)
        if not stored:
            return ToolReturnPart(call.tool_name, CLOSED_BY_KILL, call.tool_call_id, outcome="failed")
        entry = stored.pop(0)
        part = entry.data.get("part")
        if isinstance(part, Mapping):
            return _RESULT.validate_python({"content": entry.text, **part})
        failed = entry.data.get("failed") is True
        return ToolReturnPart(
            call.tool_name, entry.text, call.tool_call_id, timestamp=entry.at, outcome="failed" if failed else "success"
        )  # fmt: skip

    def _response(self, entry: Entry) -> ModelResponse | None:
        data = entry.data.get("response")
        if not isinstance(data, Mapping):
            return None
        parts = data.get("parts")
        whole = [_with_text(part, entry.text) for part in parts] if isinstance(parts, Sequence) else []
        response = _RESPONSE.validate_python({**data, "parts": whole})
        known = response.provider_name is None or response.provider_name in self._systems
        return response if known else self._readable(response)

    def _readable(self, response: ModelResponse) -> ModelResponse:
        """Of another provider's response what any can read: text and calls."""
        kept = list(_plain(response.parts))
        self.dropped += len(response.parts) - len(kept)
        return replace(response, parts=kept, provider_details=None, provider_response_id=None)


def _plain(parts: Sequence[ModelResponsePart]) -> Iterator[ModelResponsePart]:
    for part in parts:
        match part:
            case TextPart(content=content):
                yield TextPart(content)
            case ToolCallPart():
                yield ToolCallPart(part.tool_name, part.args_as_json_str(), part.tool_call_id)
            case _:
                pass


def _results(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind is Kind.TOOL_RESULT:
            found.setdefault(str(entry.data.get("call")), []).append(entry)
    return found


def _call_of(entry: Entry) -> ToolCallPart:
    return ToolCallPart(entry.text, str(entry.data.get("arguments") or "{}"), str(entry.data.get("call")))


def _spoken(entry: Entry) -> ModelResponse:
    """An answer of which only the text is known: another kind of agent gave it, or it was cut."""
    return ModelResponse(parts=[TextPart(entry.text)] if entry.text.strip() else [], timestamp=entry.at)


def _with_text(part: Json, text: str) -> Json:
    if isinstance(part, Mapping) and part.get("part_kind") == "text" and "content" not in part:
        return {**part, "content": text}
    return part
