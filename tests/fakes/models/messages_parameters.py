"""The parameters of POST /v1/messages: https://docs.claude.com/en/api/messages."""

import re
from collections.abc import Mapping

from tests.fakes.models.anthropic_errors import bad, extra, no_match, required
from tests.fakes.models.payload import JsonObject, JsonValue, as_list, as_object, as_text

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # https://docs.claude.com/en/docs/agents-and-tools/tool-use: name
LEAST_BUDGET = 1024  # https://docs.claude.com/en/docs/build-with-claude/extended-thinking
MOST_BREAKPOINTS = 4  # https://docs.claude.com/en/docs/build-with-claude/prompt-caching
BINDING_BETA = "thinking-binding-controls-2026-08-01"

NAMES = """
    max_tokens messages model cache_control container diagnostics inference_geo metadata output_config service_tier
    speed stop_sequences system temperature thinking tool_choice tools top_k top_p user_profile_id workspace_id stream
"""
BETA_NAMES = "billing_policy compaction context_management fallback_credit_token fallbacks mcp_servers thread"
PARAMETERS = frozenset(NAMES.split())
BETA_PARAMETERS = frozenset(BETA_NAMES.split())
TOOL_FIELDS = frozenset(
    {"name", "description", "input_schema", "type", "cache_control", "strict", "defer_loading", "allowed_callers"}
    | {"input_examples", "eager_input_streaming"}
)
SAMPLING = ("temperature", "top_p", "top_k")
NO_SAMPLING_SINCE = "2026-10-21"  # https://platform.claude.com/docs/en/api/migration-2026-10-21
NEWEST = re.compile(r"claude-(opus-4-[78]|[a-z]+-[5-9])")
"""Models since 4.7: https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-7. They take no sampling
parameters and no thinking of type "enabled"."""
THINKING_TYPES = ("adaptive", "between_tools", "disabled", "enabled")


def check_parameters(body: JsonObject, headers: Mapping[str, str]) -> None:
    """Everything but the messages and the tools. Raises `ApiError`."""
    known = PARAMETERS | (BETA_PARAMETERS if headers.get("anthropic-beta") else frozenset())
    for name in ("model", "max_tokens", "messages"):
        if body.get(name) is None:
            raise required(name)
    if strange := sorted(body.keys() - known):
        raise extra(strange[0])
    if not as_text(body["model"]):
        raise bad("model: String should have at least 1 character")
    limit = body["max_tokens"]
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise bad("max_tokens: Input should be a valid integer")
    if limit < 1:
        raise bad("max_tokens: must be greater than or equal to 1")
    if not isinstance(body.get("stream"), bool | None):
        raise bad("stream: Input should be a valid boolean")
    _check_sampling(body, headers)
    _check_thinking(body, headers, limit)
    check_breakpoints(body)


def _check_sampling(body: JsonObject, headers: Mapping[str, str]) -> None:
    """Whoever speaks the version of October 2026 may not choose how to sample, nor may whoever asks a newer model."""
    sent = [name for name in SAMPLING if body.get(name) is not None]
    if not sent:
        return
    if headers.get("anthropic-version", "") >= NO_SAMPLING_SINCE:
        raise bad(f"`{sent[0]}` is not supported in API version {NO_SAMPLING_SINCE}.")  # the double's own words
    if NEWEST.match(as_text(body["model"])):
        raise bad(f"`{sent[0]}` is deprecated for this model.")
    if {"temperature", "top_p"} <= set(sent):
        raise bad("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
    value = body.get(sent[0])
    if sent[0] != "top_k" and not (isinstance(value, int | float) and 0 <= value <= 1):
        raise bad(f"{sent[0]}: range: 0..1")


def _check_thinking(body: JsonObject, headers: Mapping[str, str], limit: int) -> None:
    thinking = as_object(body.get("thinking"))
    if not thinking:
        return
    kind = as_text(thinking.get("type"))
    if kind not in THINKING_TYPES:
        listed = ", ".join(f"'{one}'" for one in THINKING_TYPES)
        raise bad(f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags: {listed}")
    if "block_binding" in thinking and BINDING_BETA not in headers.get("anthropic-beta", ""):
        raise extra(f"thinking.{kind}.block_binding")
    if kind not in ("enabled", "adaptive"):
        return
    if kind == "enabled" and NEWEST.match(as_text(body["model"])):
        words = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        raise bad(f'"thinking.type.enabled" is not supported for this model. {words}')
    if kind == "enabled":
        _check_budget(thinking.get("budget_tokens"), limit)
    if body.get("temperature") not in (None, 1):
        raise bad("`temperature` may only be set to 1 when thinking is enabled.")
    if as_object(body.get("tool_choice")).get("type") in ("any", "tool"):
        raise bad("Thinking may not be enabled when tool_choice forces tool use.")


def _check_budget(budget: JsonValue, limit: int) -> None:
    if not isinstance(budget, int):
        raise required("thinking.enabled.budget_tokens")
    if budget < LEAST_BUDGET:
        raise bad(f"thinking.enabled.budget_tokens: Input should be greater than or equal to {LEAST_BUDGET}")
    if limit <= budget:
        raise bad("`max_tokens` must be greater than `thinking.budget_tokens`.")


def check_breakpoints(body: JsonObject) -> None:
    found = _breakpoints(body)
    if found > MOST_BREAKPOINTS:
        raise bad(f"A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided. Found {found}.")


def _breakpoints(value: JsonValue) -> int:
    if isinstance(value, dict):
        here = int(value.get("cache_control") is not None)
        return here + sum(_breakpoints(inner) for name, inner in value.items() if name != "cache_control")
    return sum(map(_breakpoints, value)) if isinstance(value, list) else 0


def read_tools(body: JsonObject) -> tuple[str, ...]:
    """The names of the tools that are offered. Anthropic's own ("server tools") are known by their type only."""
    choice = as_object(body.get("tool_choice"))
    tools = as_list(body.get("tools"))
    if choice and not tools:
        raise bad("tool_choice: `tool_choice` may only be specified while providing `tools`.")
    names = [_tool_name(as_object(tool), f"tools.{index}") for index, tool in enumerate(tools)]
    if len(set(names)) < len(names):
        raise bad("tools: Tool names must be unique.")
    if choice.get("type") == "tool" and choice.get("name") not in names:
        raise bad(f"Tool '{choice.get('name')}' not found in provided tools")
    return tuple(names)


def _tool_name(tool: JsonObject, at: str) -> str:
    if tool.get("type") not in (None, "custom"):
        return as_text(tool.get("name"))
    if strange := sorted(tool.keys() - TOOL_FIELDS):
        raise extra(f"{at}.custom.{strange[0]}")
    for name in ("name", "input_schema"):
        if tool.get(name) is None:
            raise required(f"{at}.custom.{name}")
    if not TOOL_NAME.fullmatch(as_text(tool["name"])):
        raise no_match(f"{at}.custom.name", "^[a-zA-Z0-9_-]{1,64}$")
    schema = as_object(tool["input_schema"])
    if "type" not in schema:
        raise required(f"{at}.custom.input_schema.type")
    if schema["type"] != "object":
        raise bad(f"{at}.custom.input_schema.type: Input should be 'object'")
    return as_text(tool["name"])
