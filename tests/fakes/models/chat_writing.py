"""Answers of POST /v1/chat/completions: https://platform.openai.com/docs/api-reference/chat-streaming."""

import json
import secrets
import time
from collections.abc import Iterator, Sequence

from tests.fakes.models.composing import ARGUMENT_PIECES, Composition, Text, Thought, ToolCall
from tests.fakes.models.dialect import ApiError, Finish
from tests.fakes.models.payload import JsonObject, JsonValue, as_object
from tests.fakes.models.record import Request
from tests.fakes.models.replies import Call, cut_text

FINISHES = {"length": "length", "filter": "content_filter"}


class ChatWire:
    """Writes one chat completion. Everything around a delta is encoded once."""

    def __init__(self, request: Request) -> None:
        self._composition = Composition()
        self._prompt_tokens = request.tokens
        self._with_usage = as_object(request.body.get("stream_options")).get("include_usage") is True
        self._head: JsonObject = {
            "id": f"chatcmpl-{secrets.token_hex(12)}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": request.model,
            "service_tier": "default",
            "system_fingerprint": "fp_double0001",
        }
        head = json.dumps(self._head)[:-1]
        usage = ',"usage":null' if self._with_usage else ""
        self._before = f'data: {head},"choices":[{{"index":0,"delta":'.encode()
        self._after = f',"logprobs":null,"finish_reason":null}}]{usage}}}\n\n'.encode()

    def begin(self) -> bytes:
        return self._delta({"role": "assistant", "content": "", "refusal": None})

    def say(self, pieces: Sequence[str]) -> Iterator[bytes]:
        block = self._composition.blocks[-1] if self._composition.blocks else None
        if not isinstance(block, Text):
            block = Text()
            self._composition.blocks.append(block)
        for piece in pieces:
            block.pieces.append(piece)
            yield b'%b{"content":%b}%b' % (self._before, json.dumps(piece).encode(), self._after)

    def think(self, pieces: Sequence[str]) -> Iterator[bytes]:
        block = Thought()
        self._composition.blocks.append(block)
        for piece in pieces:
            block.pieces.append(piece)
            yield b'%b{"reasoning_content":%b}%b' % (self._before, json.dumps(piece).encode(), self._after)

    def call(self, call: Call) -> Iterator[bytes]:
        index = len(self._composition.calls)
        made = ToolCall(call.id or f"call_{secrets.token_hex(12)}", call.name, call.arguments_text)
        self._composition.blocks.append(made)
        function: JsonObject = {"name": made.name, "arguments": ""}
        yield self._call_delta({"index": index, "id": made.id, "type": "function", "function": function})
        for piece in cut_text(made.text, ARGUMENT_PIECES):
            yield self._call_delta({"index": index, "function": {"arguments": piece}})

    def end(self, finish: Finish) -> bytes:
        choice: JsonObject = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": self._finish(finish)}
        last: JsonObject = self._head | {"choices": [choice]}
        if not self._with_usage:
            return _event(last) + b"data: [DONE]\n\n"
        usage: JsonObject = self._head | {"choices": [], "usage": self._usage()}
        return _event(last | {"usage": None}) + _event(usage) + b"data: [DONE]\n\n"

    def body(self, finish: Finish) -> JsonObject:
        composition = self._composition
        message: JsonObject = {
            "role": "assistant",
            "content": composition.text or (None if composition.calls else ""),
            "refusal": None,
            "annotations": [],
        }
        if composition.thought:
            message["reasoning_content"] = composition.thought
        if composition.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
                for call in composition.calls
            ]
        choice: JsonObject = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": self._finish(finish),
        }
        return self._head | {"object": "chat.completion", "choices": [choice], "usage": self._usage()}

    def error(self, error: ApiError) -> bytes:
        """The stream breaks off with the error's body as an event; there is no [DONE]."""
        return _event(error.body)

    def ping(self) -> bytes:
        return b": keep-alive\n\n"

    def garbage(self) -> bytes:
        return b'data: {"id": "half of a\n\n'

    def _delta(self, delta: JsonObject) -> bytes:
        return self._before + json.dumps(delta).encode() + self._after

    def _call_delta(self, call: JsonObject) -> bytes:
        return self._delta({"tool_calls": [call]})

    def _finish(self, finish: Finish) -> str:
        return FINISHES.get(finish, "tool_calls" if self._composition.calls else "stop")

    def _usage(self) -> JsonObject:
        completion = self._composition.tokens
        return {
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": completion,
            "total_tokens": self._prompt_tokens + completion,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": self._composition.thought_tokens,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }


def _event(data: JsonValue) -> bytes:
    return b"data: %b\n\n" % json.dumps(data).encode()
