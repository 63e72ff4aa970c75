"""A server of tools is a program or an address, with words and secrets of its own, and each fault has its line."""
# ruff: noqa: E501 - the expected faults are long lines, as they are printed

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from config.agents import ModelAgentSettings
from config.load import Loaded
from config.mcp import McpSettings
from tests.unit.test_config_load import Desk

_AGENT = '[agents.default]\nmodel = "groq:a"\n[[agents.default.mcp]]\nname = "a"\n'


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def servers(loaded: Loaded) -> tuple[McpSettings, ...]:
    agent = loaded.settings.agents["default"]
    assert isinstance(agent, ModelAgentSettings)
    return agent.mcp


def server(desk: Desk, lines: str, environ: Mapping[str, str] | None = None) -> McpSettings:
    (found,) = servers(desk.load(f"{_AGENT}{lines}\n", environ))
    return found


def revealed(found: Mapping[str, object]) -> dict[str, str]:
    return {name: text.reveal() for name, text in found.items() if hasattr(text, "reveal")}


# What a good table gives


def test_a_name_and_a_program_are_enough(desk: Desk) -> None:
    assert server(desk, 'command = "x"').model_dump() == {
        "name": "a",
        "command": ("x",),
        "url": None,
        "env": {},
        "headers": {},
        "cwd": None,
        "allow": (),
        "deny": (),
        "read_only": (),
        "consent": (),
        "per_session": False,
        "timeout_s": 60,
    }


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('["uvx", "a b", ""]', ("uvx", "a b", "")),
        ('"uvx --from x  y"', ("uvx", "--from", "x", "y")),
        ('"uvx \'a b\' \\"c d\\" $HOME *"', ("uvx", "a b", "c d", "$HOME", "*")),
    ],
)
def test_a_command_is_a_list_or_a_text_that_is_split_like_a_shell_does(
    desk: Desk, written: str, words: tuple[str, ...]
) -> None:
    assert server(desk, f"command = {written}").command == words


def test_an_address_may_come_from_where_secrets_do(desk: Desk) -> None:
    plain = server(desk, 'url = "https://h/mcp"').url
    secret = server(desk, 'url = "env:TOOLS"', {"TOOLS": "https://h/s/abcdef"}).url

    assert plain is not None
    assert plain.reveal() == "https://h/mcp"
    assert secret is not None
    assert secret.reveal() == "https://h/s/abcdef"


