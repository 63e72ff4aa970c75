"""The config file becomes settings, or every fault in it is said at once, with its line and what to write."""
# ruff: noqa: E501 - the expected faults are long lines, as they are printed

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from config.agents import OfflineAgentSettings
from config.bots import TelegramSettings, TerminalSettings
from config.faults import ConfigFaults, Fault
from config.load import Loaded, load
from config.settings import Settings

_TOKEN = "123456:AAE-not-to-be-seen_anywhere"


class Desk:
    """A machine with one config file and an environment of its own."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "frontdesk.toml"
        self.state = directory / "state"
        self.environ = {"HOME": str(directory), "TZ": "UTC"}

    def load(self, text: str, environ: Mapping[str, str] | None = None) -> Loaded:
        self.file.write_text(text, encoding="utf-8")
        return load(config=self.file, state=self.state, environ={**self.environ, **(environ or {})})

    def faults(self, text: str, environ: Mapping[str, str] | None = None) -> list[str]:
        """The faults as printed, without the file's name."""
        with pytest.raises(ConfigFaults) as raised:
            self.load(text, environ)
        return [row.removeprefix(f"{self.file}:") for row in str(raised.value).split("\n")]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def telegram(loaded: Loaded, name: str = "telegram") -> TelegramSettings:
    bot = loaded.settings.bots[name]
    assert isinstance(bot, TelegramSettings)
    return bot


# What a good file gives


def test_without_a_file_the_defaults_serve(desk: Desk) -> None:
    loaded = load(config=None, state=desk.state, environ=desk.environ)

    assert loaded.settings == Settings()
    assert loaded.settings.agents == {"default": OfflineAgentSettings()}
    assert (loaded.path, loaded.state_dir, loaded.warnings) == (None, desk.state, ())


def test_a_bot_named_like_its_platform_need_not_say_so(desk: Desk) -> None:
    loaded = desk.load('[bots.telegram]\ntoken = "env:T"\n[bots.second]\nplatform = "terminal"\n', {"T": "1:a"})

    assert telegram(loaded).token.reveal() == "1:a"
    assert telegram(loaded).name == "telegram"
    assert loaded.settings.bots["second"] == TerminalSettings(name="second")


def test_group_ids_may_be_numbers_or_text(desk: Desk) -> None:
    loaded = desk.load('[bots.telegram]\ntoken = "env:T"\ngroups = [-1001234567890, "-5"]', {"T": "1:a"})

    assert telegram(loaded).groups == ("-1001234567890", "-5")


def test_a_byte_order_mark_and_windows_line_ends_are_no_fault(desk: Desk) -> None:
    desk.file.write_bytes(b'\xef\xbb\xbf[desk]\r\nname = "A"\r\nnmae = 1\r\n')

    with pytest.raises(ConfigFaults, match=r":3: \[desk\] nmae: unknown option"):
        load(config=desk.file, state=desk.state, environ=desk.environ)


def test_an_agent_may_be_a_module_s_factory_with_options(desk: Desk) -> None:
    loaded = desk.load(
        '[agents.default]\nbackend = "tests.fakes.agent:make"\noptions = {words = 3, loud = true, rate = 0.5}'
    )

    agent = loaded.settings.agents["default"]
    assert agent.model_dump()["options"] == {"words": 3, "loud": True, "rate": 0.5}


def test_loading_twice_gives_equal_settings_and_changes_nothing(desk: Desk) -> None:
    text = '[bots.telegram]\nagent = "default"\n'
    environ = {"TELEGRAM_BOT_TOKEN": "1:a"}

    assert desk.load(text, environ) == desk.load(text, environ)
    assert desk.file.read_text(encoding="utf-8") == text
    assert not desk.state.exists()


def test_a_file_that_sets_nothing_is_warned_of(desk: Desk) -> None:
    (warning,) = desk.load("# [desk]\n").warnings

    assert str(warning) == f"{desk.file}: sets nothing: the defaults serve; uncomment what you need"


# Bots from the environment


def test_a_token_in_the_environment_switches_on_telegram(desk: Desk) -> None:
    loaded = load(config=None, state=desk.state, environ={**desk.environ, "TELEGRAM_BOT_TOKEN": f" {_TOKEN}\n"})

    assert telegram(loaded).token.reveal() == _TOKEN


