"""The questions of `init` about who answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from config.agents import ModelAgentSettings
from config.draft import settings_of
from config.faults import ConfigFaults, Fault
from config.providers import DEFAULT_MODELS, key_variable, provider_of
from core.cli.setup.choices import NONE, ChosenModel
from core.cli.setup.trying import Verdict, sentence, try_model
from core.errors import VerbFailed

if TYPE_CHECKING:
    from core.cli.setup.given import Given
    from core.cli.setup.seat import Seat

_CALLED: Final = {"api_key": "the key", "base_url": "the address"}
_SPOKEN_ELSEWHERE: Final = ("openai", "openai-chat")
"""Providers whose way to speak other people's servers speak as well."""


class ModelQuestions:
    """The model, its server, its key."""

    def __init__(self, given: Given, environ: Mapping[str, str], seat: Seat) -> None:
        self._given = given
        self._environ = environ
        self._seat = seat

    def ask(self, key: str | None) -> ChosenModel | None:
        """`key`: as given by an option. None: the offline agent. Raises `VerbFailed`."""
        name, base_url, explained = self._given.model, self._given.base_url, False
        while True:
            if name is None:
                self._explain(again=explained)
                explained = True
                name = self._seat.ask("Model", self._offered())
                if base_url is None and provider_of(name) in _SPOKEN_ELSEWHERE:
                    base_url = self._seat.ask("Address of its server, empty for OpenAI's own", "") or None
            if name == NONE:
                return None
            if not self.is_sound(name, base_url):
                name = base_url = None
                continue
            if key is None and self._seat.asks:
                key = self._asked_key(name, base_url)
            model = ChosenModel(name=name, key=key, base_url=base_url)
            verdict = self._verdict(model)
            if verdict == "good":
                return model
            key = None
            if verdict == "model":
                name = base_url = None

    def is_sound(self, name: str, base_url: str | None) -> bool:
        """Whether the model is one, before its key is asked for; what is wrong is said. Raises `VerbFailed` where
        nobody is there."""
        try:
            settings_of({"agents": {"default": ChosenModel(name=name, base_url=base_url).drafted()}})
        except ConfigFaults as faults:
            others = [one for one in faults.faults if _option_of(one) != "api_key"]
            if others:
                self._refused(ConfigFaults(others))
            return not others
        return True

    def _explain(self, *, again: bool) -> None:
        if again:
            return
        self._seat.say(
            "", "Who answers? A model, written PROVIDER:MODEL, such as",
            *(f"  {model}" for model in DEFAULT_MODELS.values()),
            "  openai:NAME  with the address of a server of your own (Ollama, vLLM, llama.cpp)",
            "  none         no model yet: the desk says which message it got",
        )  # fmt: skip

    def _offered(self) -> str:
        known = DEFAULT_MODELS.items()
        return next((model for variable, model in known if self._environ.get(variable, "").strip()), NONE)

    def _asked_key(self, name: str, base_url: str | None) -> str | None:
        variable = key_variable(provider_of(name))
        if base_url is not None:
            return self._seat.ask_secret("Its key, empty if it takes none") or None
        found = self._environ.get(variable, "").strip()
        if found:
            return self._seat.ask_secret(f"Its key, empty for the one in {variable}") or found
        return self._seat.ask_secret(f"Its key, from {provider_of(name)}") or None

    def _verdict(self, model: ChosenModel) -> Verdict:
        try:
            settings = settings_of({"agents": {"default": model.drafted()}}).agents["default"]
        except ConfigFaults as faults:
            return self._refused(faults)
        if not self._given.test or not isinstance(settings, ModelAgentSettings):
            return "good"
        return try_model(settings, self._seat)

    def _refused(self, faults: ConfigFaults) -> Verdict:
        by_option = {_option_of(one): one for one in faults.faults}
        if not self._seat.asks:
            raise VerbFailed("; ".join(_as_options(option, fault) for option, fault in by_option.items()), code=2)
        for option, fault in by_option.items():
            hint = f"; {fault.hint}" if fault.hint and option != "api_key" else ""
            self._seat.say(sentence(f"{_CALLED.get(option, 'this')} {fault.message}{hint}"))
        return "key" if by_option.keys() == {"api_key"} else "model"


def _option_of(fault: Fault) -> str:
    return fault.option.rpartition(" ")[2]


def _as_options(option: str, fault: Fault) -> str:
    """What is wrong with what the command line said."""
    if option == "api_key":
        return f"--key-file, --key-env or --key: the key {fault.message}"
    flag = "--base-url" if option == "base_url" else "--model"
    return f"{flag}: {_CALLED.get(option, 'this')} {fault.message}; {fault.hint}"
