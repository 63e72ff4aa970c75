"""Entries become the messages that a model is shown, and a model's response the data that is stored with its entries.

A response comes back exactly as it was, with the provider's own details (signatures of thinking, ids). The text of an
entry is not stored twice: a response's only text is that of its entry, a result's is that of its own.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog
from pydantic import TypeAdapter, ValidationError
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model

from core.people.names import storable
from core.store.entries import Entry, Json, Kind
from core.store.history import CLOSED_BY_KILL, render

log = structlog.get_logger("frontdesk.agents")

SUMMARY = "Summary of the conversation before this point:"
"""What stands before a summary, so that the model does not take it for somebody's words."""

_RESPONSE = TypeAdapter(ModelResponse)
_RESULT = TypeAdapter(ToolReturnPart)
_OF_A_RUN = {"run_id", "conversation_id", "kind"}
NO_OUTPUT = "(no output)"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
"""Names of tools, as every provider takes them. A model may make up others."""
_ANYWHERE = re.compile(r"[a-zA-Z0-9_-]{1,40}")
"""Ids of calls that every provider takes: Anthropic's characters, OpenAI's length."""
_ITEMS = ("rs_", "msg_", "fc_")
"""How ids of parts begin that OpenAI's responses API made."""
_RESPONSES = " responses"
_FOREIGN = (ThinkingPart, NativeToolCallPart, NativeToolReturnPart, CompactionPart, FilePart)
"""What only the provider that made it can read."""


def response_data(response: ModelResponse) -> Mapping[str, Json]:
    """A response as JSON, without its text where that is one piece."""
    dumped: dict[str, Json] = _RESPONSE.dump_python(response, mode="json", exclude=_OF_A_RUN, exclude_none=True)
    texts = [part for part in response.parts if isinstance(part, TextPart)]
    parts = dumped["parts"]
    if len(texts) == 1 and texts[0].content.strip() and isinstance(parts, list):  # blanks have no entry of theirs
        dumped["parts"] = [_without_content(part) if part["part_kind"] == "text" else part for part in parts]
    return {name: _storable(value) for name, value in dumped.items()}


def result_data(result: ToolReturnPart) -> Mapping[str, Json]:
    """A result as JSON, without its content where that is text."""
    dumped: dict[str, Json] = _RESULT.dump_python(result, mode="json", exclude_none=True)
    kept = _without_content(dumped) if isinstance(result.content, str) else dumped
    return {name: _storable(value) for name, value in kept.items()}


def _storable(value: Json) -> Json:
    match value:
        case str():
            return storable(value)
        case Mapping():
            return {storable(name): _storable(inner) for name, inner in value.items()}
        case Sequence():
            return [_storable(inner) for inner in value]
        case _:
            return value


def _without_content(part: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in part.items() if name != "content"}


@dataclass(slots=True)
class Rebuilt:
    """`dropped` counts parts that the model's provider can't read."""

    messages: list[ModelMessage] = field(default_factory=list)
    dropped: int = 0


def system_of(model: Model) -> str:
    """By what name the model knows responses that it can read in full. OpenAI's two ways to speak can't read each
    other's thoughts."""
    return model.system + _RESPONSES * any(kind.__name__ == "OpenAIResponsesModel" for kind in type(model).__mro__)


def readable(messages: Sequence[ModelMessage], system: str) -> list[ModelMessage]:
    """What this provider can read of messages that others may have had their part in."""
    read = [_plain(one) if isinstance(one, ModelResponse) and _made_by(one) != system else one for one in messages]
    return [message for message in read if message.parts or isinstance(message, ModelRequest)]


def _made_by(response: ModelResponse) -> str:
    ids = (part.id for part in response.parts if isinstance(part, TextPart | ThinkingPart | ToolCallPart))
    made = any(one is not None and one.startswith(_ITEMS) for one in ids)
    return (response.provider_name or "") + _RESPONSES * made


def messages_of(entries: Sequence[Entry], systems: frozenset[str], waiting: frozenset[str] = frozenset()) -> Rebuilt:
    """What the model is shown of these entries. `systems`: the providers that may read it, as `system_of` names
    them. `waiting`: calls whose results are not due yet; any other call without one gets it here."""
    fold = _Fold(systems, waiting, entries)
    for entry in entries:
        fold.add(entry)
    fold.finish()
    return Rebuilt(presentable(fold.messages), fold.dropped)


