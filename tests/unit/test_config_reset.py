"""The most specific reset rule wins, option by option, and nothing is left open."""

from __future__ import annotations

from datetime import time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from config.faults import ConfigFaults
from config.load import Loaded, load
from config.settings import ResolvedReset, Settings, StoreSettings
from config.zones import machine_zone, zone_exists

_DEFAULT = ResolvedReset(mode="both", idle_minutes=1440, at=time(4), zone="UTC", announce=True)


def load_text(directory: Path, text: str, timezone: str = "UTC") -> Loaded:
    file = directory / "frontdesk.toml"
    file.write_text(text, encoding="utf-8")
    return load(config=file, state=directory, environ={"TZ": timezone})


def test_by_default_a_day_without_messages_or_four_o_clock_resets() -> None:
    assert Settings().reset_for("terminal", "direct") == _DEFAULT


def test_the_most_specific_rule_wins_option_by_option(tmp_path: Path) -> None:
    settings = load_text(
        tmp_path,
        """\
[session.reset]
mode = "daily"
idle_minutes = 0.5
at = "05:00"
[session.reset.group]
idle_minutes = 7
at = "06:00"
timezone = "Asia/Tokyo"
[bots.telegram]
token = "1:a"
[bots.telegram.reset]
at = "07:30"
announce = false
[bots.terminal]
""",
    ).settings

    assert settings.reset_for("telegram", "group") == ResolvedReset(
        mode="daily", idle_minutes=7, at=time(7, 30), zone="Asia/Tokyo", announce=False
    )
    assert settings.reset_for("telegram", "direct") == ResolvedReset(
        mode="daily", idle_minutes=0.5, at=time(7, 30), zone="UTC", announce=False
    )
    assert settings.reset_for("terminal", "group") == ResolvedReset(
        mode="daily", idle_minutes=7, at=time(6), zone="Asia/Tokyo", announce=True
    )
    assert settings.reset_for("terminal", "thread") == ResolvedReset(
        mode="daily", idle_minutes=0.5, at=time(5), zone="UTC", announce=True
    )


def test_c54_on_a_machine_in_utc_the_hour_is_in_the_configured_zone(tmp_path: Path) -> None:
    of_the_desk = load_text(tmp_path, '[desk]\ntimezone = "Asia/Bangkok"\n[session.reset]\nat = "4:00"\n').settings
    of_the_reset = load_text(tmp_path, '[session.reset]\nat = "04:00"\ntimezone = "Asia/Bangkok"\n').settings

    for settings in (of_the_desk, of_the_reset):
        rules = settings.reset_for("telegram", "direct")
        assert (rules.at, rules.zone) == (time(4), "Asia/Bangkok")
        assert ZoneInfo(rules.zone).key == "Asia/Bangkok"


@pytest.mark.parametrize(
    "text", ["", "[desk]\n", '[desk]\ntimezone = "local"\n', '[session.reset]\ntimezone = "local"\n']
)
def test_c54_local_is_the_machine_s_zone_when_the_config_is_loaded(tmp_path: Path, text: str) -> None:
    assert load_text(tmp_path, text, "Asia/Bangkok").settings.reset_for("x", "direct").zone == "Asia/Bangkok"


def test_a_machine_zone_without_a_name_is_warned_of_only_if_it_is_used(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "[desk]\n", "CET-1CEST")

    assert loaded.settings.desk.timezone == "UTC"
    assert [warning.option for warning in loaded.warnings] == ["[desk] timezone"]
    assert load_text(tmp_path, '[desk]\ntimezone = "Asia/Tokyo"\n', "CET-1CEST").warnings == ()


def test_a_bot_s_zone_is_checked_like_every_other(tmp_path: Path) -> None:
    with pytest.raises(ConfigFaults, match=r":4: \[bots.telegram.reset\] timezone: is no time zone"):
        load_text(tmp_path, '[bots.telegram]\ntoken = "1:a"\n[bots.telegram.reset]\ntimezone = "X/Y"\n')


def test_the_machine_s_zone_is_that_of_tz_then_of_localtime_then_of_timezone(tmp_path: Path) -> None:
    etc = tmp_path / "etc"
    etc.mkdir()
    assert machine_zone({}, tmp_path) == "UTC"

    (etc / "localtime").write_bytes(b"TZif")
    assert machine_zone({}, tmp_path) is None

    (etc / "timezone").write_text("Asia/Tokyo\n")
    assert machine_zone({}, tmp_path) == "Asia/Tokyo"

    (etc / "localtime").unlink()
    (etc / "localtime").symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    assert machine_zone({}, tmp_path) == "Europe/Berlin"
    assert machine_zone({"TZ": ":America/Lima"}, tmp_path) == "America/Lima"
    assert machine_zone({"TZ": "/usr/share/zoneinfo/America/Lima"}, tmp_path) == "America/Lima"
    assert machine_zone({"TZ": "nonsense"}, tmp_path) is None


@pytest.mark.parametrize("name", ["", ".", "/", "Europe", "a\0b", "../UTC", "/etc/passwd", "x" * 300, "\ud800"])
def test_what_is_no_zone_is_none(name: str) -> None:
    assert not zone_exists(name)


def test_a_bot_s_own_access_and_proxy_win_over_the_general_ones(tmp_path: Path) -> None:
    text = """\
[network]
proxy = "http://a:1"
[access]
direct = "allow"
[bots.one]
platform = "telegram"
token = "1:a"
[bots.two]
platform = "telegram"
token = "2:a"
direct = "off"
proxy = "http://b:2"
[bots.terminal]
"""
    settings = load_text(tmp_path, text).settings

    assert [settings.direct_for(bot) for bot in ("one", "two", "terminal")] == ["allow", "off", "open"]
    assert [proxy.reveal() for bot in ("one", "two") if (proxy := settings.spoken_to[bot].proxy)] == [
        "http://a:1",
        "http://b:2",
    ]


@pytest.mark.parametrize(
    ("written", "opened"),
    [
        (None, "sqlite:////var/lib/frontdesk/frontdesk.db"),
        ("sqlite:///other.db", "sqlite:////var/lib/frontdesk/other.db"),
        ("sqlite:////srv/desk.db", "sqlite:////srv/desk.db"),
        ("postgresql://desk:pw@db/desk", "postgresql://desk:pw@db/desk"),
    ],
)
def test_the_store_is_in_the_state_directory_unless_the_config_says_otherwise(written: str | None, opened: str) -> None:
    assert StoreSettings.model_validate({"url": written}).url_in(Path("/var/lib/frontdesk")) == opened
