"""An agent with a model says what it needs in its table; nothing else is guessed, and all of it is checked at load."""
# ruff: noqa: E501 - the expected faults are long lines, as they are printed

from __future__ import annotations

import pickle
from pathlib import Path
from typing import get_args

import pytest
from pydantic_ai.models import KnownModelName

from config.agents import (
    ContextSettings,
    LimitSettings,
    ModelAgentSettings,
    ModuleAgentSettings,
    OfflineAgentSettings,
)
from config.load import Loaded
from config.providers import DEFAULT_MODELS
from config.requests import RequestSettings
from tests.unit.test_config_load import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def agent(loaded: Loaded, name: str = "default") -> ModelAgentSettings:
    found = loaded.settings.agents[name]
    assert isinstance(found, ModelAgentSettings)
    return found


# What a good table gives


def test_a_model_is_enough_for_an_agent(desk: Desk) -> None:
    found = agent(desk.load('[agents.default]\nbackend = "model"\nmodel = "groq:a/b:c"\n'))

    assert found == ModelAgentSettings(model="groq:a/b:c")
    assert (found.limits, found.context, found.settings) == (LimitSettings(), ContextSettings(), RequestSettings())
    assert (found.models, found.fallbacks, found.mcp, found.base_url, found.api_key) == ((), (), (), None, None)
    assert found.show_thinking is False


def test_a_table_that_names_a_model_need_not_say_that_it_has_one(desk: Desk) -> None:
    assert agent(desk.load('[agents.default]\nmodel = "groq:a"\n')).backend == "model"


def test_agents_of_every_kind_stand_side_by_side(desk: Desk) -> None:
    loaded = desk.load(
        '[agents.default]\nbackend = "offline"\n[agents.a]\nbackend = "model"\nmodel = "groq:a"\n[agents.b]\nbackend = "a:b"\n'
    )

    kinds = {name: type(found) for name, found in loaded.settings.agents.items()}
    assert kinds == {"default": OfflineAgentSettings, "a": ModelAgentSettings, "b": ModuleAgentSettings}


def test_limits_are_generous_and_end(desk: Desk) -> None:
    assert LimitSettings().model_dump() == {
        "iterations": 50,
        "turn_tokens": None,
        "person_day_tokens": None,
        "connect_s": 10,
        "first_token_s": 120,
        "silence_s": 120,
        "tool_s": 120,
        "tool_output_chars": 50_000,
        "retries": 2,
    }
    assert ContextSettings().model_dump() == {"window": None, "compact_at": 0.8, "keep_turns": 4}


def test_every_setting_of_a_request_is_handed_on_as_written(desk: Desk) -> None:
    text = """\
[agents.default]
model = "groq:a"
[agents.default.settings]
temperature = 0
top_p = 1
max_tokens = 100
reasoning = "xhigh"
seed = -5
parallel_tool_calls = false
[agents.default.settings.extra]
tier = "flex"
deep = {list = [1, 2.5, true, {a = "b"}]}
"""
    assert agent(desk.load(text)).settings.model_dump() == {
        "temperature": 0,
        "top_p": 1,
        "max_tokens": 100,
        "reasoning": "xhigh",
        "seed": -5,
        "parallel_tool_calls": False,
        "extra": {"tier": "flex", "deep": {"list": [1, 2.5, True, {"a": "b"}]}},
    }


@pytest.mark.parametrize("written", ["true", "false"])
def test_reasoning_may_be_a_switch(desk: Desk, written: str) -> None:
    found = agent(desk.load(f'[agents.default]\nmodel = "groq:a"\nsettings.reasoning = {written}\n'))

    assert found.settings.reasoning is (written == "true")


def test_models_to_choose_from_are_a_list_or_a_table_of_short_names(desk: Desk) -> None:
    listed = agent(desk.load('[agents.default]\nmodel = "groq:a"\nmodels = ["groq:b", "xai:c"]\n'))
    named = agent(desk.load('[agents.default]\nmodel = "groq:a"\n[agents.default.models]\nquick = "groq:b"\n'))

    assert listed.choices == {"groq:a": "groq:a", "groq:b": "groq:b", "xai:c": "xai:c"}
    assert named.choices == {"groq:a": "groq:a", "quick": "groq:b"}
    assert next(iter(named.choices)) == "groq:a"
    assert ModelAgentSettings(model="groq:a").choices == {"groq:a": "groq:a"}


