"""The input of POST /v1/responses: what items owe each other, and what the model is shown.

Sources: https://platform.openai.com/docs/api-reference/responses/create,
https://platform.openai.com/docs/guides/reasoning, and the words of the refusals from bug reports.
"""

from tests.fakes.models.dialect import Reading
from tests.fakes.models.openai_errors import bad
from tests.fakes.models.payload import JsonObject, JsonValue, as_list, as_object, as_text
from tests.fakes.models.record import Shown
from tests.fakes.models.responses_items import check_item, text_of
from tests.fakes.models.responses_parameters import check_parameters, read_tools
from tests.fakes.models.shelf import Shelf

SPOKEN = ("reasoning", "message", "function_call")


def read_responses(body: JsonObject, shelf: Shelf) -> Reading:
    """Raises `ApiError` for whatever the real service refuses."""
    check_parameters(body)
    items = [check_item(item, f"input[{index}]", shelf) for index, item in enumerate(input_items(body, shelf))]
    _check_unique(items)
    _check_calls(items)
    _check_reasoning(items, shelf)
    instructions = as_text(body.get("instructions"))
    shown = [*([Shown("system", instructions)] if instructions else []), *_shown(items)]
    return Reading(messages=tuple(shown), tools=read_tools(body))


def input_items(body: JsonObject, shelf: Shelf) -> list[JsonValue]:
    """The input as a list, after what went before it if it goes on from a stored response."""
    before: list[JsonValue] = []
    previous = body.get("previous_response_id")
    if previous is not None:
        if as_text(previous) not in shelf.responses:
            words = f"Previous response with id '{previous}' not found."
            raise bad(words, "previous_response_id", "previous_response_not_found")
        before = shelf.responses[as_text(previous)]
    given = body.get("input")
    said: list[JsonValue] = [{"role": "user", "content": given}] if isinstance(given, str) else as_list(given)
    return [*before, *said]


def _check_unique(items: list[JsonObject]) -> None:
    seen: set[str] = set()
    for item in items:
        known = as_text(item.get("id"))
        if known and known in seen:
            raise bad(
                f"Duplicate item found with id {known}. Remove duplicate items from your input and try again.", "input"
            )
        seen.add(known)


def _check_calls(items: list[JsonObject]) -> None:
    """Every call has an output after it, and every output a call before it."""
    waiting: list[str] = []
    answered: set[str] = set()
    for item in items:
        call_id = as_text(item.get("call_id"))
        if item["type"] == "function_call":
            if call_id in waiting or call_id in answered:
                raise bad(f"Duplicate function call with call_id {call_id}.", "input")
            waiting.append(call_id)
        elif item["type"] == "function_call_output":
            if call_id not in waiting:
                raise bad(f"No tool call found for function call output with call_id {call_id}.", "input")
            waiting.remove(call_id)
            answered.add(call_id)
    if waiting:
        raise bad(f"No tool output found for function call {waiting[0]}.", "input")


def _check_reasoning(items: list[JsonObject], shelf: Shelf) -> None:
    """Reasoning comes with what it led to, and what was stored with its reasoning comes with it."""
    there = {as_text(item.get("id")) for item in items}
    for item, following in zip(items, [*items[1:], None], strict=True):
        known, kind = as_text(item.get("id")), item["type"]
        if kind == "reasoning" and not _follows(following, shelf.follower_of.get(known)):
            raise bad(f"Item '{known}' of type 'reasoning' was provided without its required following item.", "input")
        reasoning = shelf.reasoning_of.get(known)
        if reasoning is not None and reasoning not in there:
            words = (
                f"Item '{known}' of type '{kind}' was provided without its required 'reasoning' item: '{reasoning}'."
            )
            raise bad(words, "input")


def _follows(item: JsonObject | None, wanted: str | None) -> bool:
    if item is None or item["type"] not in SPOKEN or item.get("role", "assistant") != "assistant":
        return False
    return wanted is None or as_text(item.get("id")) == wanted


def _shown(items: list[JsonObject]) -> list[Shown]:
    """As messages: what the model said in a row is one."""
    shown: list[Shown] = []
    row: list[JsonObject] = []
    for item in items:
        if item["type"] in SPOKEN and item.get("role", "assistant") == "assistant":
            row.append(item)
            continue
        shown += [_spoken(row)] if row else []
        row = []
        if item["type"] == "function_call_output":
            shown.append(Shown("tool", text_of(item, "output"), call_id=as_text(item["call_id"])))
        else:
            role = as_text(item["role"])
            shown.append(Shown("system" if role == "developer" else role, text_of(item, "content")))
    return [*shown, _spoken(row)] if row else shown


def _spoken(row: list[JsonObject]) -> Shown:
    calls = [item for item in row if item["type"] == "function_call"]
    thoughts = [as_object(part) for item in row if item["type"] == "reasoning" for part in as_list(item["summary"])]
    return Shown(
        "assistant",
        "\n".join(text_of(item, "content") for item in row if item["type"] == "message"),
        tuple((as_text(call["name"]), as_text(call["arguments"])) for call in calls),
        call_id="\n".join(as_text(call["call_id"]) for call in calls),
        thinking="\n".join(as_text(part.get("text")) for part in thoughts),
    )
