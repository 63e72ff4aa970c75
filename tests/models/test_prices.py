"""What is let go of the table of prices changes no answer."""

from __future__ import annotations

from genai_prices.data import providers
from genai_prices.data_snapshot import DataSnapshot

from core.agents.prices import Asked

WHOLE = DataSnapshot(providers=providers, from_auto_update=False)


def _found(prices: DataSnapshot, model: str, provider: str | None, url: str | None) -> object:
    try:
        return prices.find_provider_model(model, None, provider, url)
    except LookupError as fault:
        return str(fault)


def test_every_model_of_every_provider_is_found_as_in_the_whole_table() -> None:
    asked = Asked([("openai", None)])
    for provider in WHOLE.providers:
        for model in (*(one.id for one in provider.models), "claude-sonnet-4-5-20250929", "none-of-theirs"):
            assert _found(asked, model, provider.id, None) == _found(WHOLE, model, provider.id, None)


def test_what_is_found_by_url_is_found_as_in_the_whole_table() -> None:
    asked = Asked([])
    for url in ("https://api.openai.com/v1", "https://openrouter.ai/api/v1", "http://127.0.0.1:8080/v1"):
        for model in ("gpt-4o", "anthropic/claude-sonnet-4.5", "none-of-theirs"):
            assert _found(asked, model, None, url) == _found(WHOLE, model, None, url)


def test_only_the_models_of_expected_providers_are_held() -> None:
    expected = [
        ("openai", None),
        (None, "https://api.anthropic.com"),
        ("unknown", None),
        (None, "http://127.0.0.1"),
        (None, None),
    ]
    asked = Asked(expected)
    assert {one.id for one in asked.providers if one.models} == {"openai", "anthropic"}
    assert len(asked.providers) == len(WHOLE.providers)
