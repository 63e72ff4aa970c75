"""Keys of models come from the file or the environment, each to its own provider, and a missing one is said at load."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from config.agents import ModelAgentSettings, OfflineAgentSettings
from config.faults import ConfigFaults
from config.load import Loaded, load
from config.providers import key_variable
from config.secret import Secret
from tests.unit.test_config_load import Desk

_KEY = "sk-not-to-be-seen"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def load_without_a_file(desk: Desk, environ: Mapping[str, str]) -> Loaded:
    return load(config=None, state=desk.state, environ={**desk.environ, **environ})


def agent(loaded: Loaded) -> ModelAgentSettings:
    found = loaded.settings.agents["default"]
    assert isinstance(found, ModelAgentSettings)
    return found


def keys(loaded: Loaded) -> dict[str, tuple[str, str]]:
    """By provider: the key, and where it was found."""
    return {provider: (key.reveal(), key.origin) for provider, key in agent(loaded).keys.items()}


# An agent from the environment alone


@pytest.mark.parametrize(
    ("variable", "model"),
    [("OPENAI_API_KEY", "openai:gpt-6.1-terra"), ("ANTHROPIC_API_KEY", "anthropic:claude-sonnet-5-5")],
)
def test_a_key_in_the_environment_switches_on_a_model_and_says_so(desk: Desk, variable: str, model: str) -> None:
    for loaded in (
        load_without_a_file(desk, {variable: f" {_KEY}\n"}),
        desk.load("[desk]\n[bots.terminal]\n", {variable: f" {_KEY}\n"}),
    ):
        assert agent(loaded) == ModelAgentSettings(model=model, api_key=Secret(_KEY))
        assert keys(loaded) == {model.partition(":")[0]: (_KEY, f"env:{variable}")}
        assert [str(warning) for warning in loaded.warnings] == [
            f"environment: [agents.default]: model {model}, because {variable} is set; "
            "write [agents.default] to choose another"
        ]


def test_of_two_keys_the_first_provider_s_serves_and_the_other_is_said_to_be_unused(desk: Desk) -> None:
    loaded = load_without_a_file(desk, {"ANTHROPIC_API_KEY": "b", "OPENAI_API_KEY": "a"})

    assert keys(loaded) == {"openai": ("a", "env:OPENAI_API_KEY")}
    (warning,) = loaded.warnings
    assert str(warning) == (
        "environment: [agents.default]: model openai:gpt-6.1-terra, because OPENAI_API_KEY is set; "
        "ANTHROPIC_API_KEY is set too and not used; write [agents.default] to choose another"
    )


def test_a_blank_key_counts_as_not_set(desk: Desk) -> None:
    nothing = load_without_a_file(desk, {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": " \n"})
    other = load_without_a_file(desk, {"OPENAI_API_KEY": " \t", "ANTHROPIC_API_KEY": "b"})

    assert nothing.settings.agents == {"default": OfflineAgentSettings()}
    assert nothing.warnings == ()
    assert agent(other).model == "anthropic:claude-sonnet-5-5"
    assert "OPENAI" not in str(other.warnings)


def test_a_key_in_the_environment_changes_no_agent_of_the_file(desk: Desk) -> None:
    offline = desk.load('[agents.default]\nbackend = "offline"\n', {"OPENAI_API_KEY": "a"})

    assert offline.settings.agents == {"default": OfflineAgentSettings()}
    assert offline.warnings == ()
    assert desk.faults("[agents]\n", {"OPENAI_API_KEY": "a"}) == [
        '1: [agents]: none is named "default"; name one [agents.default]'
    ]


def test_a_malformed_key_is_a_fault_that_names_the_variable_and_not_its_value(desk: Desk) -> None:
    with pytest.raises(ConfigFaults) as raised:
        load_without_a_file(desk, {"OPENAI_API_KEY": f"{_KEY} {_KEY}"})

    assert str(raised.value) == (
        "environment: [agents.default] api_key: env:OPENAI_API_KEY holds white space or control characters inside; "
        "copy it again, alone on one line"
    )
    assert _KEY not in repr(raised.value.faults)


def test_a_bot_finds_the_agent_from_the_environment(desk: Desk) -> None:
    loaded = desk.load('[bots.terminal]\nagent = "default"\n', {"OPENAI_API_KEY": "a"})

    assert loaded.settings.bots["terminal"].agent == "default"
    assert desk.faults('[bots.terminal]\nagent = "other"\n', {"OPENAI_API_KEY": "a"}) == [
        '2: [bots.terminal] agent: there is no agent "other"; there is: default'
    ]


# Keys for the agents of a file


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openai-chat", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("groq", "GROQ_API_KEY"),
        ("github-copilot", "GITHUB_COPILOT_API_KEY"),
        ("gateway/anthropic", "PYDANTIC_AI_GATEWAY_API_KEY"),
    ],
)
def test_a_provider_s_key_is_in_its_variable(desk: Desk, provider: str, variable: str) -> None:
    loaded = desk.load(f'[agents.default]\nmodel = "{provider}:x"\n', {variable: f"{_KEY}\n"})

    assert key_variable(provider) == variable
    assert keys(loaded) == {provider: (_KEY, f"env:{variable}")}
    assert agent(loaded).api_key is None
    assert loaded.warnings == ()


def test_every_provider_that_an_agent_names_has_its_key(desk: Desk) -> None:
    text = """\
