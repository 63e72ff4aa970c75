"""The signatures of Anthropic's thinking blocks.

A signature proves that the double wrote the block, word for word, and says after what. Newer models also refuse a block
whose prefix has changed: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking. What counts as the
prefix, from there: `system`, `tools` and the messages before, without `cache_control`; leaving out the oldest thinking
blocks is allowed, leaving out one between others is not. A signature holds on every server of this kind.
"""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass

from tests.fakes.models.payload import JsonObject, JsonValue, as_list, as_object, as_text

SECRET = b"the double's own"
BINDING_MODELS = (
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
)
THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, kw_only=True)
class Prefix:
    """What came before a thinking block, as digests. `thought` is the signature of the thinking block before it."""

    system: str
    tools: str
    messages: str
    thought: str


def prefix_of(body: JsonObject, turns: list[JsonObject]) -> Prefix:
    """`turns`: everything before the block, with the blocks before it in its own turn as the last assistant turn."""
    thoughts = [block for turn in turns for block in _blocks(turn) if block.get("type") in THINKING]
    system: JsonObject = {"content": body.get("system")}
    return Prefix(
        system=_digest(list(_blocks(system))),
        tools=_digest(body.get("tools") or []),
        messages=_digest(_merged(turns)),
        thought=as_text(thoughts[-1].get("signature")) if thoughts else "",
    )


def _merged(turns: list[JsonObject]) -> list[JsonValue]:
    """The turns without thinking, those of one role as one."""
    merged: list[tuple[JsonValue, list[JsonValue]]] = []
    for turn in turns:
        kept: list[JsonValue] = [block for block in _blocks(turn) if block.get("type") not in THINKING]
        if kept and merged and merged[-1][0] == turn.get("role"):
            merged[-1][1].extend(kept)
        elif kept:
            merged.append((turn.get("role"), kept))
    return [[role, blocks] for role, blocks in merged]


def seal(thinking: str, prefix: Prefix) -> str:
    """The signature of a new block."""
    facts = json.dumps([prefix.system, prefix.tools, prefix.messages, _short(prefix.thought)])
    return base64.b64encode(f"{facts}{_mark(thinking, facts)}".encode()).decode()


def is_ours(thinking: str, signature: str) -> bool:
    """Whether the double wrote this block, word for word."""
    opened = _opened(signature)
    return opened is not None and hmac.compare_digest(opened[1], _mark(thinking, opened[0]))


def difference(signature: str, prefix: Prefix) -> str | None:
    """What is no longer as it was, in a sentence ("" if there is none for it); None if nothing is."""
    opened = _opened(signature)
    system, tools, messages, thought = json.loads(opened[0]) if opened is not None else ("", "", "", "")
    if system != prefix.system:
        return " The `system` prompt differs from the one this block was created with."
    if tools != prefix.tools or messages != prefix.messages:
        return ""
    if prefix.thought and thought != _short(prefix.thought):
        return " The `thinking` block that preceded this one when it was created is missing from this request."
    return None


def binds(model: str) -> bool:
    return model.startswith(BINDING_MODELS)


def _opened(signature: str) -> tuple[str, str] | None:
    """The facts and the mark."""
    try:
        text = base64.b64decode(signature, validate=True).decode()
    except ValueError:
        return None
    facts, bracket, mark = text.rpartition("]")
    return (facts + bracket, mark) if bracket else None


def _mark(thinking: str, facts: str) -> str:
    return hmac.new(SECRET, f"{facts}{thinking}".encode(), hashlib.sha256).hexdigest()


def _digest(value: JsonValue) -> str:
    return hashlib.sha256(json.dumps(_plain(value), sort_keys=True).encode()).hexdigest()[:16]


def _short(signature: str) -> str:
    return hashlib.sha256(signature.encode()).hexdigest()[:16] if signature else ""


def _plain(value: JsonValue) -> JsonValue:
    """Without cache_control, which may move."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if name != "cache_control"}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _blocks(turn: JsonObject) -> list[JsonObject]:
    content = turn.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [as_object(block) for block in as_list(content)]
