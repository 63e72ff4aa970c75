"""The input items of POST /v1/responses, one at a time: https://platform.openai.com/docs/api-reference/responses/create.

Left out, and refused: computer, shell, patch, MCP and search items.
"""

from tests.fakes.models.chat_parameters import check_name
from tests.fakes.models.openai_errors import bad, empty_array, empty_string, missing, openai_error, unknown, wrong_type
from tests.fakes.models.payload import JsonObject, JsonValue, as_list, as_object, as_text
from tests.fakes.models.shelf import Shelf, is_ours

ROLES = ("assistant", "system", "developer", "user")
FIELDS = {
    "message": {"type", "role", "content", "id", "status", "phase"},
    "function_call": {"type", "id", "call_id", "name", "arguments", "status", "caller", "namespace"},
    "function_call_output": {"type", "id", "call_id", "output", "status", "caller", "name", "namespace"},
    "reasoning": {"type", "id", "summary", "content", "encrypted_content", "status"},
    "item_reference": {"type", "id"},
}
REQUIRED = {
    "message": ("role", "content"),
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("call_id", "output"),
    "reasoning": ("summary",),
    "item_reference": ("id",),
}
ID_HEADS = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
SAID = ("output_text", "refusal")
HEARD = ("input_text", "input_image", "input_file")


def check_item(item: JsonValue, at: str, shelf: Shelf) -> JsonObject:
    """The item, if it keeps the rules; a reference as what it refers to. Raises `ApiError`."""
    if not isinstance(item, dict):
        raise wrong_type(at, "an object", item)
    kind = as_text(item.get("type", "message" if "role" in item else "item_reference"))
    if kind not in FIELDS:
        listed = ", ".join(f"'{one}'" for one in FIELDS)
        raise bad(f"Invalid value: '{kind}'. Supported values are: {listed}.", at, "invalid_value")
    for name in REQUIRED[kind]:
        if item.get(name) is None:
            raise missing(f"{at}.{name}")
    if strange := sorted(item.keys() - FIELDS[kind]):
        raise unknown(f"{at}.{strange[0]}")
    _check_id(item.get("id"), kind, at)
    if kind == "item_reference":
        return _referred(as_text(item["id"]), shelf)
    if kind == "message":
        _check_content(item, at)
    elif kind == "function_call":
        _check_call(item, at)
    elif kind == "reasoning":
        _check_reasoning(item, shelf)
    return {**item, "type": kind}


def _check_id(value: JsonValue, kind: str, at: str) -> None:
    head = ID_HEADS.get(kind)
    if value is None or head is None:
        return
    if not isinstance(value, str):
        raise wrong_type(f"{at}.id", "a string", value)
    if not value:
        raise empty_string(f"{at}.id")
    if not value.startswith(head):
        words = f"Expected an ID that begins with '{head}'."
        raise bad(f"Invalid '{at}.id': '{value}'. {words}", f"{at}.id", "invalid_value")


def _referred(wanted: str, shelf: Shelf) -> JsonObject:
    if wanted not in shelf.items:
        words = (
            f"Item with id '{wanted}' not found. Items are not persisted when `store` is set to false. Try again with "
            "`store` set to true, or remove this item from your input."
        )
        raise openai_error(404, words, param="input")
    return shelf.items[wanted]


def _check_content(item: JsonObject, at: str) -> None:
    role = item["role"]
    if role not in ROLES:
        listed = "'assistant', 'system', 'developer', and 'user'"
        raise bad(f"Invalid value: '{role}'. Supported values are: {listed}.", f"{at}.role", "invalid_value")
    content = item["content"]
    if isinstance(content, str):
        if not content:
            raise empty_string(f"{at}.content")
        return
    if not isinstance(content, list):
        raise wrong_type(f"{at}.content", "one of an array of objects or string", content)
    if not content:
        raise empty_array(f"{at}.content")
    for index, part in enumerate(content):
        _check_part(as_object(part), SAID if role == "assistant" else HEARD, f"{at}.content[{index}]")


def _check_part(part: JsonObject, kinds: tuple[str, ...], at: str) -> None:
    kind = as_text(part.get("type"))
    if kind not in kinds:
        listed = " and ".join(f"'{one}'" for one in kinds)
        raise bad(f"Invalid value: '{kind}'. Supported values are: {listed}.", at, "invalid_value")
    if kind in ("input_text", "output_text") and not part.get("text"):
        raise missing(f"{at}.text") if part.get("text") is None else empty_string(f"{at}.text")


def _check_call(item: JsonObject, at: str) -> None:
    check_name(item["name"], f"{at}.name")
    for name in ("call_id", "arguments"):
        if not isinstance(item[name], str):
            raise wrong_type(f"{at}.{name}", "a string", item[name])
    if not item["call_id"]:
        raise empty_string(f"{at}.call_id")


def _check_reasoning(item: JsonObject, shelf: Shelf) -> None:
    sealed = item.get("encrypted_content")
    if sealed is None:
        _referred(as_text(item.get("id")), shelf)
    elif not is_ours(sealed):
        words = (
            f"The encrypted content for item {item.get('id')} could not be verified. "
            "Reason: Encrypted content could not be decrypted or parsed."
        )
        raise bad(words, code="invalid_encrypted_content")


def text_of(item: JsonObject, field: str) -> str:
    """The text of a message's content or a call's output; what is no text as [its type]."""
    content = item[field]
    if isinstance(content, str):
        return content
    parts = [as_object(part) for part in as_list(content)]
    texts = [as_text(part.get("text", part.get("refusal"))) or f"[{part.get('type')}]" for part in parts]
    return "\n".join(texts)