def test_variables_are_texts_or_references_of_secrets(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k\n")
    lines = 'command = "x"\nenv = {A = "env:A", FILE = "file:key", LANG = " de DE ", EMPTY = "", URL = "http://h"}'

    assert revealed(server(desk, lines, {"A": "one two"}).env) == {
        "A": "one two",
        "FILE": "k",
        "LANG": " de DE ",
        "EMPTY": "",
        "URL": "http://h",
    }


def test_headers_are_texts_or_references_of_secrets(desk: Desk) -> None:
    lines = 'url = "https://h/mcp"\n[agents.default.mcp.headers]\nAuthorization = "env:H"\nX-Region = "eu"'

    assert revealed(server(desk, lines, {"H": "Bearer abc"}).headers) == {
        "Authorization": "Bearer abc",
        "X-Region": "eu",
    }


@pytest.mark.parametrize("written", [".", "tools", "{directory}/tools", "~/tools"])
def test_a_working_directory_starts_at_the_config(desk: Desk, tmp_path: Path, written: str) -> None:
    (tmp_path / "tools").mkdir()
    path = written.format(directory=tmp_path)

    found = server(desk, f'command = "x"\ncwd = "{path}"').cwd

    assert found == tmp_path / ("tools" if "tools" in written else "")


def test_rules_for_tools_are_patterns_of_their_names(desk: Desk) -> None:
    found = server(
        desk, 'command = "x"\nallow = ["read_*"]\ndeny = ["*"]\nread_only = ["a", "b?"]\nconsent = ["[ab]*"]'
    )

    assert (found.allow, found.deny, found.read_only, found.consent) == (("read_*",), ("*",), ("a", "b?"), ("[ab]*",))


def test_two_agents_may_have_servers_of_one_name(desk: Desk) -> None:
    loaded = desk.load(f'{_AGENT}command = "x"\n[agents.b]\nmodel = "groq:a"\nmcp = [{{name = "a", command = "y"}}]\n')

    assert [found.command for found in servers(loaded)] == [("x",)]


# Secrets


def test_secrets_of_tool_servers_are_shown_to_nobody_and_masked_in_logs(desk: Desk) -> None:
    text = f"""\
{_AGENT}command = "x"
env = {{TOKEN = "seen-1", OTHER = "env:S"}}
[[agents.default.mcp]]
name = "b"
url = "https://h/mcp?key=seen-3"
headers = {{Authorization = "Bearer seen-4"}}
[[agents.default.mcp]]
name = "c"
url = "env:U"
"""
    loaded = desk.load(text, {"S": "seen-2", "U": "https://h/seen-5"})

    for shown in (
        repr(loaded),
        str(loaded.settings),
        loaded.settings.model_dump_json(),
        repr(servers(loaded)),
        str(loaded.warnings),
    ):
        assert "seen-" not in shown
    assert {"seen-1", "seen-2", "key=seen-3", "Bearer seen-4", "seen-4", "https://h/seen-5"} <= loaded.settings.secrets
    assert [(warning.line, warning.option) for warning in loaded.warnings] == [
        (6, "[agents.default.mcp.env] TOKEN"),
        (9, "[[agents.default.mcp]] url"),
        (10, "[agents.default.mcp.headers] Authorization"),
    ]


def test_a_plain_text_is_neither_warned_of_nor_masked(desk: Desk) -> None:
    text = f"""\
{_AGENT}command = "x"
env = {{LANG = "en", DEBUG = "1", GIT_AUTHOR_NAME = "Bob", API_KEY = ""}}
[[agents.default.mcp]]
name = "b"
url = "https://h/mcp"
headers = {{X-Region = "eu"}}
"""
    loaded = desk.load(text)

    assert loaded.warnings == ()
    assert loaded.settings.secrets == frozenset()
    assert "https://h/mcp" in repr(loaded.settings)


# Faults


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (
            "",
            '3: [[agents.default.mcp]], item 1: has neither command nor url; write command = ["PROGRAM"] or url = "https://HOST/mcp"',
        ),
        (
            'command = "x"\nurl = "http://h"',
            "6: [[agents.default.mcp]] url: stands beside command; keep one of the two",
        ),
        (
            'command = "x"\nheaders = {A = "b"}',
            "6: [[agents.default.mcp]] headers: means nothing with command; leave it out",
        ),
        ('url = "http://h"\ncwd = "."', "6: [[agents.default.mcp]] cwd: means nothing with url; leave it out"),
        (
            'url = "http://h"\n[agents.default.mcp.env]\nA = "b"',
            "6: [[agents.default.mcp]] env: means nothing with url; leave it out",
        ),
        *(
            (
                f"command = {written}",
                '5: [[agents.default.mcp]] command: names no program; write command = ["PROGRAM", "ARGUMENT"]',
            )
            for written in ('""', '" "', "[]", '[""]', '["", "x"]')
        ),
        (
            'command = "x \'y"',
            '5: [[agents.default.mcp]] command: holds a quote or backslash without its other half; write it as a list: command = ["PROGRAM", "ARGUMENT"]',
        ),
        (
            'command = ["x",\n"a\\u0000b"]',
            "5: [[agents.default.mcp]] command: holds a NUL, which no argument may; take it out",
        ),
        ('command = ["x",\n5]', '6: [[agents.default.mcp]] command, item 2: must be text in quotes; write "5"'),
        *(
            (
                f"url = {json.dumps(written)}",
                '5: [[agents.default.mcp]] url: is no address of a server; write it as in "https://tools.example.com/mcp", or "env:NAME"',
            )
            for written in ("h/mcp", "ws://h", "http://", "http://[::1")
        ),
        (
            'command = "x"\nenv = {"A B" = "x"}',
            '6: [agents.default.mcp.env] "A B": is no name of an environment variable; write letters, digits and _',
        ),
        ('command = "x"\nenv = {A = 5}', "6: [agents.default.mcp.env] A: must be text; write it in quotes"),
        (
            'command = "x"\n[agents.default.mcp.env]\nB = "b"\nA = "env:NO"',
            "8: [agents.default.mcp.env] A: the environment variable NO is not set; set NO, or name another source",
        ),
        (
            'command = "x"\nenv = {A = "${HOME}"}',
            '6: [agents.default.mcp.env] A: a config file knows no $ variables; write "env:HOME"',
        ),
        (
            'url = "http://h"\nheaders = {A = "b\\r\\nC: d"}',
            "6: [agents.default.mcp.headers] A: holds control characters inside; copy it again, alone on one line",
        ),
        (
            'url = "http://h"\nheaders = {"A:" = "b"}',
            '6: [agents.default.mcp.headers] "A:": is no name of an HTTP header; write letters, digits and -',
        ),
        (
            'command = "x"\ncwd = "/nowhere"',
            "6: [[agents.default.mcp]] cwd: /nowhere is no directory; make it, or name another",
        ),
        ('command = "x"\nallow = "a*"', '6: [[agents.default.mcp]] allow: must be a list; write allow = ["a*"]'),
        (
            'command = "x"\nconsent = ["a",\n""]',
            '7: [[agents.default.mcp]] consent, item 2: is no pattern of tools\' names; write it as in "read_*"',
        ),
        ('command = "x"\ntimeout_s = 0', "6: [[agents.default.mcp]] timeout_s: must be greater than 0"),
        ('command = "x"\nalow = []', '6: [[agents.default.mcp]] alow: unknown option; did you mean "allow"?'),
        (
            'command = "x"\n[[agents.default.mcp]]\ncommand = "y"',
            '6: [[agents.default.mcp]] name: is missing; write it as in name = "files"',
        ),
        (
            'command = "x"\n[[agents.default.mcp]]\ncommand = "y"\nname = "a"',
            "8: [[agents.default.mcp]] name: is the name of another server above; choose another",
        ),
        (
            'command = "x"\n[[agents.default.mcp]]\ncommand = "y"\nname = "a.b"',
            "8: [[agents.default.mcp]] name: is no name; write letters, digits, _ and -, at most 64: tools are called NAME_TOOL",
        ),
    ],
)
def test_a_fault_of_a_tool_server_names_its_line_and_the_right_form(desk: Desk, lines: str, fault: str) -> None:
    assert desk.faults(f"{_AGENT}{lines}\n") == [fault]


@pytest.mark.parametrize("written", ['[agents.default.mcp]\nname = "a"', 'agents.default.mcp = "a"'])
def test_a_tool_server_outside_a_list_is_a_fault_that_shows_the_brackets(desk: Desk, written: str) -> None:
    head = 'agents.default.model = "groq:a"\n'

    assert desk.faults(f"{head}{written}\n") == [
        "2: [agents.default] mcp: must be a list; write [[agents.default.mcp]], in two brackets"
    ]


def test_faults_in_a_list_on_one_line_have_their_lines(desk: Desk) -> None:
    text = (
        '[agents.default]\nmodel = "groq:a"\nmcp = [\n{name = "a", command = "x"},\n{nam = "b", command = "y"},\n5]\n'
    )

    assert desk.faults(text) == [
        '5: [[agents.default.mcp]] name: is missing; write it as in name = "files"',
        '5: [[agents.default.mcp]] nam: unknown option; did you mean "name"?',
        "6: [[agents.default.mcp]], item 3: must be a table; write [[agents.default.mcp]] and its options below",
    ]
