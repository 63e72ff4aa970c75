"""One machine for all these tests, with the service installed; each test finds it stopped and as new."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.desk import AGENTS, CONFIG, DROPINS, SECRETS, STATE, Desk
from tests.service.fitness import obstacle
from tests.service.image import ROOT, fresh_root, one_run_at_a_time
from tests.service.machine import Machine, booted

HERE = Path(__file__).parent


# A machine that stops may leave a test server's connection open, which is noticed in whatever test comes next.
LEFT_OPEN = "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("service")
            item.add_marker(pytest.mark.filterwarnings(LEFT_OPEN))


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """One that runs, with the checkout in /srv/frontdesk, and nothing installed."""
    if found := obstacle():
        words = f"no machine can be booted here: {found.words}"
        if os.environ.get("CI") == "true" and not found.forbidden:
            pytest.fail(words)
        pytest.skip(words)
    console = tmp_path_factory.mktemp("machine") / "console"
    with one_run_at_a_time(), fresh_root() as root, booted(root, console) as made:
        yield made


@pytest.fixture
def newcomer(machine: Machine) -> Desk:
    """A desk on a machine that never had one."""
    desk = Desk(machine=machine)
    _forget(desk)
    desk.make("uninstall-service")
    machine.run("rm", "-rf", "/etc/frontdesk")
    return desk


@pytest.fixture
def desk(machine: Machine) -> Desk:
    """The installed desk, stopped, without config, state or drop-ins."""
    desk = Desk(machine=machine)
    _forget(desk)
    if not machine.path("/opt/frontdesk/.venv").is_symlink():
        desk.make("install-service")
    machine.write(f"{AGENTS}/sleeper.py", (ROOT / "tests" / "service" / "sleeper.py").read_text(encoding="utf-8"))
    desk.add_dropin("agents", f"[Service]\nEnvironment=PYTHONPATH={AGENTS}\n")
    return desk


def _forget(desk: Desk) -> None:
    desk.systemctl("stop", "frontdesk", check=False)
    desk.systemctl("reset-failed", "frontdesk", check=False)
    desk.machine.run("umount", STATE, check=False)
    desk.machine.run("sh", "-c", f"rm -rf {STATE} {DROPINS} {CONFIG} {SECRETS}/*")
    desk.systemctl("daemon-reload")
    desk.mark = desk.machine.journal_end()