def test_instructions_may_have_many_lines(desk: Desk) -> None:
    found = agent(desk.load('[agents.default]\nmodel = "groq:a"\ninstructions = """\nBe kind.\nBe brief."""\n'))

    assert found.instructions == "Be kind.\nBe brief."


@pytest.mark.parametrize("written", ["soul.md", "./soul.md", "~/soul.md", "{directory}/soul.md"])
def test_a_file_of_instructions_is_looked_for_beside_the_config(desk: Desk, tmp_path: Path, written: str) -> None:
    (tmp_path / "soul.md").write_text("Be kind.\n", encoding="utf-8")
    path = written.format(directory=tmp_path)

    found = agent(desk.load(f'[agents.default]\nmodel = "groq:a"\ninstructions_file = "{path}"\n'))

    assert found.instructions_file == tmp_path / "soul.md"
    assert found.instructions is None


def test_a_base_url_is_kept_without_its_last_slash(desk: Desk) -> None:
    found = agent(desk.load('[agents.default]\nmodel = "openai:a"\nbase_url = "http://127.0.0.1:11434/v1/"\n'))

    assert found.base_url == "http://127.0.0.1:11434/v1"


def test_agents_with_equal_tables_and_keys_are_equal(desk: Desk) -> None:
    text = '[agents.default]\nmodel = "openai:a"\n'
    one, same, other = (desk.load(text, {"OPENAI_API_KEY": key}) for key in "aab")

    assert agent(one) == agent(same)
    assert agent(one) != agent(other)
    assert pickle.loads(pickle.dumps(agent(one))) == agent(one)


@pytest.mark.parametrize("model", DEFAULT_MODELS.values())
def test_the_models_that_serve_by_default_exist(model: str) -> None:
    assert model in get_args(KnownModelName.__value__)


