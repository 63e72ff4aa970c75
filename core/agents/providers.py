"""Models by name, from the configuration. One HTTP client per provider configuration, one TLS context for all."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable
from importlib import import_module

import httpx2
from msgspec import Struct
from pydantic_ai import ModelSettings
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model, ModelRequestParameters, create_async_httpx2_client, infer_model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.providers import Provider, infer_provider_class

from config.agents import ModelAgentSettings
from config.providers import provider_of
from core.agents.configured import Configured
from core.agents.preparation import sent
from core.agents.tls import context as tls
from core.agents.tools_optional import ToolsOptional
from core.agents.transcript import readable, system_of
from core.agents.transport import AiohttpTransport
from core.errors import ConfigError

OPENAI = ("openai", "openai-chat", "openai-responses")
"""One provider, three ways to speak to it."""
RESPONSES = ("openai", "openai-responses")
"""Those that speak the Responses API."""

NO_KEY = "no-key"
"""What a server of one's own is sent where no key is configured: SDKs insist on one, or look for it themselves."""


class Habits(Struct):
    """What was found out about a model while it answered. `thinks_first`: it closes thoughts that it never opens."""

    thinks_first: bool = False


class Chosen(Struct, frozen=True):
    """A model with its fallbacks. `systems`: whose responses they read, see `system_of`. `window`: what it takes in,
    in tokens, where that is known. `tells_when_sent`: a request is known to have left, see `preparation`."""

    model: Model
    each: tuple[ToolsOptional, ...]
    """It and its fallbacks, one by one."""
    systems: frozenset[str]
    window: int | None
    sees: bool
    """Can it be shown pictures?"""
    tells_when_sent: bool
    habits: Habits
    behind: Chosen | None
    """Its fallbacks alone, for an answer of its own that is none: what streams is taken for good once it begins."""


class _Configuration(Struct, frozen=True):
    provider: str
    base_url: str | None
    key: str
    connect_s: float
    silence_s: float
    proxy: str | None


class _Reader(WrapperModel):
    """One of several models that may answer in one turn: it is shown of the others' responses what it can read."""

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        shown = readable(messages, system_of(self.wrapped))
        return self.wrapped.prepare_messages(shown, model_request_parameters)


