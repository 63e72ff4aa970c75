"""S08: the finished daemon's process, as another process of its own user sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.daemon import Daemon
from tests.wire.daemon_world import CALM, OFFLINE

WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
"""Root may look into everything by its capabilities, not by its name."""
FRONTDESK = str(Path(sys.executable).with_name("frontdesk"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc and prctl")
def test_s08_the_daemon_s_environment_and_memory_are_its_own(tmp_path: Path) -> None:
    with Daemon(tmp_path, config=CALM + OFFLINE) as daemon:
        process = daemon.start(*WITHOUT_RIGHTS, FRONTDESK)
        daemon.until_ready()
        assert readable(process.pid) == set()
        with subprocess.Popen([*WITHOUT_RIGHTS, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdin is not None and other.stdout is not None
            other.stdin.write(b"here\n")
            other.stdin.flush()
            assert other.stdout.readline() == b"here\n"
            assert readable(other.pid) == {"environ", "maps"}
            other.stdin.close()


def readable(pid: int) -> set[str]:
    return {one for one in ("environ", "maps") if is_readable(f"/proc/{pid}/{one}")}


def is_readable(path: str) -> bool:
    command = [*WITHOUT_RIGHTS, "head", "-c", "1", path]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