# Faults


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("", '1: [agents.default] model: is missing; write it as in model = "openai:gpt-6.1-terra"'),
        *(
            (
                f'model = "{model}"',
                '3: [agents.default] model: is no model with its provider; write it as in model = "openai:gpt-6.1-terra"',
            )
            for model in ("gpt-5", "openai:", ":gpt-5", "OpenAI:gpt-5", "open ai:x", "openai:gpt 5", "openai:x\\n", "")
        ),
        ("model = 5", '3: [agents.default] model: must be text in quotes; write model = "5"'),
        (
            'model = "a:b"\nmodels = ["a:b",\n"c"]',
            '5: [agents.default] models, item 2: is no model with its provider; write it as in model = "openai:gpt-6.1-terra"',
        ),
        (
            'model = "a:b"\nmodels = ["a:b",\n5]',
            '5: [agents.default] models, item 2: must be text in quotes; write "5"',
        ),
        ('model = "a:b"\nmodels = "a:c"', '4: [agents.default] models: must be a list; write models = ["a:c"]'),
        (
            'model = "a:b"\n[agents.default.models]\nx = "a:b"\n"y z" = "a:b"',
            '6: [agents.default.models] "y z": is no name that people can type; write letters, digits, -, _ and ., at most 64',
        ),
        (
            'model = "a:b"\n[agents.default.models]\nx = "a"',
            '5: [agents.default.models] x: is no model with its provider; write it as in model = "openai:gpt-6.1-terra"',
        ),
        (
            'model = "a:b"\nfallbacks = "a:c"',
            '4: [agents.default] fallbacks: must be a list; write fallbacks = ["a:c"]',
        ),
        (
            'model = "a:b"\nbase_url = "localhost:11434"',
            '4: [agents.default] base_url: is no address of a server; write it as in "http://127.0.0.1:8081", without password or query',
        ),
        (
            'model = "a:b"\napi_key = ""',
            '4: [agents.default] api_key: is empty; write "env:NAME", "file:PATH" or "credential:NAME", or leave the option out',
        ),
        (
            'model = "a:b"\ninstructions = " \\n"',
            "4: [agents.default] instructions: is empty; write a text, or leave the option out",
        ),
        (
            'model = "a:b"\nshow_thinking = "no"',
            "4: [agents.default] show_thinking: must be true or false; write show_thinking = false, without quotes",
        ),
        ('model = "a:b"\nkeys = {}', "4: [agents.default.keys]: unknown option; known: backend, model, models, *"),
        (
            'model = "a:b"\nmodell = "a:b"',
            '4: [agents.default] modell: unknown option; did you mean "model"?',
        ),
        (
            'model = "a:b"\noptions = {a = 1}',
            "4: [agents.default.options]: unknown option; *",
        ),
        (
            'model = "a:b"\n[agents.default.setings]',
            '4: [agents.default.setings]: unknown option; did you mean "settings"?',
        ),
    ],
)
def test_a_fault_of_an_agent_names_its_line_and_the_right_form(desk: Desk, lines: str, fault: str) -> None:
    (found,) = desk.faults(f'[agents.default]\nbackend = "model"\n{lines}\n')

    assert found.startswith(fault.removesuffix("*"))
    assert fault.endswith("*") or found == fault


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("settings.temperature = 2.5", "[agents.default.settings] temperature: must be less than or equal to 2"),
        ("settings.temperature = nan", "[agents.default.settings] temperature: must be a finite number"),
        ("settings.top_p = 0", "[agents.default.settings] top_p: must be greater than 0"),
        ("settings.max_tokens = 0", "[agents.default.settings] max_tokens: must be greater than or equal to 1"),
        (
            'settings.reasoning = "higher"',
            '[agents.default.settings] reasoning: must be "minimal", "low", "medium", "high", "xhigh", true or false; did you mean "high"?',
        ),
        (
            "settings.reasoning = 1",
            '[agents.default.settings] reasoning: must be "minimal", "low", "medium", "high", "xhigh", true or false',
        ),
        (
            "settings.temprature = 1",
            '[agents.default.settings] temprature: unknown option; did you mean "temperature"?',
        ),
        (
            "settings.extra = {a = 1979-05-27}",
            "[agents.default.settings.extra] a: holds a date or a time, which JSON has no word for; write it as text",
        ),
        (
            "settings.extra = {a = [1, inf]}",
            "[agents.default.settings.extra] a: holds a number that JSON has no word for; write a finite one",
        ),
        (
            "settings = 1",
            "[agents.default.settings]: must be a table; write [agents.default.settings] and its options below",
        ),
        ("limits.iterations = 0", "[agents.default.limits] iterations: must be greater than or equal to 1"),
        (
            'limits.turn_tokens = "none"',
            "[agents.default.limits] turn_tokens: must be a whole number; write turn_tokens = NUMBER",
        ),
        ("limits.connect_s = 0", "[agents.default.limits] connect_s: must be greater than 0"),
        ("limits.retries = -1", "[agents.default.limits] retries: must be greater than or equal to 0"),
        ("limits.retry = 1", '[agents.default.limits] retry: unknown option; did you mean "retries"?'),
        ("context.compact_at = 80", "[agents.default.context] compact_at: must be less than or equal to 1"),
        ("context.compact_at = 0.05", "[agents.default.context] compact_at: must be greater than or equal to 0.1"),
        ("context.windows = 5", '[agents.default.context] windows: unknown option; did you mean "window"?'),
    ],
)
def test_a_fault_in_a_table_of_an_agent_names_its_line_and_the_right_form(desk: Desk, line: str, fault: str) -> None:
    assert desk.faults(f'[agents.default]\nmodel = "groq:a"\n\n{line}\n') == [f"4: {fault}"]


def test_a_missing_backend_is_a_fault_that_names_all_three(desk: Desk) -> None:
    assert desk.faults("[agents.default]\n") == [
        '1: [agents.default] backend: is missing; write backend = "model", "offline" or "package.module:factory"'
    ]


def test_instructions_have_one_source(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "soul.md").write_text("Be kind.", encoding="utf-8")
    text = '[agents.default]\nmodel = "groq:a"\ninstructions_file = "soul.md"\ninstructions = "Be brief."\n'

    assert desk.faults(text) == [
        "3: [agents.default] instructions_file: stands beside instructions; keep one of the two"
    ]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (
            "nowhere.md",
            "nowhere.md cannot be read: No such file or directory; write the path of a text that the account",
        ),
        (".", "cannot be read: Is a directory; write the path of a text"),
        ("binary.md", "binary.md is not UTF-8 text; save it as UTF-8"),
        ("blank.md", "blank.md is empty; write a text into it, or leave the option out"),
        ("huge.md", "huge.md is larger than 1 MiB; shorten it"),
        ("", "is no path; write the path of it, relative to the config file, or leave the option out"),
        ("a\\u0000b", "is no path; write the path of it"),
    ],
)
def test_a_file_of_instructions_that_is_no_readable_text_is_a_fault(
    desk: Desk, tmp_path: Path, written: str, words: str
) -> None:
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe")
    (tmp_path / "blank.md").write_text(" \n", encoding="utf-8")
    (tmp_path / "huge.md").write_text("x" * (1024 * 1024 + 1), encoding="utf-8")

    (fault,) = desk.faults(f'[agents.default]\nmodel = "groq:a"\ninstructions_file = "{written}"\n')

    assert fault.startswith("3: [agents.default] instructions_file: ")
    assert words in fault