def presentable(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages without what some provider made or a tool gave and another refuses: texts and results of nothing but
    blanks, names that no tool can have, one thing said by people right after another. The same for a history that was
    stored as for the run that it came from."""
    shown: list[ModelMessage] = []
    for message in messages:
        one, last = _presentable(message), shown[-1] if shown else None
        if isinstance(one, ModelRequest) and isinstance(last, ModelRequest):
            instructions = one.instructions or last.instructions
            shown[-1] = replace(one, parts=_joined([*last.parts, *one.parts]), instructions=instructions)
        elif one is not None:
            shown.append(one)
    return shown


def _presentable(message: ModelMessage) -> ModelMessage | None:
    if isinstance(message, ModelRequest):
        given = [_given(one) if isinstance(one, ToolReturnPart) else one for one in message.parts]
        given = _joined(given)
        return message if given == message.parts else replace(message, parts=given)
    parts = [_named(one) if isinstance(one, ToolCallPart) else one for one in message.parts if not _is_blank(one)]
    if not parts:
        return None
    return message if parts == message.parts else replace(message, parts=parts)


def _joined(parts: Sequence[ModelRequestPart]) -> list[ModelRequestPart]:
    """What people said one right after the other, as one: templates of many models refuse two messages of a user in a
    row."""
    joined: list[ModelRequestPart] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, UserPromptPart) and isinstance(last, UserPromptPart):
            joined[-1] = replace(last, content=_both(last.content, part.content))
        else:
            joined.append(part)
    return joined


def _both(first: str | Sequence[UserContent], then: str | Sequence[UserContent]) -> str | list[UserContent]:
    if isinstance(first, str) and isinstance(then, str):
        return f"{first}\n\n{then}"
    return [*([first] if isinstance(first, str) else first), *([then] if isinstance(then, str) else then)]


def _is_blank(part: ModelResponsePart) -> bool:
    """A text with an id may be what a thought has to be followed by."""
    return isinstance(part, TextPart) and part.id is None and not part.content.strip()


def _named(call: ToolCallPart) -> ToolCallPart:
    return call if _NAME.fullmatch(call.tool_name) else replace(call, tool_name=_fit(call.tool_name))


def _given(result: ToolReturnPart) -> ToolReturnPart:
    if not _NAME.fullmatch(result.tool_name):
        result = replace(result, tool_name=_fit(result.tool_name))
    nothing = result.content is None or (isinstance(result.content, str) and not result.content.strip())
    return replace(result, content=NO_OUTPUT) if nothing else result


def _fit(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name)[:64] or "_"


class _Fold:
    def __init__(self, systems: frozenset[str], waiting: frozenset[str], entries: Sequence[Entry]) -> None:
        self.messages: list[ModelMessage] = []
        self.dropped = 0
        self._systems = systems
        self._waiting = waiting
        self._results = _results(entries)
        self._open: list[tuple[ToolCallPart, str]] = []
        """Calls of the last response, with the ids that their entries have; their results come right behind it,
        wherever their entries are."""
        self._known: Counter[str] = Counter()
        """Calls of the last response by id: as many entries say nothing new."""
        self._used: Counter[str] = Counter()
        """Ids of calls so far."""

    def add(self, entry: Entry) -> None:
        match entry.kind:
            case Kind.USER:
                self._ask(UserPromptPart(prompt(entry), timestamp=entry.at))
            case Kind.COMPACTION:
                self._ask(UserPromptPart(f"{SUMMARY}\n\n{entry.text}", timestamp=entry.at))
            case Kind.ASSISTANT:
                self._say(self._response(entry) or _spoken(entry))
            case Kind.TOOL_CALL:
                self._call(entry)
            case _:
                pass

    def _call(self, entry: Entry) -> None:
        response = self._response(entry)
        if response is not None:
            self._say(response)
        call = _call_of(entry)
        if self._known[call.tool_call_id]:
            self._known[call.tool_call_id] -= 1
            return
        last = self.messages[-1] if self.messages else None
        if isinstance(last, ModelResponse):
            self.messages[-1] = replace(last, parts=[*last.parts, self._opened(call, foreign=True)])
        else:
            self._respond(ModelResponse(parts=[call], timestamp=entry.at), foreign=True)
            self._known.clear()

    def _say(self, response: ModelResponse) -> None:
        known = _made_by(response) in self._systems
        self._respond(response if known else self._readable(response), foreign=not known)

    def _ask(self, part: UserPromptPart) -> None:
        self.finish()
        self.messages.append(ModelRequest(parts=[part]))

    def _respond(self, response: ModelResponse, *, foreign: bool) -> None:
        self.finish()
        self._known = Counter(call.tool_call_id for call in response.tool_calls)
        parts = [
            self._opened(part, foreign=foreign) if isinstance(part, ToolCallPart) else part for part in response.parts
        ]
        if parts:
            self.messages.append(replace(response, parts=parts))

    def _opened(self, call: ToolCallPart, *, foreign: bool) -> ToolCallPart:
        """The call as it is shown. An id that its response has twice is replaced, and, in another provider's history,
        one that was used before or that not every provider takes. One that somebody waits for stays."""
        known = call.tool_call_id
        times = self._used[known] = self._used[known] + 1
        unfit = foreign and (times > 1 or not _ANYWHERE.fullmatch(known))
        if known not in self._waiting and (unfit or any(known == other for _, other in self._open)):
            call = replace(call, tool_call_id=hashlib.sha256(f"{known} {times}".encode()).hexdigest()[:9])
        self._open.append((call, known))
        return call

    def finish(self) -> None:
        """Give the last response's calls their results."""
        due = [(call, known) for call, known in self._open if known not in self._waiting or self._results.get(known)]
        if due:
            self.messages.append(ModelRequest(parts=[self._result(call, known) for call, known in due]))
        self._open = []

    def _result(self, call: ToolCallPart, known: str) -> ToolReturnPart:
        stored = self._results.get(known)
        if not stored:
            return ToolReturnPart(call.tool_name, CLOSED_BY_KILL, call.tool_call_id, outcome="failed")
        entry = stored.pop(0)
        part = entry.data.get("part")
        if isinstance(part, Mapping):
            try:
                result = _RESULT.validate_python({"content": entry.text, **part})
            except ValidationError as fault:
                _say_unreadable(entry, fault)
            else:
                same = result.tool_call_id == call.tool_call_id
                return result if same else replace(result, tool_call_id=call.tool_call_id)
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
        try:
            return _RESPONSE.validate_python({**data, "parts": whole})
        except ValidationError as fault:
            self.dropped += 1
            _say_unreadable(entry, fault)
            return None

    def _readable(self, response: ModelResponse) -> ModelResponse:
        """Of another provider's response what any can read: text and calls."""
        self.dropped += sum(isinstance(part, _FOREIGN) for part in response.parts)
        return _plain(response)


def _plain(response: ModelResponse) -> ModelResponse:
    kept = list(_plain_parts(response.parts))
    return replace(response, parts=kept, provider_details=None, provider_response_id=None)


def _plain_parts(parts: Sequence[ModelResponsePart]) -> Iterator[ModelResponsePart]:
    for part in parts:
        match part:
            case TextPart(content=content) if content.strip():
                yield TextPart(content)
            case ToolCallPart():
                yield ToolCallPart(part.tool_name, part.args_as_json_str(), part.tool_call_id)
            case _:
                pass


def _say_unreadable(entry: Entry, fault: ValidationError) -> None:
    """Another version wrote it; its text and its calls are in the log all the same."""
    log.warning("entry_not_readable", session=entry.session, seq=entry.seq, faults=fault.error_count())


def prompt(entry: Entry) -> str | list[UserContent]:
    """What a person said, as a model is shown it: text, and pictures where there are any. Of a picture that is not kept
    any more, or that the model can't see, there is a word."""
    said, files = render(entry), entry.data.get("files")
    if not isinstance(files, Sequence) or isinstance(files, str):
        return said
    shown = [_picture(file) for file in files]
    pictures: list[UserContent] = [one for one in shown if isinstance(one, BinaryContent)]
    words = "\n".join([said, *(one for one in shown if isinstance(one, str))])
    return [words, *pictures] if pictures else words


def _picture(file: Json) -> BinaryContent | str | None:
    match file:
        case {"kind": "binary", "data": str(encoded), "media_type": str(media_type)}:
            return BinaryContent(base64.urlsafe_b64decode(encoded), media_type=media_type)
        case str():
            return file
        case _:
            return None


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
