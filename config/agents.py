"""`[agents.NAME]`: who answers. Every default and every unit of an agent stands here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Discriminator, Field, PrivateAttr, Tag, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from config.lines import KeyPath
from config.mcp import McpServers
from config.model_names import ModelChoices, ModelList, ModelName
from config.part import Part
from config.providers import DEFAULT_MODELS, key_variable, provider_of
from config.requests import RequestSettings
from config.secret import Secret
from config.sources import Misplaced, Sources, misplaced, wrong
from config.values import Backend, Count, Roots, Scalar, Seconds, Text, TextFile, Tokens, WebRoot


class OfflineAgentSettings(Part):
    """An agent that needs no model: it says which message of which session it answers."""

    backend: Literal["offline"] = "offline"


class ModuleAgentSettings(Part):
    """An agent made by code of yours."""

    backend: Backend
    """`package.module:factory`; the factory is called with `options`."""
    options: Mapping[str, Scalar] = {}


class LimitSettings(Part):
    """`[agents.NAME.limits]`: where a turn ends that does not end by itself, and how long each wait may be."""

    iterations: Count = 50
    """Requests to the model in one turn."""
    turn_tokens: Tokens | None = None
    """Tokens of one turn, in and out; None: no limit."""
    person_day_tokens: Tokens | None = None
    """Tokens of one person in one day, in and out; None: no limit."""
    connect_s: Seconds = 10
    first_token_s: Seconds = 120
    """From the request to the first word; a model that thinks is silent for long."""
    silence_s: Seconds = 120
    """Between two words."""
    tool_s: Seconds = 120
    """One call of a tool."""
    tool_output_chars: Count = 50_000
    """What the model sees of one tool's result; the rest is cut."""
    retries: Annotated[int, Field(ge=0, le=100)] = 2
    """Of a request that failed for a reason that may pass, after `model` and each of `fallbacks` were tried once."""


class ContextSettings(Part):
    """`[agents.NAME.context]`: when a long conversation is summed up."""

    window: Tokens | None = None
    """What the model can take in, in tokens; None: as known for the model."""
    compact_at: Annotated[float, Field(ge=0.1, le=1, allow_inf_nan=False)] = 0.8
    """The share of the window that may be full before older turns are summed up."""
    keep_turns: Count = 4
    """The last turns, which are kept word for word."""


