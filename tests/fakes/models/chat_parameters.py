"""The parameters of POST /v1/chat/completions: https://platform.openai.com/docs/api-reference/chat/create."""

import re

from tests.fakes.models.openai_errors import (
    bad,
    empty_array,
    empty_string,
    missing,
    no_match,
    unknown,
    wrong_type,
)
from tests.fakes.models.payload import JsonObject, JsonValue, as_object, as_text

FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # the reference: function.name, "a maximum length of 64"
MOST_TOOLS = 128  # the reference: tools, "A max of 128 functions are supported"

NAMES = """
    messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
    metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
    prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier
    stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options
"""
PARAMETERS = frozenset(NAMES.split())
NEEDS_TOOLS = ("tool_choice", "parallel_tool_calls")
TOOL_CHOICES = ("none", "auto", "required")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
REASONERS = re.compile(r"o\d|gpt-5")
FIXED = re.compile(r"o\d|gpt-5(-|$)")  # https://platform.openai.com/docs/guides/latest-model: 5.1 and later take one
NUMBERS = {"temperature": (0.0, 2.0), "top_p": (0.0, 1.0), "frequency_penalty": (-2.0, 2.0)}


def check_parameters(body: JsonObject) -> None:
    """Everything but the messages. Raises `ApiError`."""
    if strange := sorted(body.keys() - PARAMETERS):
        plural = "s" if len(strange) > 1 else ""
        raise bad(f"Unrecognized request argument{plural} supplied: {', '.join(strange)}")
    if not as_text(body.get("model")):
        raise bad("you must provide a model parameter")
    for name in ("stream", "store", "parallel_tool_calls"):
        if not isinstance(body.get(name), bool | None):
            raise wrong_type(name, "a boolean", body[name])
    check_numbers(body, NUMBERS)
    _check_reasoner(body, as_text(body["model"]))
    check_stream_options(body, {"include_usage", "include_obfuscation"})
    check_limits(body, ("max_tokens", "max_completion_tokens"))
    effort = body.get("reasoning_effort")
    if effort is not None and effort not in EFFORTS:
        raise bad(f"Invalid value: '{effort}'. Supported values are: {_listed(EFFORTS)}.", "reasoning_effort")


def _check_reasoner(body: JsonObject, model: str) -> None:
    """Models that reason know no max_tokens, and the first of them no temperature."""
    if REASONERS.match(model) and body.get("max_tokens") is not None:
        words = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        raise bad(f"Unsupported parameter: {words}", "max_tokens", "unsupported_parameter")
    for name in ("temperature", "top_p"):
        value = body.get(name)
        if FIXED.match(model) and value not in (None, 1):
            words = f"'{name}' does not support {value} with this model. Only the default (1) value is supported."
            raise bad(f"Unsupported value: {words}", name, "unsupported_value")


def check_numbers(body: JsonObject, ranges: dict[str, tuple[float, float]]) -> None:
    for name, (low, high) in ranges.items():
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong_type(name, "a decimal", value)
        if not low <= value <= high:
            edge, code = ("maximum", "above_max") if value > high else ("minimum", "below_min")
            words = f"Expected a value {'<=' if value > high else '>='} {high if value > high else low:g}"
            raise bad(
                f"Invalid '{name}': decimal {'above' if value > high else 'below'} {edge} value. {words}, "
                f"but got {value} instead.",
                name,
                f"decimal_{code}_value",
            )


def check_limits(body: JsonObject, names: tuple[str, ...]) -> None:
    for name in names:
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong_type(name, "an integer", value)
        if value < 1:
            words = f"integer below minimum value. Expected a value >= 1, but got {value} instead."
            raise bad(f"Invalid '{name}': {words}", name, "integer_below_min_value")
    if len(names) > 1 and all(body.get(name) is not None for name in names):
        raise bad(f"Setting '{names[0]}' and '{names[1]}' at the same time is not supported.", names[0])


def check_stream_options(body: JsonObject, known: set[str]) -> None:
    options = body.get("stream_options")
    if options is None:
        return
    if body.get("stream") is not True:
        raise bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if strange := sorted(as_object(options).keys() - known):
        raise unknown(f"stream_options.{strange[0]}")


def read_tools(body: JsonObject) -> tuple[str, ...]:
    """The names of the functions that are offered."""
    tools = body.get("tools")
    if tools is None:
        for name in NEEDS_TOOLS:
            if body.get(name) is not None and body.get(name) != "none":
                raise bad(f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.", name)
        return ()
    if not isinstance(tools, list):
        raise wrong_type("tools", "an array of objects", tools)
    if not tools:
        raise empty_array("tools")
    if len(tools) > MOST_TOOLS:
        words = (
            f"Expected an array with maximum length {MOST_TOOLS}, but got an array with length {len(tools)} instead."
        )
        raise bad(f"Invalid 'tools': array too long. {words}", "tools", "array_above_max_length")
    names = tuple(_tool_name(tool, f"tools[{index}]") for index, tool in enumerate(tools))
    _check_choice(body.get("tool_choice"), names)
    return names


def _tool_name(tool: JsonValue, at: str) -> str:
    if as_object(tool).get("type") != "function":
        raise missing(f"{at}.type")
    if strange := sorted(as_object(tool).keys() - {"type", "function"}):
        raise unknown(f"{at}.{strange[0]}")
    function = as_object(as_object(tool).get("function"))
    return check_function(function, f"{at}.function", {"name", "description", "parameters", "strict"})


def check_function(function: JsonObject, at: str, known: set[str]) -> str:
    """The function's name, if it is described as it must be."""
    if strange := sorted(function.keys() - known):
        raise unknown(f"{at}.{strange[0]}")
    name = function.get("name")
    check_name(name, f"{at}.name")
    schema = function.get("parameters")
    if schema is not None and as_object(schema).get("type") != "object":
        got = as_object(schema).get("type")
        words = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{got}\"'."
        raise bad(f"Invalid schema for function '{name}': {words}", f"{at}.parameters", "invalid_function_parameters")
    return as_text(name)


def check_name(name: JsonValue, at: str) -> None:
    """A function's name, offered or called."""
    if name is None:
        raise missing(at)
    if not isinstance(name, str):
        raise wrong_type(at, "a string", name)
    if not name:
        raise empty_string(at)
    if not FUNCTION_NAME.fullmatch(name):
        raise no_match(at, "^[a-zA-Z0-9_-]{1,64}$")


def _check_choice(choice: JsonValue, names: tuple[str, ...]) -> None:
    if choice is None or choice in TOOL_CHOICES or as_object(choice).get("type") == "allowed_tools":
        return
    if isinstance(choice, str):
        raise bad(f"Invalid value: '{choice}'. Supported values are: {_listed(TOOL_CHOICES)}.", "tool_choice")
    name = as_object(as_object(choice).get("function")).get("name") or as_object(choice).get("name")
    if name not in names:
        raise bad(f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice")


def _listed(values: tuple[str, ...]) -> str:
    quoted = [f"'{value}'" for value in values]
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
