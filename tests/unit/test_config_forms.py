"""A value in the wrong form is a fault that shows the right one; it is never taken for something else."""
# ruff: noqa: E501 - the expected faults are long lines, as they are printed

from __future__ import annotations

import re
from pathlib import Path

import pytest

from config.agents import ModelAgentSettings
from config.bots import PLATFORMS
from config.explain import explain
from config.faults import ConfigFaults
from config.mcp import McpSettings
from config.settings import Settings
from tests.unit.test_config_load import Desk, telegram


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("'[\"123\"]'", '2: [access] allow: must be a list; write allow = ["PLATFORM:123"]'),
        ('"123, 456"', '2: [access] allow: must be a list; write allow = ["PLATFORM:123", "PLATFORM:456"]'),
        ('"telegram:1, telegram:2"', '2: [access] allow: must be a list; write allow = ["telegram:1", "telegram:2"]'),
        ("123", '2: [access] allow: must be a list; write allow = ["PLATFORM:123"]'),
        ('""', "2: [access] allow: must be a list; write allow = []"),
        ("true", "2: [access] allow: must be a list; write allow = []"),
        ("{}", "2: [access] allow: must be a list; write allow = []"),
        (
            "[123]",
            '2: [access] allow, item 1: 123 does not say on which platform; write "telegram:123", with its platform, in quotes',
        ),
        (
            '["123"]',
            '2: [access] allow, item 1: "123" does not say on which platform; write "telegram:123", with its platform',
        ),
        (
            "['[\"123\"]']",
            '2: [access] allow, item 1: "["123"]" holds a list inside text; '
            'write each as a text of its own: ["telegram:1", "telegram:2"]',
        ),
        ('[""]', '2: [access] allow, item 1: is empty; write "platform:ID", or leave it out'),
        ("[[]]", '2: [access] allow, item 1: is no identity; write "platform:ID" as in "telegram:123456"'),
    ],
)
def test_c50_an_allow_list_in_the_wrong_form_is_a_fault_that_shows_the_right_one(
    desk: Desk, written: str, fault: str
) -> None:
    assert desk.faults(f"[access]\nallow = {written}\n") == [fault]


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("'[\"-123\"]'", "must be a list; write groups = [-123]"),
        ('"-123, -456"', "must be a list; write groups = [-123, -456]"),
        ("-123", "must be a list; write groups = [-123]"),
        ('"*"', "must be a list; write groups = [ID]"),
        ('""', "must be a list; write groups = []"),
    ],
)
def test_c50_a_list_of_groups_in_the_wrong_form_is_a_fault_that_shows_the_right_one(
    desk: Desk, written: str, fault: str
) -> None:
    text = f'[bots.telegram]\ntoken = "env:T"\ngroups = {written}\n'

    assert desk.faults(text, {"T": "1:a"}) == [f"3: [bots.telegram] groups: {fault}"]


def test_c63_false_without_quotes_switches_off(desk: Desk) -> None:
    loaded = desk.load('[session.reset]\nannounce = false\n[bots.telegram]\ntoken = "1:a"\nstream = false\n')

    assert loaded.settings.session.reset.announce is False
    assert telegram(loaded).stream is False


@pytest.mark.parametrize("written", ['"false"', '"off"', '"no"', '"False"'])
def test_c63_a_switch_in_quotes_is_a_fault_that_shows_the_right_form(desk: Desk, written: str) -> None:
    assert desk.faults(f"[session.reset]\nannounce = {written}\n") == [
        "2: [session.reset] announce: must be true or false; write announce = false, without quotes"
    ]


