"""The parameters of POST /v1/responses: https://platform.openai.com/docs/api-reference/responses/create."""

from tests.fakes.models.chat_parameters import FIXED, NEEDS_TOOLS, check_function, check_numbers, check_stream_options
from tests.fakes.models.openai_errors import bad, missing, unknown, wrong_type
from tests.fakes.models.payload import JsonObject, JsonValue, as_list, as_object, as_text

NAMES = """
    access_programs background background_options context_management conversation image include input instructions
    max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt
    prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream
    stream_options temperature text tool_choice tools top_logprobs top_p truncation user
"""
PARAMETERS = frozenset(NAMES.split())
REASONING = {"context", "effort", "generate_summary", "mode", "summary"}
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
INCLUDABLE = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)
FUNCTION = {"type", "name", "description", "parameters", "strict", "allowed_callers", "defer_loading", "output_schema"}
LEAST_OUTPUT = 16  # the service's own words: "Expected a value >= 16"
NOTHING_SAID = (
    "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' or 'conversation' must be provided."
)


def check_parameters(body: JsonObject) -> None:
    """Everything but the input and the tools. Raises `ApiError`."""
    if strange := sorted(body.keys() - PARAMETERS):
        raise unknown(strange[0])
    if not as_text(body.get("model")):
        raise missing("model")
    for name in ("stream", "store", "parallel_tool_calls", "background"):
        if not isinstance(body.get(name), bool | None):
            raise wrong_type(name, "a boolean", body[name])
    check_numbers(body, {"temperature": (0.0, 2.0), "top_p": (0.0, 1.0)})
    for name in ("temperature", "top_p"):
        if FIXED.match(as_text(body["model"])) and body.get(name) is not None:
            raise bad(f"Unsupported parameter: '{name}' is not supported with this model.", name)
    check_stream_options(body, {"include_obfuscation"})
    _check_limit(body.get("max_output_tokens"))
    _check_reasoning(as_object(body.get("reasoning")))
    for index, wanted in enumerate(as_list(body.get("include"))):
        if wanted not in INCLUDABLE:
            listed = ", ".join(f"'{one}'" for one in INCLUDABLE)
            raise bad(
                f"Invalid value: '{wanted}'. Supported values are: {listed}.", f"include[{index}]", "invalid_value"
            )
    if not body.get("input") and not any(body.get(name) for name in ("previous_response_id", "prompt", "conversation")):
        raise bad(NOTHING_SAID, "input", "missing_required_parameter")


def _check_limit(limit: JsonValue) -> None:
    if limit is None:
        return
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise wrong_type("max_output_tokens", "an integer", limit)
    if limit < LEAST_OUTPUT:
        words = f"integer below minimum value. Expected a value >= {LEAST_OUTPUT}, but got {limit} instead."
        raise bad(f"Invalid 'max_output_tokens': {words}", "max_output_tokens", "integer_below_min_value")


def _check_reasoning(reasoning: JsonObject) -> None:
    if strange := sorted(reasoning.keys() - REASONING):
        raise unknown(f"reasoning.{strange[0]}")
    effort = reasoning.get("effort")
    if effort is not None and effort not in EFFORTS:
        listed = ", ".join(f"'{one}'" for one in EFFORTS)
        words = f"Invalid value: '{effort}'. Supported values are: {listed}."
        raise bad(words, "reasoning.effort", "invalid_value")


def read_tools(body: JsonObject) -> tuple[str, ...]:
    """The names of the functions that are offered; OpenAI's own tools by their type."""
    tools = body.get("tools")
    if not tools:
        for name in NEEDS_TOOLS[:1]:
            if body.get(name) not in (None, "none", "auto"):
                raise bad(f"Tool choice '{body[name]}' must be specified with 'tools' parameter.", name)
        return ()
    if not isinstance(tools, list):
        raise wrong_type("tools", "an array of objects", tools)
    return tuple(_tool_name(as_object(tool), f"tools[{index}]") for index, tool in enumerate(tools))


def _tool_name(tool: JsonObject, at: str) -> str:
    kind = as_text(tool.get("type"))
    if not kind:
        raise missing(f"{at}.type")
    return check_function(tool, at, FUNCTION) if kind == "function" else kind
