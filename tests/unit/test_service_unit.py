"""The unit: what systemd thinks of it, and that its times fit the settings."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from config.settings import DeskSettings
from core.main import STOP_S

UNIT = Path(__file__).parents[2] / "systemd" / "frontdesk.service"
EXPOSURE = 1.3


@pytest.fixture
def analyze() -> str:
    found = shutil.which("systemd-analyze")
    if found is None and os.environ.get("CI") != "true":
        pytest.skip("systemd-analyze is not here; it comes with systemd")
    assert found is not None
    return found


def setting(name: str) -> str:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNIT)
    return parser["Service"][name]


def test_systemd_finds_no_fault(analyze: str, tmp_path: Path) -> None:
    """With a program that is there, since this machine has none installed."""
    here = re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text())
    (tmp_path / UNIT.name).write_text(re.sub(r"(?m)^WorkingDirectory=.*", "WorkingDirectory=/", here))
    done = subprocess.run([analyze, "verify", tmp_path / UNIT.name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_it_may_do_little_more_than_talk_to_the_network(analyze: str) -> None:
    done = subprocess.run([analyze, "security", "--offline=true", UNIT], capture_output=True, text=True, check=False)
    [level] = re.findall(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
    assert float(level) <= EXPOSURE


def test_c59_it_waits_for_longer_than_draining_takes() -> None:
    assert float(setting("TimeoutStopSec")) > DeskSettings().drain_s + STOP_S


def test_a_faulty_config_is_not_tried_again() -> None:
    assert setting("RestartPreventExitStatus") == "78"
    assert setting("Restart") == "on-failure"
    assert setting("Type") == "notify"


def test_reloading_needs_no_program_that_a_small_machine_lacks() -> None:
    assert setting("ExecReload") == "/bin/sh -c 'kill -HUP $MAINPID'"


def test_s09_a_reader_that_the_kernel_ends_for_want_of_memory_does_not_end_the_service() -> None:
    assert setting("OOMPolicy") == "continue"


def test_s09_a_reader_may_step_back_in_the_service() -> None:
    """The last line of one name is what the parser keeps; it adds to what the lines before it allow."""
    assert setting("SystemCallFilter") == "setpriority"


@pytest.mark.parametrize("name", ["install-service", "uninstall-service", "frontdesk", "places.sh"])
def test_the_scripts_can_be_read_by_their_shell(name: str) -> None:
    script = UNIT.with_name(name)
    shell = "sh" if script.read_text().startswith("#!/bin/sh") else "bash"
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert name == "places.sh" or os.access(script, os.X_OK)


def test_unit_command_and_scripts_name_the_same_places() -> None:
    places = dict(re.findall(r"(?m)^([A-Z]+)=(/\S+|\$\S+)$", UNIT.with_name("places.sh").read_text()))
    command = UNIT.with_name("frontdesk").read_text()
    assert places["CURRENT"] == "$PROGRAM/.venv"
    program, config = f"{places['PROGRAM']}/.venv/bin/frontdesk", f"{places['SETTINGS']}/frontdesk.toml"
    assert setting("ExecStart") == f"{program} run --config {config}"
    assert setting("WorkingDirectory") == places["PROGRAM"]
    assert f"/var/lib/{setting('StateDirectory')}" == places["STATE"]
    for place in (program, config, places["STATE"], f"{places['SETTINGS']}/secrets"):
        assert place in command