[agents.default]
model = "openai:a"
models = {quick = "openai-chat:b", other = "groq:c"}
fallbacks = ["anthropic:d", "xai:e"]
"""
    loaded = desk.load(
        text, {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "XAI_API_KEY": "x", "MISTRAL_API_KEY": "m"}
    )

    assert {provider: key for provider, (key, _) in keys(loaded).items()} == {
        "openai": "o",
        "openai-chat": "o",
        "anthropic": "a",
        "xai": "x",
    }


def test_a_key_in_the_file_is_for_the_provider_of_the_model_alone(desk: Desk) -> None:
    text = """\
[agents.default]
model = "openai:a"
models = ["openai-chat:b"]
fallbacks = ["anthropic:c"]
api_key = "env:MINE"
"""
    loaded = desk.load(text, {"MINE": "m", "OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"})

    assert keys(loaded) == {
        "openai": ("m", "env:MINE"),
        "openai-chat": ("m", "env:MINE"),
        "anthropic": ("a", "env:ANTHROPIC_API_KEY"),
    }


def test_no_key_of_the_environment_is_meant_for_another_server(desk: Desk) -> None:
    text = '[agents.default]\nmodel = "openai:a"\nbase_url = "http://127.0.0.1:1/v1"\n'
    environ = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}

    assert keys(desk.load(text, environ)) == {}
    assert keys(desk.load(f'{text}fallbacks = ["openai-chat:b"]\n', environ)) == {}
    assert keys(desk.load(f'{text}fallbacks = ["anthropic:b"]\n', environ)) == {
        "anthropic": ("a", "env:ANTHROPIC_API_KEY")
    }
    assert keys(desk.load(f'{text}api_key = "env:OPENAI_API_KEY"\n', environ)) == {
        "openai": ("o", "env:OPENAI_API_KEY")
    }


def test_a_provider_that_may_do_without_a_key_has_none(desk: Desk) -> None:
    assert keys(desk.load('[agents.default]\nmodel = "ollama:a"\nfallbacks = ["bedrock:b"]\n')) == {}


def test_settings_made_by_hand_read_no_environment() -> None:
    assert ModelAgentSettings(model="openai:a").keys == {}
    assert ModelAgentSettings(model="openai:a", api_key=Secret("x")).keys == {"openai": Secret("x")}


@pytest.mark.parametrize(("provider", "variable"), [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")])
def test_a_missing_key_is_a_fault_that_says_what_to_set(desk: Desk, provider: str, variable: str) -> None:
    for environ in ({}, {variable: " "}):
        assert desk.faults(f'[desk]\n[agents.default]\nmodel = "{provider}:x"\n', environ) == [
            f"2: [agents.default] api_key: is missing, and {variable} is not set; "
            f'set {variable}, or write api_key = "env:NAME", "file:PATH" or "credential:NAME"'
        ]


@pytest.mark.parametrize(
    ("lines", "option"),
    [
        ('fallbacks = ["groq:b",\n"anthropic:c", "anthropic:d"]', "[agents.default] fallbacks, item 2"),
        ('models = ["groq:b",\n"anthropic:c"]', "[agents.default] models, item 2"),
        ('[agents.default.models]\nother = "anthropic:c"', "[agents.default.models] other"),
    ],
)
def test_a_missing_key_of_another_model_is_said_once_where_it_is_named(desk: Desk, lines: str, option: str) -> None:
    assert desk.faults(f'[agents.default]\nmodel = "groq:a"\n{lines}\n') == [
        f"4: {option}: needs a key, and ANTHROPIC_API_KEY is not set; set ANTHROPIC_API_KEY, or take the model out"
    ]


def test_every_missing_or_malformed_key_is_said_at_once(desk: Desk) -> None:
    text = '[agents.default]\nmodel = "openai:a"\nfallbacks = ["anthropic:b"]\n[agents.x]\nmodel = "groq:a"\n'

    faults = desk.faults(text, {"GROQ_API_KEY": f"{_KEY}\n{_KEY}"})

    assert [fault.partition(";")[0] for fault in faults] == [
        "1: [agents.default] api_key: is missing, and OPENAI_API_KEY is not set",
        "3: [agents.default] fallbacks, item 1: needs a key, and ANTHROPIC_API_KEY is not set",
        "4: [agents.x] api_key: env:GROQ_API_KEY holds white space or control characters inside",
    ]
    assert _KEY not in str(faults)


def test_keys_are_shown_to_nobody_and_masked_in_logs(desk: Desk) -> None:
    text = '[agents.default]\nmodel = "openai:a"\nfallbacks = ["anthropic:b", "groq:c"]\napi_key = "sk-written"\n'
    loaded = desk.load(text, {"ANTHROPIC_API_KEY": "sk-a", "GROQ_API_KEY": "sk-g"})

    assert {"sk-written", "sk-a", "sk-g"} <= loaded.settings.secrets
    for shown in (repr(loaded), str(agent(loaded).keys), loaded.settings.model_dump_json()):
        assert "sk-" not in shown
    assert [str(warning).partition("; ")[0] for warning in loaded.warnings] == [
        f"{desk.file}:4: [agents.default] api_key: the secret itself stands in the file"
    ]
