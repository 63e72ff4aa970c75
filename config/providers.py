"""Providers of models: how they are named, where their keys are, and what their libraries are called.

Only the standard library is imported here: see `config.extras`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

DEFAULT_MODELS: Final[Mapping[str, str]] = {
    "OPENAI_API_KEY": "openai:gpt-6.1-terra",
    "ANTHROPIC_API_KEY": "anthropic:claude-sonnet-5-5",
}
"""The variables that switch on an agent by themselves, the first before the second, and the model that it then has:
the provider's middle one, which calls tools well and does not surprise somebody who only set a key with its price."""


def provider_of(model: str) -> str:
    """The part of `provider:model` before the colon."""
    return model.partition(":")[0]


def key_variable(provider: str) -> str:
    """The environment variable that holds the key of a provider."""
    if provider.startswith("gateway/"):
        return "PYDANTIC_AI_GATEWAY_API_KEY"
    # openai-chat and its like are ways to one provider.
    family = next((name for name in ("openai", "anthropic") if provider.startswith(f"{name}-")), provider)
    return f"{re.sub('[^a-z0-9]', '_', family).upper()}_API_KEY"


def default_variables(environ: Mapping[str, str]) -> list[str]:
    """The variables of `DEFAULT_MODELS` that are set; the first is used where no agent is configured."""
    return [variable for variable in DEFAULT_MODELS if environ.get(variable, "").strip()]