def test_a_token_in_the_environment_adds_telegram_to_a_file_without_it(desk: Desk) -> None:
    loaded = desk.load("[bots.terminal]\n", {"TELEGRAM_BOT_TOKEN": _TOKEN})

    assert set(loaded.settings.bots) == {"terminal", "telegram"}


@pytest.mark.parametrize("name", ["telegram", "mine"])
def test_a_token_in_the_environment_fills_a_bot_without_one(desk: Desk, name: str) -> None:
    loaded = desk.load(f'[bots.{name}]\nplatform = "telegram"\nstream = false', {"TELEGRAM_BOT_TOKEN": _TOKEN})

    assert set(loaded.settings.bots) == {name}
    assert telegram(loaded, name).token.reveal() == _TOKEN
    assert telegram(loaded, name).stream is False


def test_a_token_in_the_file_wins_over_the_environment(desk: Desk) -> None:
    loaded = desk.load('[bots.mine]\nplatform = "telegram"\ntoken = "9:z"', {"TELEGRAM_BOT_TOKEN": _TOKEN})

    assert set(loaded.settings.bots) == {"mine"}
    assert telegram(loaded, "mine").token.reveal() == "9:z"


def test_of_two_bots_none_is_guessed_for_the_token_in_the_environment(desk: Desk) -> None:
    text = '[bots.telegram]\n[bots.other]\nplatform = "telegram"\ntoken = "9:z"'

    assert desk.faults(text, {"TELEGRAM_BOT_TOKEN": _TOKEN}) == [
        '1: [bots.telegram] token: is missing; write token = "env:NAME", "file:PATH" or "credential:NAME"'
    ]


def test_an_empty_token_in_the_environment_switches_on_nothing_and_says_so(desk: Desk) -> None:
    loaded = load(config=None, state=desk.state, environ={**desk.environ, "TELEGRAM_BOT_TOKEN": ""})

    assert loaded.settings.bots == {}
    assert [str(warning) for warning in loaded.warnings] == [
        "environment: TELEGRAM_BOT_TOKEN is empty: it switches on no bot; set or unset TELEGRAM_BOT_TOKEN"
    ]


def test_a_blank_token_in_the_environment_is_a_fault_of_the_environment(desk: Desk) -> None:
    with pytest.raises(ConfigFaults) as raised:
        desk.load("[desk]\n", {"TELEGRAM_BOT_TOKEN": "  "})

    (fault,) = raised.value.faults
    assert (fault.file, fault.line, fault.option) == ("environment", None, "[bots.telegram] token")
    assert fault.message == "the environment variable TELEGRAM_BOT_TOKEN is empty"


# Faults


