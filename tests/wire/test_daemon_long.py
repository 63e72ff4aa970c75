"""The real process over hundreds of conversations: what it holds does not grow."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.bench.figures import loaded

pytestmark = [
    pytest.mark.endurance,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root sees the files of a daemon: run the tests as root"),
]

ROUNDS = 500
WARM = 100


def held(pid: int) -> tuple[int, int, int]:
    """Resident memory in KiB, open files, threads."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    numbers = [int(re.findall(rf"^{name}:\s+(\d+)", status, re.MULTILINE)[0]) for name in ("VmRSS", "Threads")]
    return numbers[0], len(os.listdir(f"/proc/{pid}/fd")), numbers[1]


def one_round(into: IO[str], out: IO[str]) -> None:
    into.write("hello\n/new\n")
    into.flush()
    while not out.readline().startswith("New conversation."):
        pass


def test_c61_five_hundred_resets_and_turns_leave_memory_files_and_threads_as_they_were(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("frontdesk")), "run", "--state", str(tmp_path / "state")]
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environ
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(WARM):
            one_round(process.stdin, process.stdout)
        memory, files, threads = held(process.pid)
        for _ in range(ROUNDS - WARM):
            one_round(process.stdin, process.stdout)
        later = held(process.pid)
        process.stdin.close()
        process.stdout.read()
    assert process.returncode == 0
    assert later[1:] == (files, threads)
    assert later[0] < memory + 4096, (memory, later[0])


def test_c61_ten_thousand_conversations_in_one_process_leave_memory_files_and_tasks_as_they_were() -> None:
    command = [sys.executable, "-m", "tests.bench", "--figures", "long"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=300, cwd=Path(__file__).parents[2]
    )
    figures = list(loaded(done.stdout.splitlines()))
    assert len(figures) == 4
    assert all(figure.kept for figure in figures), done.stdout
