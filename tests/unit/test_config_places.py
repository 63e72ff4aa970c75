"""The config file and the state directory are looked for where the outside relies on."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.faults import ConfigFaults
from config.load import load
from config.places import config_file, state_directory


def written(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[desk]\n")
    return path


def test_the_config_is_the_one_given_then_the_variable_s_then_the_user_s(tmp_path: Path) -> None:
    users = written(tmp_path / "xdg/frontdesk/frontdesk.toml")
    environ = {"FRONTDESK_CONFIG": str(tmp_path / "named.toml"), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}

    assert config_file(tmp_path / "given.toml", environ) == tmp_path / "given.toml"
    assert config_file(None, environ) == tmp_path / "named.toml"
    assert config_file(None, {**environ, "FRONTDESK_CONFIG": ""}) == users


def test_the_user_s_config_is_in_the_home_directory_by_default(tmp_path: Path) -> None:
    users = written(tmp_path / ".config/frontdesk/frontdesk.toml")

    assert config_file(None, {"HOME": str(tmp_path)}) == users
    assert config_file(None, {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "relative"}) == users


def test_a_config_that_the_variable_names_and_that_is_missing_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ConfigFaults, match="No such file"):
        load(config=None, state=tmp_path, environ={"FRONTDESK_CONFIG": str(tmp_path / "nowhere.toml")})


def test_a_user_s_config_that_is_a_dead_link_is_a_fault_and_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".config/frontdesk").mkdir(parents=True)
    (tmp_path / ".config/frontdesk/frontdesk.toml").symlink_to("nowhere")

    with pytest.raises(ConfigFaults, match="No such file"):
        load(config=None, state=tmp_path, environ={"HOME": str(tmp_path)})


def test_a_relative_config_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert config_file(Path("a.toml"), {}) == tmp_path / "a.toml"


def test_the_state_is_where_given_then_systemd_s_first_directory_then_the_user_s(tmp_path: Path) -> None:
    environ = {"STATE_DIRECTORY": "/var/lib/frontdesk:/var/lib/other", "XDG_DATA_HOME": "/data", "HOME": "/home/x"}

    assert state_directory(tmp_path, environ) == tmp_path
    assert state_directory(None, environ) == Path("/var/lib/frontdesk")
    assert state_directory(None, {**environ, "STATE_DIRECTORY": ""}) == Path("/data/frontdesk")
    assert state_directory(None, {"HOME": "/home/x"}) == Path("/home/x/.local/share/frontdesk")


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_nowhere_to_keep_the_state_is_a_fault(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigFaults, match="--state: there is no state directory"):
        state_directory(None, environ)


def test_a_state_that_is_a_file_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ConfigFaults, match="is no directory"):
        state_directory(written(tmp_path / "state"), {})
    with pytest.raises(ConfigFaults, match="is no directory"):
        (tmp_path / "link").symlink_to("nowhere")
        state_directory(tmp_path / "link", {})