def test_every_fault_is_said_at_once_in_the_order_of_lines_with_the_nearest_name(desk: Desk) -> None:
    text = """\
[desk]
nmae = "x"
max_turns = "64"
[session.reset]
announce = "false"
mode = "dayly"
[session.reset.group]
idle_minuts = 5
[bots.telegram]
tokn = "x"
agent = "clever"
[bots.irc]
[lissen]
port = 1
"""
    expected = """\
2: [desk] nmae: unknown option; did you mean "name"?
3: [desk] max_turns: must be a number; write max_turns = 64, without quotes
5: [session.reset] announce: must be true or false; write announce = false, without quotes
6: [session.reset] mode: must be "none" or "idle" or "daily" or "both"; did you mean "daily"?
8: [session.reset.group] idle_minuts: unknown option; did you mean "idle_minutes"?
9: [bots.telegram] token: is missing; write token = "env:NAME", "file:PATH" or "credential:NAME"
10: [bots.telegram] tokn: unknown option; did you mean "token"?
11: [bots.telegram] agent: there is no agent "clever"; there is: default
12: [bots.irc]: platform is missing; write platform = "telegram" or platform = "discord" or platform = "slack" or platform = "terminal"
"""
    *faults, last = desk.faults(text)

    assert "\n".join(faults) + "\n" == expected
    assert last.startswith('13: [lissen]: unknown option; did you mean "listen"?')


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("desk = 5", "1: [desk]: must be a table; write [desk] and its options below"),
        ("bots = 5", "1: [bots]: must be a table; write [bots] and its options below"),
        ("agents = []", "1: [agents]: must be a table; write [agents] and its options below"),
        ("[bots]\nx = 5", "2: [bots.x]: must be a table; write [bots.x] and its options below"),
        ("[[desk]]", "1: [desk]: must be a table; write [desk] and its options below"),
        ('[bots.x]\nplatform = "telegam"', '1: [bots.x]: "telegam" is no platform; did you mean "telegram"?'),
        ('[bots.x]\nplatform = "irc"', '1: [bots.x]: "irc" is no platform; known: telegram, discord, slack, terminal'),
        (
            '[bots.terminal]\nname = "x"',
            "2: [bots.terminal] name: unknown option; the bot's name is NAME of [bots.NAME]",
        ),
        (
            '[bots."a b"]\nplatform = "terminal"',
            '1: [bots] "a b": is no name; write letters, digits, -, _ and ., at most 64',
        ),
        ('[bots.person]\nplatform = "terminal"', "1: [bots] person: is a reserved name; choose another"),
        ("[agents.x]\nbackend = 'offline'", '1: [agents]: none is named "default"; name one [agents.default]'),
        (
            '[agents.default]\nbackend = "clever"',
            '2: [agents.default] backend: "clever" is no backend; write "model", "offline" or "package.module:factory"',
        ),
        (
            '[agents.default]\nbackend = "a:b"\noptions = {x = [1]}',
            "3: [agents.default.options] x: must be text, a number, true or false; write lists and dates as text",
        ),
        ("[desk]\nmax_turns = 1.5", "2: [desk] max_turns: must be a whole number"),
        ("[desk]\nmax_turns = 0", "2: [desk] max_turns: must be greater than or equal to 1"),
        ("[desk]\nmax_turns = true", "2: [desk] max_turns: must be a whole number; write max_turns = NUMBER"),
        (f"[desk]\nmax_turns = 1{'0' * 400}", "2: [desk] max_turns: must be less than or equal to 100000"),
        ("[desk]\ndrain_s = nan", "2: [desk] drain_s: must be a finite number"),
        ("[desk]\nname = 5", '2: [desk] name: must be text in quotes; write name = "5"'),
        (
            '[desk]\nname = "a\\nb"',
            '2: [desk] name: must be one line of visible text; write it as in name = "Frontdesk"',
        ),
        (
            "[access]\ndirect = false",
            '2: [access] direct: must be "pairing" or "allow" or "open" or "off"; write direct = "off"',
        ),
        (
            '[store]\nurl = "sqlite://"',
            '2: [store] url: is no store; write "sqlite:////PATH/TO/FILE" or "postgresql://USER@HOST/DATABASE"',
        ),
        (
            '[network]\nproxy = "socks5://h:1"',
            '2: [network] proxy: is no HTTP proxy; write it as in "http://127.0.0.1:3128"',
        ),
        (
            '[bots.telegram]\ntoken = "1:a"\napi_base = "localhost:8081"',
            '3: [bots.telegram] api_base: is no address of a server; write it as in "http://127.0.0.1:8081", without password or query',
        ),
        (
            '[bots.telegram]\ntoken = "1:a"\ngroups = ["*"]',
            "3: [bots.telegram] groups, item 1: is no Telegram group; write the group's id, a negative number, as in groups = [-1001234567890]",
        ),
        (
            '[bots.a]\nplatform = "telegram"\ntoken = "1:a"\n[bots.b]\nplatform = "telegram"\ntoken = "1:a"',
            "two bots have one token, and each message would be answered twice; keep one of the two",
        ),
    ],
)
def test_a_fault_names_its_line_its_option_and_the_right_form(desk: Desk, text: str, fault: str) -> None:
    assert [row.strip() for row in desk.faults(text)] == [fault]


def test_a_missing_directory_for_the_state_is_said_together_with_the_faults_of_the_file(desk: Desk) -> None:
    desk.file.write_text("[dsk]\n", encoding="utf-8")

    with pytest.raises(ConfigFaults) as raised:
        load(config=desk.file, state=None, environ={})

    assert [fault.option for fault in raised.value.faults] == ["[dsk]", "--state"]


