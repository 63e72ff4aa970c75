"""Answers of POST /v1/responses: https://platform.openai.com/docs/api-reference/responses-streaming."""

import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence

from tests.fakes.models.composing import ARGUMENT_PIECES, Block, Composition, Text, Thought, ToolCall
from tests.fakes.models.dialect import ApiError, Finish
from tests.fakes.models.payload import JsonObject, JsonValue, as_list, as_object
from tests.fakes.models.record import Request
from tests.fakes.models.replies import Call, cut_text
from tests.fakes.models.shelf import encrypt

REASONS = {"length": "max_output_tokens", "filter": "content_filter"}
HEADS = {Text: "msg", Thought: "rs", ToolCall: "fc"}
FAILURES = ("server_error", "rate_limit_exceeded")  # of the codes that an answer may fail with, those that we send
ECHOED: JsonObject = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
}
"""What an answer repeats of its request, with what stands there if the request says nothing."""


class ResponsesWire:
    """Writes one response. An item stays open until one of another kind begins."""

    def __init__(self, request: Request, store: Callable[[str, list[JsonObject]], None]) -> None:
        self._request = request
        self._store = store
        self._composition = Composition()
        self._ids: list[str] = []
        self._id = f"resp_{secrets.token_hex(24)}"
        self._created_at = int(time.time())
        self._sequence = 0
        self._open = False
        wanted = as_list(request.body.get("include"))
        self._with_encrypted = "reasoning.encrypted_content" in wanted

    def begin(self) -> bytes:
        response = self._response("in_progress", [])
        created = self._event("response.created", {"response": response})
        return created + self._event("response.in_progress", {"response": response})

    def say(self, pieces: Sequence[str]) -> Iterator[bytes]:
        block, start = self._text_block()
        name = "response.output_text.delta"
        where: JsonObject = {**self._where(), "content_index": 0, "logprobs": []}
        yield from self._deltas(name, where, block.pieces, pieces, start)

    def think(self, pieces: Sequence[str]) -> Iterator[bytes]:
        block, start = self._thought_block()
        name = "response.reasoning_summary_text.delta"
        yield from self._deltas(name, {**self._where(), "summary_index": 0}, block.pieces, pieces, start)

    def call(self, call: Call) -> Iterator[bytes]:
        made = ToolCall(call.id or f"call_{secrets.token_hex(12)}", call.name, call.arguments_text)
        start = self._next(made)
        name = "response.function_call_arguments.delta"
        yield from self._deltas(name, self._where(), [], cut_text(made.text, ARGUMENT_PIECES), start)

    def end(self, finish: Finish) -> bytes:
        closed = self._close()
        status = "incomplete" if finish in REASONS else "completed"
        return closed + self._event(f"response.{status}", {"response": self.body(finish)})

    def body(self, finish: Finish) -> JsonObject:
        items = [self._item(index) for index in range(len(self._composition.blocks))]
        if self._request.body.get("store") is not False:
            self._store(self._id, items)
        reason = REASONS.get(finish)
        response = self._response("incomplete" if reason else "completed", items)
        details: JsonValue = {"reason": reason} if reason else None
        return {**response, "incomplete_details": details, "usage": self._usage()}

    def error(self, error: ApiError) -> bytes:
        """An answer that fails, if it can fail for this reason; else an error event."""
        told = as_object(as_object(error.body if not isinstance(error.body, str) else None).get("error"))
        code = "server_error" if error.status >= 500 else told.get("code")
        if code not in FAILURES:
            return self._event("error", {"code": code, "message": told.get("message"), "param": told.get("param")})
        failed: JsonObject = {"error": {"code": code, "message": told.get("message")}}
        return self._event("response.failed", {"response": {**self._response("failed", []), **failed}})

    def ping(self) -> bytes:
        return b": keep-alive\n\n"

    def garbage(self) -> bytes:
        return b'event: response.output_text.delta\ndata: {"id": "half of a\n\n'

    @property
    def _index(self) -> int:
        return len(self._composition.blocks) - 1

    def _deltas(
        self, name: str, where: JsonObject, said: list[str], pieces: Sequence[str], start: bytes
    ) -> Iterator[bytes]:
        """Everything around a delta but its number is encoded once."""
        before = f'event: {name}\ndata: {{"type":"{name}",{json.dumps(where)[1:-1]},"sequence_number":'.encode()
        for piece in pieces:
            said.append(piece)
            yield b'%b%b%d,"delta":%b}\n\n' % (start, before, self._sequence, json.dumps(piece).encode())
            self._sequence += 1
            start = b""

    def _text_block(self) -> tuple[Text, bytes]:
        """The block to go on with, and the events that have to come first."""
        last = self._composition.blocks[-1] if self._composition.blocks else None
        if isinstance(last, Text):
            return last, b""
        block = Text()
        return block, self._next(block)

    def _thought_block(self) -> tuple[Thought, bytes]:
        last = self._composition.blocks[-1] if self._composition.blocks else None
        if isinstance(last, Thought):
            return last, b""
        block = Thought()
        return block, self._next(block)

    def _next(self, block: Block) -> bytes:
        """Ends the item that is open and begins this one."""
        ended = self._close()
        self._composition.blocks.append(block)
        self._ids.append(f"{HEADS[type(block)]}_{secrets.token_hex(24)}")
        self._open = True
        added: JsonObject = {"output_index": self._index, "item": self._item(self._index, status="in_progress")}
        start = ended + self._event("response.output_item.added", added)
        if isinstance(block, Text):
            part: JsonObject = {"part": _output_text(""), "content_index": 0}
            return start + self._event("response.content_part.added", {**self._where(), **part})
        if isinstance(block, Thought):
            part = {"part": {"type": "summary_text", "text": ""}, "summary_index": 0}
            return start + self._event("response.reasoning_summary_part.added", {**self._where(), **part})
        return start

    def _close(self) -> bytes:
        if not self._open:
            return b""
        self._open = False
        block, where = self._composition.blocks[-1], self._where()
        done = b"".join(self._event(name, {**where, **data}) for name, data in _endings(block))
        item: JsonObject = {"output_index": self._index, "item": self._item(self._index)}
        return done + self._event("response.output_item.done", item)

    def _where(self) -> JsonObject:
        return {"item_id": self._ids[-1], "output_index": self._index}

    def _item(self, index: int, status: str = "completed") -> JsonObject:
        """The output item, without its content as long as it is in progress."""
        block, done = self._composition.blocks[index], status == "completed"
        item: JsonObject = {"id": self._ids[index]}
        match block:
            case Text():
                content: list[JsonValue] = [_output_text(block.text)] if done else []
                return {**item, "type": "message", "status": status, "role": "assistant", "content": content}
            case Thought():
                summary: list[JsonValue] = [{"type": "summary_text", "text": block.text}] if done else []
                sealed = encrypt(block.text) if done and self._with_encrypted else None
                return {**item, "type": "reasoning", "summary": summary, "encrypted_content": sealed}
            case ToolCall():
                facts: JsonObject = {"call_id": block.id, "name": block.name, "arguments": block.text if done else ""}
                return {**item, "type": "function_call", "status": status, **facts}

    def _response(self, status: str, output: list[JsonObject]) -> JsonObject:
        body = self._request.body
        return {
            **{name: value if body.get(name) is None else body[name] for name, value in ECHOED.items()},
            "id": self._id,
            "object": "response",
            "created_at": self._created_at,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "model": self._request.model,
            "output": list(output),
            "usage": None,
            "user": None,
        }

    def _usage(self) -> JsonObject:
        tokens = self._composition.tokens
        return {
            "input_tokens": self._request.tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": tokens,
            "output_tokens_details": {"reasoning_tokens": self._composition.thought_tokens},
            "total_tokens": self._request.tokens + tokens,
        }

    def _event(self, name: str, data: JsonObject) -> bytes:
        numbered = {"type": name, "sequence_number": self._sequence, **data}
        self._sequence += 1
        return f"event: {name}\ndata: {json.dumps(numbered)}\n\n".encode()


def _output_text(text: str) -> JsonObject:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _endings(block: Block) -> list[tuple[str, JsonObject]]:
    """The events between the last delta and the end of the item."""
    match block:
        case Text():
            place: JsonObject = {"content_index": 0}
            return [
                ("response.output_text.done", {**place, "text": block.text, "logprobs": []}),
                ("response.content_part.done", {**place, "part": _output_text(block.text)}),
            ]
        case Thought():
            place = {"summary_index": 0}
            part: JsonObject = {"type": "summary_text", "text": block.text}
            return [
                ("response.reasoning_summary_text.done", {**place, "text": block.text}),
                ("response.reasoning_summary_part.done", {**place, "part": part}),
            ]
        case ToolCall():
            return [("response.function_call_arguments.done", {"name": block.name, "arguments": block.text})]
