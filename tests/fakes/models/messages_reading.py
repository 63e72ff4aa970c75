"""The messages of POST /v1/messages: what Anthropic refuses, and what the model is shown.

Sources: https://docs.claude.com/en/api/messages, https://docs.claude.com/en/docs/agents-and-tools/tool-use, and the
words of the refusals from bug reports. The service merges turns of one role; a system message may stand in the middle
on the models of 2026.
"""

import re
from collections.abc import Mapping

from tests.fakes.models.anthropic_errors import bad, extra, required
from tests.fakes.models.dialect import Reading
from tests.fakes.models.messages_blocks import check_block
from tests.fakes.models.messages_parameters import check_parameters, read_tools
from tests.fakes.models.messages_turns import check_turns
from tests.fakes.models.payload import JsonObject, JsonValue, as_list, as_object, as_text, compact
from tests.fakes.models.record import Shown

OLDER = re.compile(r"claude-(2|3|instant)|claude-(opus|sonnet|haiku)-4(-[015]|-20\d\d|@|$)")
"""Models up to 4.5: an answer may be begun for them, and they know no system messages in the middle."""
FIELDS = frozenset({"role", "content"})
SYSTEM_FIELDS = FIELDS | {"output_config", "clear_at"}
EMPTY = "all messages must have non-empty content except for the optional final assistant message"


def read_messages(body: JsonObject, headers: Mapping[str, str]) -> Reading:
    """Raises `ApiError` for whatever the real service refuses."""
    check_parameters(body, headers)
    messages = body["messages"]
    if not isinstance(messages, list):
        raise bad("messages: Input should be a valid list")
    if not messages:
        raise bad("messages: at least one message is required")
    turns = [_turn(message, index, len(messages)) for index, message in enumerate(messages)]
    older = OLDER.match(as_text(body["model"])) is not None
    _check_roles(turns, older)
    dropped = check_turns(turns, body, headers)
    shown = [*_system(body.get("system")), *(one for turn in turns for one in _shown(turn))]
    return Reading(messages=tuple(shown), tools=read_tools(body), dropped=dropped)


def _turn(message: JsonValue, index: int, count: int) -> JsonObject:
    """The message with its content as a list of blocks, each of them checked."""
    at = f"messages.{index}"
    if not isinstance(message, dict):
        raise bad(f"{at}: Input should be a valid dictionary or object to extract fields from")
    for name in ("role", "content"):
        if message.get(name) is None:
            raise required(f"{at}.{name}")
    role = message["role"]
    if role not in ("user", "assistant", "system"):
        raise bad(f"{at}.role: Input should be 'user' or 'assistant'")
    if strange := sorted(message.keys() - (SYSTEM_FIELDS if role == "system" else FIELDS)):
        raise extra(f"{at}.{strange[0]}")
    content = message["content"]
    if not isinstance(content, str | list):
        raise bad(f"{at}.content: Input should be a valid list")
    if not content and not (role == "assistant" and index == count - 1) and "output_config" not in message:
        raise bad(f"{at}: {EMPTY}")
    blocks = _as_blocks(content)
    checked = [check_block(block, as_text(role), f"{at}.content.{place}") for place, block in enumerate(blocks)]
    return {"role": role, "content": list(checked)}


def _check_roles(turns: list[JsonObject], older: bool) -> None:
    roles = [turn["role"] for turn in turns]
    if "system" in roles and older:
        words = 'The Messages API accepts a top-level `system` parameter, not "system" as an input message role.'
        raise bad(f'messages: Unexpected role "system". {words}')
    if roles[0] != "user":
        raise bad('messages: first message must use the "user" role')
    if roles[-1] == "assistant":
        if not older:
            words = "This model does not support assistant message prefill."
            raise bad(f"{words} The conversation must end with a user message.")
        last = as_object(as_list(turns[-1]["content"])[-1]) if turns[-1]["content"] else {}
        if as_text(last.get("text")) != as_text(last.get("text")).rstrip():
            raise bad("messages: final assistant content cannot end with trailing whitespace")


def _as_blocks(content: JsonValue) -> list[JsonValue]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)


def _system(system: JsonValue) -> list[Shown]:
    """One entry for each block of the system parameter."""
    if system is None:
        return []
    blocks = _as_blocks(system)
    shown: list[Shown] = []
    for index, block in enumerate(blocks):
        text = as_text(as_object(block).get("text"))
        if as_object(block).get("type") != "text":
            raise bad(f"system.{index}.type: Input should be 'text'")
        if not text and isinstance(system, list):
            raise bad("system: text content blocks must be non-empty")
        shown += [Shown("system", text)] if text else []
    return shown


def _shown(turn: JsonObject) -> list[Shown]:
    """A turn as messages: one for each tool result and each text of a user; what is no text belongs to a text."""
    blocks = [as_object(block) for block in as_list(turn["content"])]
    if turn["role"] == "assistant":
        return [_spoken(blocks)]
    shown: list[Shown] = []
    pending: list[str] = []
    for block in blocks:
        if block["type"] == "tool_result":
            shown.append(Shown("tool", _result_text(block), call_id=as_text(block["tool_use_id"])))
        elif block["type"] == "text":
            shown.append(Shown(as_text(turn["role"]), "\n".join([*pending, as_text(block["text"])])))
            pending = []
        elif shown and shown[-1].role == "user":
            shown[-1] = Shown("user", f"{shown[-1].text}\n[{block['type']}]")
        else:
            pending.append(f"[{block['type']}]")
    return [*shown, Shown("user", "\n".join(pending))] if pending else shown


def _spoken(blocks: list[JsonObject]) -> Shown:
    texts = [as_text(block["text"]) for block in blocks if block["type"] == "text"]
    thoughts = [as_text(block["thinking"]) for block in blocks if block["type"] == "thinking"]
    calls = [block for block in blocks if block["type"] == "tool_use"]
    return Shown(
        "assistant",
        "\n".join(texts),
        tuple((as_text(call["name"]), compact(call["input"])) for call in calls),
        call_id="\n".join(as_text(call["id"]) for call in calls),
        thinking="\n".join(thoughts),
    )


def _result_text(block: JsonObject) -> str:
    content = block.get("content")
    if isinstance(content, str):
        return content
    parts = [as_object(part) for part in as_list(content)]
    return "\n".join(as_text(part["text"]) if part["type"] == "text" else f"[{part['type']}]" for part in parts)
