"""Streams of chat completions as servers of one's own send them. Each function returns the whole body.

Shapes: Ollama, as its users quote them (ollama/ollama issues 7881 and 15457); llama.cpp, ggml-org/llama.cpp issues
14566 and 14268, and what builds of 2025 did with errors; vLLM, its protocol (`reasoning_content`, errors of
`object: error`); LM Studio, its documents on tool use and reported streams.
"""

import json
from collections.abc import Iterable

from tests.fakes.models.payload import JsonObject, JsonValue

DONE = b"data: [DONE]\n\n"


def event(data: JsonValue) -> bytes:
    return b"data: %b\n\n" % json.dumps(data).encode()


def chunk(delta: JsonObject | None, finish: str | None = None, **more: JsonValue) -> JsonObject:
    choices: list[JsonValue] = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    head: JsonObject = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "local"}
    return head | {"choices": choices} | more


def call(name: str, arguments: JsonValue, **more: JsonValue) -> JsonObject:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def more(arguments: str, **ids: JsonValue) -> JsonObject:
    """The next piece of a call's arguments."""
    return {"function": {"arguments": arguments}, **ids}


def ollama(pieces: Iterable[str], *, thought: str = "") -> bytes:
    """Every delta has the role; what is thought is in `reasoning`; no usage chunk where nobody asked for it."""
    thinks = [event(chunk({"role": "assistant", "content": "", "reasoning": thought}))] if thought else []
    said = [event(chunk({"role": "assistant", "content": one}, system_fingerprint="fp_ollama")) for one in pieces]
    return b"".join([*thinks, *said, event(chunk({"role": "assistant", "content": ""}, "stop")), DONE])


def ollama_calls(*calls: JsonObject) -> bytes:
    """Each call in one piece."""
    made = [event(chunk({"role": "assistant", "content": "", "tool_calls": [one]})) for one in calls]
    return b"".join([*made, event(chunk({"role": "assistant", "content": ""}, "tool_calls")), DONE])


def llama_cpp(pieces: Iterable[str]) -> bytes:
    """Begins with no content at all, has timings, and the last line has no blank one behind it."""
    first = event(chunk({"role": "assistant", "content": None}))
    last = event(chunk({}, "stop", timings={"prompt_n": 1, "predicted_ms": 1.5}))
    return b"".join([first, *(event(chunk({"content": one})) for one in pieces), last, b"data: [DONE]\n"])


def llama_cpp_fails(words: str, *, builds_of_2025: bool) -> bytes:
    error = json.dumps({"code": 400, "message": words, "type": "invalid_request_error"}).encode()
    return (b"error: %b\n\n" % error if builds_of_2025 else b'data: {"error": %b}\n\n' % error) + DONE


def vllm(pieces: Iterable[str], *, thought: str = "") -> bytes:
    """What is thought is in `reasoning_content`, with content that is null; a last chunk without choices."""
    thinks = [event(chunk({"reasoning_content": thought, "content": None}))] if thought else []
    first = event(chunk({"role": "assistant", "content": ""}))
    last = event(chunk({"content": ""}, "stop", stop_reason=None))
    usage = event(chunk(None, usage={"prompt_tokens": 3, "total_tokens": 5, "completion_tokens": 2}))
    return b"".join([first, *thinks, *(event(chunk({"content": one})) for one in pieces), last, usage, DONE])


def vllm_fails(words: str) -> bytes:
    return event({"object": "error", "message": words, "type": "BadRequestError", "param": None, "code": 400}) + DONE


def lm_studio(pieces: Iterable[str]) -> bytes:
    """Comments, and events without data, between those that say something."""
    said = b": keep-alive\n\ndata:\n\n".join(event(chunk({"role": "assistant", "content": one})) for one in pieces)
    return said + event(chunk({}, "stop")) + DONE


def lm_studio_fails(words: str) -> bytes:
    return b"event: error\n" + event({"error": {"message": words}})
