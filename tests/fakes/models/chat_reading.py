"""The messages of POST /v1/chat/completions: what OpenAI refuses, and what the model is shown.

Source: https://platform.openai.com/docs/api-reference/chat/create, and the words of the refusals from bug reports.
`reasoning_content` and `reasoning` are not OpenAI's; vLLM and DeepSeek send the one, Ollama the other, and take it back
in the assistant's messages.
"""

import re
from collections.abc import Sequence

from tests.fakes.models.chat_parameters import check_name, check_parameters, read_tools
from tests.fakes.models.dialect import ApiError, Reading
from tests.fakes.models.openai_errors import (
    bad,
    empty_array,
    empty_string,
    missing,
    no_match,
    too_long_string,
    unknown,
    wrong_type,
)
from tests.fakes.models.payload import JsonObject, JsonValue, as_list, as_object, as_text
from tests.fakes.models.record import Shown

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
FIELDS = {
    "system": {"content", "role", "name"},
    "developer": {"content", "role", "name"},
    "user": {"content", "role", "name"},
    "assistant": {
        "content",
        "role",
        "name",
        "audio",
        "function_call",
        "refusal",
        "tool_calls",
        "reasoning_content",
        "reasoning",
    },
    "tool": {"content", "role", "tool_call_id"},
    "function": {"content", "role", "name"},
}
TEXT_ONLY = {"text": "text"}
PARTS = {
    "user": {"text": "text", "image_url": "image_url", "input_audio": "input_audio", "file": "file"},
    "assistant": {"text": "text", "refusal": "refusal"},
}
PERSON_NAME = re.compile(r"[^\s<|\\/>]{1,64}")  # the service's own words for messages[].name
LONGEST_CALL_ID = 40  # the service's own words: "Expected a string with maximum length 40"


def read_chat(body: JsonObject) -> Reading:
    """Raises `ApiError` for whatever the real service refuses."""
    check_parameters(body)
    messages = body.get("messages")
    if messages is None:
        raise missing("messages")
    if not isinstance(messages, list):
        raise wrong_type("messages", "an array of objects", messages)
    if not messages:
        raise empty_array("messages")
    shown = tuple(_shown(message, f"messages[{index}]") for index, message in enumerate(messages))
    _check_tool_turns(shown)
    return Reading(messages=shown, tools=read_tools(body))


def _shown(message: JsonValue, at: str) -> Shown:
    if not isinstance(message, dict):
        raise wrong_type(at, "an object", message)
    role = message.get("role")
    if role is None:
        raise missing(f"{at}.role")
    if not isinstance(role, str) or role not in ROLES:
        supported = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'"
        raise bad(f"Invalid value: '{role}'. Supported values are: {supported}.", f"{at}.role", "invalid_value")
    if strange := sorted(message.keys() - FIELDS[role]):
        raise unknown(f"{at}.{strange[0]}")
    name = message.get("name")
    if name is not None and not PERSON_NAME.fullmatch(as_text(name)):
        raise no_match(f"{at}.name", "^[^\\s<|\\\\/>]+$")
    if role == "assistant":
        return _assistant(message, at)
    text = _content(message, role, at)
    call_id = _call_id(message.get("tool_call_id"), f"{at}.tool_call_id") if role == "tool" else ""
    return Shown("system" if role == "developer" else role, text, call_id=call_id)


def _assistant(message: JsonObject, at: str) -> Shown:
    calls, ids = [], []
    listed = message.get("tool_calls")
    if listed is not None and not isinstance(listed, list):
        raise wrong_type(f"{at}.tool_calls", "an array of objects", listed)
    if listed == []:
        raise empty_array(f"{at}.tool_calls")
    for index, call in enumerate(as_list(listed)):
        call_id, made = _call(call, f"{at}.tool_calls[{index}]")
        if call_id in ids:
            raise bad(f"Duplicate value for 'id' found in '{at}.tool_calls': '{call_id}'.", at, "invalid_value")
        ids.append(call_id)
        calls.append(made)
    content = message.get("content")
    if content is None and not calls and message.get("refusal") is None:
        raise _null_content(at)
    text = "" if content is None else _content(message, "assistant", at, may_be_empty=bool(calls))
    thinking = as_text(message.get("reasoning_content"))
    return Shown("assistant", text, tuple(calls), call_id="\n".join(ids), thinking=thinking)