class Providers:
    """Lives on the agents' loop."""

    def __init__(self) -> None:
        self._providers: dict[_Configuration, tuple[Provider[object], httpx2.AsyncClient | None]] = {}
        self._users: dict[_Configuration, set[str]] = {}
        """The digests of the agents that each serves."""
        self._silent: set[str] = set()
        """Providers whose requests go through clients of their own."""
        self._chosen: dict[tuple[str, str], Chosen] = {}

    def model(self, agent: Configured, name: str) -> Chosen:
        """The model of this name, with the agent's fallbacks behind it. Raises `ConfigError`."""
        known = self._chosen.get((agent.digest, name))
        if known is None:
            names = (name, *(other for other in agent.settings.fallbacks if other != name))
            known = self._chosen[agent.digest, name] = self._choose(agent, names)
        return known

    def toolless(self) -> list[tuple[str, str]]:
        """Models that refused tools, each with what its provider said."""
        each = [one for chosen in list(self._chosen.values()) for one in chosen.each if one.refused]
        return list({one.model_name: (one.model_name, one.refused) for one in each}.values())

    def release(self, digest: str) -> list[httpx2.AsyncClient]:
        """The agent of this digest is configured no more: what served nobody else, for the caller to close."""
        free = []
        for key in [key for key in self._chosen if key[0] == digest]:
            del self._chosen[key]
        for configuration, users in list(self._users.items()):
            users.discard(digest)
            if not users:
                del self._users[configuration]
                _, client = self._providers.pop(configuration)
                if client is not None:
                    free.append(client)
        return free

    def _choose(self, agent: Configured, names: tuple[str, ...]) -> Chosen:
        models = [self._model(agent, one) for one in names]
        asked = [ToolsOptional(models[0])] if len(models) == 1 else [ToolsOptional(_Reader(one)) for one in models]
        window = agent.settings.context.window or models[0].profile.get("context_window")
        return Chosen(
            model=asked[0] if len(asked) == 1 else FallbackModel(*asked),
            each=tuple(asked),
            systems=frozenset(map(system_of, models)),
            window=window,
            sees=agent.settings.images and all(one.profile.get("supports_image_input", True) for one in models),
            tells_when_sent=all(_family(provider_of(one)) not in self._silent for one in names),
            habits=Habits(),
            behind=self._choose(agent, names[1:]) if len(names) > 1 else None,
        )

    def _model(self, agent: Configured, name: str) -> Model:
        provider = provider_of(name)
        own = _family(provider) == _family(provider_of(agent.settings.model))
        base_url = agent.settings.base_url if own else None
        # What serves elsewhere under OpenAI's name speaks chat completions.
        spoken = "openai-chat" if base_url is not None and provider == "openai" else provider
        try:
            if spoken in RESPONSES:
                import_module("core.agents.openai_responses")  # now: it would hold up the first request for 100 ms
            return infer_model(
                f"{spoken}:{name.partition(':')[2]}", lambda _: self._provider(agent, provider, base_url, own=own)
            )
        except (UserError, ValueError, ImportError) as error:
            raise ConfigError(f'model = "{name}": {error}') from error

    def _provider(self, agent: Configured, provider: str, base_url: str | None, *, own: bool) -> Provider[object]:
        settings, limits = agent.settings, agent.settings.limits
        key = settings.api_key if own and settings.api_key is not None else settings.keys.get(provider)
        configuration = _Configuration(
            provider=_family(provider), base_url=base_url, key=key.reveal() if key is not None else "",
            connect_s=limits.connect_s, silence_s=max(limits.first_token_s, limits.silence_s), proxy=agent.proxy_url,
        )  # fmt: skip
        if configuration not in self._providers:
            self._providers[configuration] = self._open(provider, configuration)
        self._users.setdefault(configuration, set()).add(agent.digest)
        return self._providers[configuration][0]

    def _open(self, provider: str, configuration: _Configuration) -> tuple[Provider[object], httpx2.AsyncClient | None]:
        made = infer_provider_class(provider)
        takes = inspect.signature(made.__init__).parameters
        client = self._client(configuration) if "http_client" in takes else None
        if client is None:
            self._silent.add(configuration.provider)
        key = configuration.key or (NO_KEY if configuration.base_url is not None else None)
        given = {"base_url": configuration.base_url, "api_key": key, "http_client": client}
        opened = made(**{name: value for name, value in given.items() if name in takes and value is not None})
        if client is not None and configuration.provider == "openai":
            from core.agents.openai_client import lean  # only where OpenAI's SDK is there

            opened = lean(opened, client)
        return opened, client

    def _client(self, configuration: _Configuration) -> httpx2.AsyncClient:
        transport = AiohttpTransport(tls(), configuration.proxy)
        timeout = httpx2.Timeout(configuration.silence_s, connect=configuration.connect_s)
        client = create_async_httpx2_client(timeout=timeout, transport=transport)
        hooks = client.event_hooks
        client.event_hooks = {**hooks, "request": [*hooks["request"], sent]}
        return client

    async def close(self) -> None:
        """Close every connection."""
        clients = [client for _, client in self._providers.values() if client is not None]
        await asyncio.gather(*(client.aclose() for client in clients))
        self._providers.clear()
        self._users.clear()
        self._chosen.clear()


def request_settings(agent: ModelAgentSettings) -> ModelSettings:
    """What goes with every request. The prompt's beginning stays the same from turn to turn, so providers are asked to
    keep it where they want to be asked."""
    own = agent.settings
    settings = ModelSettings(
        max_retries=0, first_event_timeout=agent.limits.first_token_s, framing_announcement="never", cache=True
    )
    if own.temperature is not None:
        settings["temperature"] = own.temperature
    if own.top_p is not None:
        settings["top_p"] = own.top_p
    if own.max_tokens is not None:
        settings["max_tokens"] = own.max_tokens
    if own.seed is not None:
        settings["seed"] = own.seed
    if own.reasoning is not None:
        settings["thinking"] = own.reasoning
    if own.parallel_tool_calls is not None:
        settings["parallel_tool_calls"] = own.parallel_tool_calls
    if own.extra:
        settings["extra_body"] = dict(own.extra)
    return settings


def load(names: Iterable[str]) -> None:
    """Import the SDKs of these models, so that the first request finds them there; what is missing is told by it."""
    for provider in {provider_of(name) for name in names}:
        try:
            infer_provider_class(provider)
        except (ImportError, ValueError):
            continue


def _family(provider: str) -> str:
    return "openai" if provider in OPENAI else provider
