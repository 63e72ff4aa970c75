"""Answers of POST /v1/messages: https://docs.claude.com/en/docs/build-with-claude/streaming."""

import json
import secrets
from collections.abc import Iterator, Sequence

from tests.fakes.models.composing import ARGUMENT_PIECES, Block, Composition, Text, Thought, ToolCall
from tests.fakes.models.dialect import ApiError, Finish
from tests.fakes.models.payload import JsonObject, JsonValue, as_list, as_object
from tests.fakes.models.record import Request
from tests.fakes.models.replies import Call, cut_text
from tests.fakes.models.seal import prefix_of, seal

STOPS = {"length": "max_tokens", "filter": "refusal"}
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


class MessagesWire:
    """Writes one message. A block stays open until one of another kind begins."""

    def __init__(self, request: Request) -> None:
        self._composition = Composition()
        self._request = request
        self._id = f"msg_{secrets.token_hex(12)}"
        self._open = False

    def begin(self) -> bytes:
        message = self._message([], None, {**self._input_usage(), "output_tokens": 1})
        return _event("message_start", {"message": message})

    def say(self, pieces: Sequence[str]) -> Iterator[bytes]:
        block, start = self._text_block()
        before, after = _around(self._index, "text_delta", "text")
        for piece in pieces:
            block.pieces.append(piece)
            yield start + before + json.dumps(piece).encode() + after
            start = b""

    def think(self, pieces: Sequence[str]) -> Iterator[bytes]:
        block, start = self._thought_block()
        before, after = _around(self._index, "thinking_delta", "thinking")
        for piece in pieces:
            block.pieces.append(piece)
            yield start + before + json.dumps(piece).encode() + after
            start = b""

    def call(self, call: Call) -> Iterator[bytes]:
        made = ToolCall(call.id or f"toolu_{secrets.token_hex(12)}", call.name, call.arguments_text)
        start = self._next(made, {"type": "tool_use", "id": made.id, "name": made.name, "input": {}})
        before, after = _around(self._index, "input_json_delta", "partial_json")
        for piece in ("", *cut_text(made.text, ARGUMENT_PIECES)):
            yield start + before + json.dumps(piece).encode() + after
            start = b""

    def end(self, finish: Finish) -> bytes:
        delta: JsonObject = {"stop_reason": self._stop(finish), "stop_sequence": None, **_details(finish)}
        usage: JsonObject = {**self._input_usage(), "output_tokens": self._composition.tokens}
        last = _event("message_delta", {"delta": delta, "usage": usage})
        return self._close() + last + _event("message_stop", {})

    def body(self, finish: Finish) -> JsonObject:
        usage: JsonObject = {**self._input_usage(), "output_tokens": self._composition.tokens}
        content = [self._block(index) for index in range(len(self._composition.blocks))]
        return {**self._message(content, self._stop(finish), usage), **_details(finish)}

    def error(self, error: ApiError) -> bytes:
        body = as_object(error.body if not isinstance(error.body, str) else None)
        return _event("error", {"error": body.get("error")})

    def ping(self) -> bytes:
        return PING

    def garbage(self) -> bytes:
        return b'event: content_block_delta\ndata: {"id": "half of a\n\n'

    @property
    def _index(self) -> int:
        return len(self._composition.blocks) - 1

    def _text_block(self) -> tuple[Text, bytes]:
        """The block to go on with, and the events that have to come first."""
        last = self._composition.blocks[-1] if self._composition.blocks else None
        if isinstance(last, Text):
            return last, b""
        block = Text()
        return block, self._next(block, {"type": "text", "text": ""})

    def _thought_block(self) -> tuple[Thought, bytes]:
        last = self._composition.blocks[-1] if self._composition.blocks else None
        if isinstance(last, Thought):
            return last, b""
        block = Thought()
        return block, self._next(block, {"type": "thinking", "thinking": "", "signature": ""})

    def _next(self, block: Block, content: JsonObject) -> bytes:
        """Ends the block that is open and begins this one. A ping comes after the first, as in the documents."""
        first = not self._composition.blocks
        ended = self._close()
        self._composition.blocks.append(block)
        self._open = True
        start = _event("content_block_start", {"index": self._index, "content_block": content})
        return ended + start + (PING if first else b"")

    def _close(self) -> bytes:
        if not self._open:
            return b""
        self._open = False
        block = self._composition.blocks[-1]
        signed = b""
        if isinstance(block, Thought):
            delta: JsonObject = {"type": "signature_delta", "signature": self._signature(self._index)}
            signed = _event("content_block_delta", {"index": self._index, "delta": delta})
        return signed + _event("content_block_stop", {"index": self._index})

    def _block(self, index: int) -> JsonObject:
        """The block as it stands in a message."""
        block = self._composition.blocks[index]
        match block:
            case Text():
                return {"type": "text", "text": block.text}
            case Thought():
                return {"type": "thinking", "thinking": block.text, "signature": self._signature(index)}
            case ToolCall():
                return {"type": "tool_use", "id": block.id, "name": block.name, "input": _input(block)}

    def _signature(self, index: int) -> str:
        """Binds the thought to what the request said and to the blocks before it in this answer."""
        before = [self._block(place) for place in range(index)]
        turns = [as_object(turn) for turn in as_list(self._request.body["messages"])]
        turns.append({"role": "assistant", "content": list(before)})
        return seal(self._composition.blocks[index].text, prefix_of(self._request.body, turns))

    def _message(self, content: list[JsonObject], stop: str | None, usage: JsonObject) -> JsonObject:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._request.model,
            "content": list(content),
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
            **self._transformations(),
        }

    def _transformations(self) -> JsonObject:
        """The thinking blocks that the request asked to be dropped."""
        dropped: list[JsonValue] = [
            {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
            for path in self._request.dropped
        ]
        return {"input_transformations": dropped} if dropped else {}

    def _stop(self, finish: Finish) -> str:
        return STOPS.get(finish, "tool_use" if self._composition.calls else "end_turn")

    def _input_usage(self) -> JsonObject:
        return {
            "input_tokens": self._request.tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "service_tier": "standard",
        }


def _input(call: ToolCall) -> JsonObject:
    """Arguments that are no JSON object come as none, as when the answer was cut at max_tokens."""
    try:
        value = json.loads(call.text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _details(finish: Finish) -> JsonObject:
    if finish != "filter":
        return {"stop_details": None}
    return {"stop_details": {"type": "refusal", "category": None, "explanation": None}}


def _around(index: int, kind: str, field: str) -> tuple[bytes, bytes]:
    """What comes before and after the text of a delta."""
    head = f'{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":'
    return b"event: content_block_delta\ndata: " + head.encode(), b"}}\n\n"


def _event(name: str, data: JsonObject) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