def _call(call: JsonValue, at: str) -> tuple[str, tuple[str, str]]:
    """The call's id, and its name and arguments."""
    if not isinstance(call, dict):
        raise wrong_type(at, "an object", call)
    if strange := sorted(call.keys() - {"id", "type", "function"}):
        raise unknown(f"{at}.{strange[0]}")
    call_id = _call_id(call.get("id"), f"{at}.id")
    if call.get("type") != "function":
        raise missing(f"{at}.type")
    function = as_object(call.get("function"))
    check_name(function.get("name"), f"{at}.function.name")
    arguments = function.get("arguments")
    if arguments is None:
        raise missing(f"{at}.function.arguments")
    if not isinstance(arguments, str):
        raise wrong_type(f"{at}.function.arguments", "a string", arguments)
    return call_id, (as_text(function.get("name")), arguments)


def _call_id(call_id: JsonValue, at: str) -> str:
    if call_id is None:
        raise missing(at)
    if not isinstance(call_id, str):
        raise wrong_type(at, "a string", call_id)
    if not call_id:
        raise empty_string(at)
    if len(call_id) > LONGEST_CALL_ID:
        raise too_long_string(at, LONGEST_CALL_ID, len(call_id))
    return call_id


def _content(message: JsonObject, role: str, at: str, *, may_be_empty: bool = False) -> str:
    """The text; parts that are no text as [their type]. The double refuses every empty one but a tool's result."""
    content = message.get("content")
    if content is None:
        raise _null_content(at)
    if isinstance(content, str):
        if not content and role != "tool" and not may_be_empty:
            raise empty_string(f"{at}.content")
        return content
    if not isinstance(content, list):
        raise wrong_type(f"{at}.content", "one of a string or array of objects", content)
    if not content:
        raise empty_array(f"{at}.content")
    kinds = PARTS.get(role, TEXT_ONLY)
    return "\n".join(_part(part, kinds, f"{at}.content[{index}]") for index, part in enumerate(content))


def _part(part: JsonValue, kinds: dict[str, str], at: str) -> str:
    kind = as_text(as_object(part).get("type"))
    if kind not in kinds:
        supported = ", ".join(f"'{one}'" for one in kinds)
        raise bad(f"Invalid value: '{kind}'. Supported values are: {supported}.", f"{at}.type", "invalid_value")
    value = as_object(part).get(kinds[kind])
    if value is None:
        raise missing(f"{at}.{kinds[kind]}")
    if strange := sorted(as_object(part).keys() - {"type", kinds[kind], "prompt_cache_breakpoint"}):
        raise unknown(f"{at}.{strange[0]}")
    if kind != "text":
        return f"[{kind}]"
    if not value:
        raise empty_string(f"{at}.text")
    return as_text(value)


def _null_content(at: str) -> ApiError:
    return bad("Invalid value for 'content': expected a string, got null.", f"{at.replace('[', '.[')}.content")


def _check_tool_turns(messages: Sequence[Shown]) -> None:
    """Calls are answered at once, each exactly once, and nothing else is."""
    open_ids: list[str] = []
    known_ids: list[str] = []
    for index, message in enumerate(messages):
        at = f"messages.[{index}]"
        if message.role == "tool":
            _check_result(message.call_id, open_ids, known_ids, at)
            open_ids.remove(message.call_id)
            continue
        if open_ids:
            raise _unanswered(open_ids)
        open_ids = message.call_id.split("\n") if message.calls else []
        known_ids = list(open_ids)
    if open_ids:
        raise _unanswered(open_ids)


def _check_result(call_id: str, open_ids: list[str], known_ids: list[str], at: str) -> None:
    if not known_ids:
        words = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        raise bad(f"Invalid parameter: {words}", f"{at}.role")
    if call_id not in known_ids:
        words = f"'tool_call_id' of '{call_id}' not found in 'tool_calls' of previous message."
        raise bad(f"Invalid parameter: {words}", f"{at}.tool_call_id")
    if call_id not in open_ids:
        raise bad(f"Duplicate value for 'tool_call_id' of '{call_id}'.", f"{at}.tool_call_id", "invalid_value")


def _unanswered(ids: list[str]) -> ApiError:
    words = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(ids)}"
    )
    return bad(words, "messages")