# Files that are no config


def test_a_file_that_is_given_and_missing_is_a_fault(desk: Desk) -> None:
    with pytest.raises(ConfigFaults, match="cannot be read: No such file or directory"):
        load(config=desk.file, state=desk.state, environ=desk.environ)


def test_a_file_that_cannot_be_read_is_a_fault(desk: Desk) -> None:
    desk.file.mkdir()

    with pytest.raises(ConfigFaults, match="cannot be read: Is a directory"):
        load(config=desk.file, state=desk.state, environ=desk.environ)


def test_a_file_that_is_not_utf_8_is_a_fault_with_its_line(desk: Desk) -> None:
    desk.file.write_bytes(b'[desk]\nname = "caf\xe9"\n')

    with pytest.raises(ConfigFaults, match=":2: is not UTF-8; save it as UTF-8"):
        load(config=desk.file, state=desk.state, environ=desk.environ)


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("[desk]\n\tname: x\n", 2, "write KEY = VALUE"),
        ("[desk]\nname = Bob\n", 2, 'put text in quotes, as in name = "Frontdesk"'),
        ("[desk]\nname = \u201cBob\u201d\n", 2, "use straight quotes"),
        ("[session.reset]\nannounce = False\n", 2, "write true or false"),
        ("[desk]\nname =\n", 2, "leave the line out for the default"),
        ('[desk]\nname = "half', 2, ""),
        ("[desk\n", 1, ""),
        ("[desk]\nmax_turns = 1\nmax_turns = 2\n", 3, ""),
        ("[bots.telegram]\ngroups = [1,\n", 2, ""),
    ],
)
def test_c62_a_file_that_is_no_toml_is_refused_with_its_line(desk: Desk, text: str, line: int, hint: str) -> None:
    (fault,) = desk.faults(text)

    assert fault.startswith(f"{line}: is no TOML: ")
    assert fault.endswith(hint)


def test_c62_a_tab_is_no_fault_in_toml(desk: Desk) -> None:
    assert desk.load('[desk]\n\tname\t=\t"Bob"\n').settings.desk.name == "Bob"


def test_c62_a_broken_file_is_refused_at_every_load_and_loads_again_once_mended(desk: Desk) -> None:
    good = desk.load('[desk]\nname = "Bob"\n')

    assert desk.faults("[desk]\nname: Bob\n")[0].startswith("2: is no TOML")
    assert desk.faults("[desk]\nname: Bob\n")[0].startswith("2: is no TOML")
    assert desk.load('[desk]\nname = "Bob"\n') == good


def test_nesting_without_end_is_a_fault(desk: Desk) -> None:
    assert desk.faults("a = " + "[" * 100_000) == [" is nested too deeply"]


def test_a_warning_reads_like_a_fault() -> None:
    warning = Fault(file="a.toml", line=3, option="[store] url", message="is slow", hint="write less")

    assert str(warning) == "a.toml:3: [store] url: is slow; write less"


# Agents that people may choose


TWO_AGENTS = """\
[agents.default]
backend = "offline"
[agents.operations]
backend = "offline"
[bots.telegram]
token = "1:abc"
"""


def test_s02_a_bot_offers_its_own_agent_unless_it_names_more(desk: Desk) -> None:
    assert telegram(desk.load(TWO_AGENTS)).agents == ()
    assert telegram(desk.load(f'{TWO_AGENTS}agents = ["operations"]')).agents == ("operations",)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('["operation"]', 'there is no agent "operation"; did you mean "operations"?'),
        ('["default", "Operations"]', 'there is no agent "Operations"; did you mean "operations"?'),
        ('["zzz"]', 'there is no agent "zzz"; there is: default, operations'),
    ],
)
def test_s02_an_agent_that_there_is_none_of_is_named_with_the_nearest(desk: Desk, written: str, said: str) -> None:
    [fault] = desk.faults(f"{TWO_AGENTS}agents = {written}")
    assert fault.startswith("7: [bots.telegram] agents")
    assert fault.endswith(said)