class ModelAgentSettings(Part):
    """An agent that a model answers for."""

    backend: Literal["model"] = "model"
    model: ModelName
    """`provider:model`."""
    models: ModelChoices = ()
    """What people may choose with /model besides `model`; of a table, by the short names in it. See `choices`."""
    base_url: WebRoot | None = None
    """Another server for the provider of `model`; None: the provider's own."""
    api_key: Secret | None = None
    """For the provider of `model`. None: what the environment holds. See `keys`."""
    instructions: Text | None = None
    instructions_file: TextFile | None = None
    """In place of `instructions`."""
    fallbacks: ModelList = ()
    """Tried in this order when `model` fails."""
    show_thinking: bool = False
    silence: Text | None = None
    """An answer that is this and nothing else is not sent; None: every answer is."""
    images: bool = True
    """Whether its models can be shown pictures; where one can't, people's pictures are only named to it."""
    tools: bool = True
    """Whether its models are offered tools; False for those that take none."""
    files: Roots = ()
    """Folders from which the agent may send files to people; none: it can't."""
    settings: RequestSettings = RequestSettings()
    limits: LimitSettings = LimitSettings()
    context: ContextSettings = ContextSettings()
    mcp: McpServers = ()

    _found: Mapping[str, Secret] = PrivateAttr(default_factory=dict)
    """By variable."""

    @property
    def choices(self) -> Mapping[str, str]:
        """What /model takes and the `provider:model` that each stands for, `model` first."""
        named = self.models if isinstance(self.models, Mapping) else {name: name for name in self.models}
        return {self.model: self.model, **named}

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no text that a provider sent may show."""
        known = (*self._found.values(), *(() if self.api_key is None else (self.api_key,)))
        return tuple(key.reveal() for key in known)

    @property
    def keys(self) -> Mapping[str, Secret]:
        """The key of each provider that `model`, `models` and `fallbacks` name, as far as there is one.

        `api_key` is for the provider of `model` and its kin (openai, openai-chat); what the environment holds for them
        is not taken if there is an `api_key` or a `base_url`.
        """
        given = {} if self.api_key is None else {key_variable(provider_of(self.model)): self.api_key}
        known = {**self._found, **given}
        providers = (provider_of(model) for _, model in self._named_models())
        return {name: known[variable] for name in providers if (variable := key_variable(name)) in known}

    def _named_models(self) -> Iterator[tuple[KeyPath, str]]:
        """Each model with the option to blame if its key is missing."""
        yield ("api_key",), self.model
        for index, model in enumerate(self.fallbacks):
            yield ("fallbacks", index), model
        named = self.models.items() if isinstance(self.models, Mapping) else enumerate(self.models)
        for name, model in named:
            yield ("models", name), model

    def _variables(self) -> Mapping[str, KeyPath]:
        own = key_variable(provider_of(self.model))
        served = self.api_key is not None or self.base_url is not None
        variables: dict[str, KeyPath] = {}
        for blamed, model in self._named_models():
            variable = key_variable(provider_of(model))
            if not (served and variable == own):
                variables.setdefault(variable, blamed)
        return variables

    @field_validator("instructions_file")
    @classmethod
    def _one_source_of_instructions(cls, file: Path | None, info: ValidationInfo) -> Path | None:
        if file is not None and info.data.get("instructions") is not None:
            raise wrong("stands beside instructions", "keep one of the two")
        return file

    @field_validator("files", "mcp")
    @classmethod
    def _tools_are_offered(cls, given: Sized, info: ValidationInfo) -> Sized:
        if given and info.data.get("tools") is False:
            raise wrong("stands beside tools = false", "keep one of the two")
        return given

    @model_validator(mode="after")
    def _find_keys(self, info: ValidationInfo) -> Self:
        if not isinstance(info.context, Sources):
            return self
        found = {variable: _key(variable, blamed, info.context) for variable, blamed in self._variables().items()}
        if faults := [fault for fault in found.values() if isinstance(fault, Misplaced)]:
            raise misplaced(faults)
        self._found = {variable: key for variable, key in found.items() if isinstance(key, Secret)}
        return self


def _key(variable: str, blamed: KeyPath, sources: Sources) -> Secret | Misplaced | None:
    """The key in `variable`; None if it is not set and the provider may do without."""
    if sources.environ.get(variable, "").strip():
        try:
            return Secret.parse(f"env:{variable}", sources)
        except PydanticCustomError as error:
            context = error.context or {}
            return Misplaced(blamed, str(context["message"]), str(context["hint"]))
    if variable not in DEFAULT_MODELS:
        return None
    if blamed == ("api_key",):
        hint = f'set {variable}, or write api_key = "env:NAME", "file:PATH" or "credential:NAME"'
        return Misplaced(blamed, f"is missing, and {variable} is not set", hint)
    return Misplaced(blamed, f"needs a key, and {variable} is not set", f"set {variable}, or take the model out")


def _backend(agent: object) -> str:
    backend = agent.get("backend") if isinstance(agent, dict) else getattr(agent, "backend", None)
    if backend is None and isinstance(agent, dict) and not ModelAgentSettings.model_fields.keys().isdisjoint(agent):
        return "model"
    return backend if backend in ("offline", "model") else "module"


AgentSettings = Annotated[
    Annotated[OfflineAgentSettings, Tag("offline")]
    | Annotated[ModelAgentSettings, Tag("model")]
    | Annotated[ModuleAgentSettings, Tag("module")],
    Discriminator(_backend),
]

AGENT_BACKENDS: Final[Mapping[str, type[Part]]] = {
    "offline": OfflineAgentSettings,
    "model": ModelAgentSettings,
    "module": ModuleAgentSettings,
}