@pytest.mark.parametrize("written", ["off", "no", "False"])
def test_c63_a_switch_as_in_yaml_is_a_fault_that_shows_the_right_form(desk: Desk, written: str) -> None:
    (fault,) = desk.faults(f"[session.reset]\nannounce = {written}\n")

    assert fault.startswith("2: is no TOML")
    assert fault.endswith("write true or false")


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ('"yes"', "write announce = true, without quotes"),
        ("0", "write announce = false"),
        ("[]", "true or announce = false"),
    ],
)
def test_c63_other_forms_of_a_switch_are_faults_too(desk: Desk, written: str, hint: str) -> None:
    assert desk.faults(f"[session.reset]\nannounce = {written}\n")[0].endswith(hint)


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("4", 'is no time of day; write at = "04:00"'),
        ('"24:00"', 'is no time of day; write HH:MM in quotes, as in at = "04:00"'),
        ('"4 am"', 'is no time of day; write HH:MM in quotes, as in at = "04:00"'),
        ("04:00:30", 'is no time of day; write HH:MM in quotes, as in at = "04:00"'),
    ],
)
def test_an_hour_in_another_form_is_a_fault(desk: Desk, written: str, fault: str) -> None:
    assert desk.faults(f"[session.reset]\nat = {written}\n") == [f"2: [session.reset] at: {fault}"]


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("Asia/Bangkk", 'did you mean "Asia/Bangkok"?'),
        ("berlin", 'did you mean "Europe/Berlin"?'),
        ("Mars/Olympus", 'write an IANA name as in "Europe/Berlin", "UTC" or "local"'),
        ("", 'write an IANA name as in "Europe/Berlin", "UTC" or "local"'),
        ("../etc/passwd", 'write an IANA name as in "Europe/Berlin", "UTC" or "local"'),
        ("UTC\\u0000", 'did you mean "UTC"?'),
    ],
)
def test_an_unknown_time_zone_is_a_fault_with_the_nearest_name(desk: Desk, zone: str, hint: str) -> None:
    assert desk.faults(f'[desk]\ntimezone = "{zone}"\n') == [f"2: [desk] timezone: is no time zone; {hint}"]


_ODD = (
    *(
        "1",
        "-1",
        "0",
        "1e400",
        "nan",
        "-inf",
        "9" * 500,
        "true",
        "false",
        "1979-05-27",
        "07:32:00",
        "1979-05-27T07:32:00Z",
    ),
    *(
        '""',
        '" "',
        '"x"',
        '"0"',
        '"\\u0000"',
        '"{message}"',
        '"%s"',
        '"env:"',
        '"file:"',
        '"a:b"',
        '"http://[::1"',
        '"://@:"',
    ),
    *("[]", "[[]]", "[{}]", '[""]', "[1, true, nan]", "{}", "{a = 1}", "{name = 1}", "{platform = 1}", "{backend = 1}"),
)
_ROOT = sorted(Settings.model_fields)
_PLACES = [
    *((name,) for name in _ROOT),
    *((name, option) for name in _ROOT for option in ("x", "default", "telegram", "terminal")),
    *(
        (name, option)
        for name in ("desk", "store", "network", "access", "cache", "mailbox", "retention", "session")
        for option in getattr(Settings(), name).model_dump()
    ),
    *(("session", "reset", option) for option in Settings().session.reset.model_dump()),
    *(("session", "reset", "group", option) for option in Settings().session.reset.group.model_dump()),
    *(("bots", "telegram", option) for option in PLATFORMS["telegram"].model_fields),
    *(("bots", "terminal", option) for option in PLATFORMS["terminal"].model_fields),
    *(("bots", "telegram", "reset", option) for option in Settings().session.reset.model_dump()),
    *(("agents", "default", option) for option in ("backend", "options", "x", *ModelAgentSettings.model_fields)),
    *(
        ("agents", "default", table, option)
        for table in ("settings", "limits", "context", "mcp")
        for option in (*ModelAgentSettings(model="a:b").model_dump().get(table, ()), "x")
    ),
]


@pytest.mark.parametrize("place", _PLACES, ids=".".join)
def test_whatever_stands_in_an_option_it_is_settings_or_a_fault_with_its_line(
    desk: Desk, place: tuple[str, ...]
) -> None:
    for written in _ODD:
        try:
            desk.load(f"\n\n{'.'.join(place)} = {written}\n", {"T": "1:a"})
        except ConfigFaults as found:
            for row in str(found).split("\n"):
                assert re.match(rf"{re.escape(str(desk.file))}:3: [\[\w]", row), (written, row)


@pytest.mark.parametrize("option", McpSettings.model_fields)
def test_whatever_stands_in_an_option_of_a_tool_server_it_is_settings_or_a_fault_with_its_line(
    desk: Desk, option: str
) -> None:
    for written in _ODD:
        try:
            desk.load(f'\n\nagents.default = {{model = "a:b", mcp = [{{{option} = {written}}}]}}\n')
        except ConfigFaults as found:
            for row in str(found).split("\n"):
                assert re.match(rf"{re.escape(str(desk.file))}:3: \[\[?\w", row), (written, row)


def test_a_number_too_long_to_be_written_out_is_a_fault_like_any(desk: Desk) -> None:
    with pytest.raises(ConfigFaults, match="must be text in quotes"):
        desk.load(f"[desk]\nname = 0x{'f' * 5000}\n")


def test_words_of_the_library_are_not_shown() -> None:
    found = explain({"type": "value_error", "loc": ("listen", "host"), "msg": "Value error, is odd", "input": "x"})
    assert (found.message, found.hint) == ("is odd", "")
