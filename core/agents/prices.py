"""What models cost and how much they take in, by genai-prices: of the providers that are asked.

Its table of all providers' models takes 5 MiB, half of them openrouter's, and pydantic-ai would keep it whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec, module_from_spec

from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot
from genai_prices.types import Provider

from config.providers import provider_of


def keep(models: Iterable[str], base_urls: Iterable[str | None]) -> None:
    """From now on pydantic-ai looks there. Before SDKs are imported, so that they take the place of what is let go."""
    set_custom_snapshot(Asked([*((provider_of(one), None) for one in models), *((None, one) for one in base_urls)]))


class Asked(DataSnapshot):
    """Answers as the whole table does, and has the models of those providers only that were asked for."""

    def __init__(self, expected: Iterable[tuple[str | None, str | None]]) -> None:
        """`expected`: providers by their id or by the URL of their API."""
        super().__init__(providers=_table(), from_auto_update=False)
        self._held: set[str] = set()
        for provider_id, url in expected:
            with suppress(LookupError):
                self._held |= _with_others(super().find_provider(None, provider_id, url))
        for provider in self.providers:
            if provider.id not in self._held:
                provider.models = []

    def find_provider(self, model_ref: str | None, provider_id: str | None, provider_api_url: str | None) -> Provider:
        """Raises `LookupError`."""
        found = super().find_provider(model_ref, provider_id, provider_api_url)
        if missing := _with_others(found) - self._held:
            models = {provider.id: provider.models for provider in _table() if provider.id in missing}
            for provider in self.providers:
                provider.models = models.get(provider.id, provider.models)
            self._held |= missing
        return found


def _with_others(provider: Provider) -> set[str]:
    """The providers whose models are looked through for one of this provider's."""
    return {provider.id, *(provider.fallback_model_providers or ())}


def _table() -> list[Provider]:
    """A new one, which nobody keeps: 16 ms."""
    spec = find_spec("genai_prices.data")
    if spec is None or spec.loader is None:
        raise ImportError("genai_prices has no module data")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    providers: list[Provider] = module.providers
    return providers