def test_every_fault_of_an_agent_is_said_at_once_in_the_order_of_lines(desk: Desk) -> None:
    text = """\
[agents.default]
model = "gpt"
fallbacks = ["groq:a", "b"]
[agents.default.settings]
temperature = 3
[[agents.default.mcp]]
name = "a"
comand = "a"
[agents.default.mcp.env]
"A B" = "x"
[[agents.default.mcp]]
name = "b"
url = "b"
[agents.other]
model = "c"
[[agents.other.mcp]]
[[agents.other.mcp]]
name = 5
[agents.other.limits]
tool = 5
"""
    assert [fault.partition(":")[0] for fault in desk.faults(text)] == [
        "2",
        "3",
        "5",
        "8",
        "10",
        "13",
        "15",
        "16",
        "18",
        "20",
    ]


# Folders to send files from


SEND_FROM = '[agents.default]\nmodel = "groq:a"\nfiles = [{}]\n'
INSTEAD = 'make a folder for what may be sent, and name that: files = ["outbox"]'


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("'.'", "holds the config file, and secrets lie beside it"),
        ("'..'", "holds the config file, and secrets lie beside it"),
        ("'/'", "holds the config file, and secrets lie beside it"),
        ("'~/'", "holds the config file, and secrets lie beside it"),
        ("'outbox/..'", "holds the config file, and secrets lie beside it"),
        ("'link'", "holds the config file, and secrets lie beside it"),
        ("'state'", "holds the state directory, with every conversation"),
        ("'state/files'", "is in the state directory, where every conversation is"),
        ("'/proc'", "belongs to the system, and holds no files to send"),
        ("'/sys/kernel'", "belongs to the system, and holds no files to send"),
        ("'/dev'", "belongs to the system, and holds no files to send"),
    ],
)
def test_s03_a_folder_that_holds_what_is_the_desk_s_is_refused(desk: Desk, written: str, why: str) -> None:
    (desk.state / "files").mkdir(parents=True)
    (desk.file.parent / "outbox").mkdir()
    (desk.file.parent / "link").symlink_to(desk.file.parent)
    [fault] = desk.faults(SEND_FROM.format(written))
    assert fault.startswith("3: [agents.default] files")
    assert why in fault
    assert INSTEAD in fault


def test_s03_a_folder_around_the_state_is_refused_wherever_the_config_is(desk: Desk, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    (home / "data").mkdir()
    elsewhere = Desk(home / "config")
    elsewhere.state = home / "data" / "state"
    [fault] = elsewhere.faults(SEND_FROM.format("'../data'"))
    assert "holds the state directory" in fault


def test_s03_a_config_that_is_a_link_has_two_folders(desk: Desk, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "frontdesk.toml"
    real.parent.mkdir()
    real.touch()
    desk.file.symlink_to(real)
    for written in ("'.'", "'dotfiles'"):
        [fault] = desk.faults(SEND_FROM.format(written))
        assert "holds the config file" in fault


def test_s03_folders_of_their_own_are_taken(desk: Desk, tmp_path: Path) -> None:
    for name in ("outbox", "state-of-things"):
        (tmp_path / name).mkdir()
    found = agent(desk.load(SEND_FROM.format("'outbox', 'state-of-things'")))
    assert found.files == (tmp_path / "outbox", tmp_path / "state-of-things")


def test_s03_the_files_of_all_secrets_are_known(desk: Desk, tmp_path: Path) -> None:
    for name in ("key", "token", "header", "bearer"):
        (tmp_path / name).write_text("123456:ABC-def", encoding="utf-8")
    text = """\
[agents.default]
model = "openai:a"
api_key = "file:key"
[[agents.default.mcp]]
name = "a"
url = "http://127.0.0.1:9"
headers = {Authorization = "file:~/header", X-Token = "env:HEADER"}
[bots.telegram]
token = "credential:token"
[speech.transcribe]
api_key = "bearer"
"""
    loaded = desk.load(text, {"CREDENTIALS_DIRECTORY": str(tmp_path), "HEADER": "x"})
    assert loaded.settings.secret_files == {tmp_path / name for name in ("key", "header", "token")}
