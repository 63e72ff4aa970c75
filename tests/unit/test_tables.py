"""What verbs print for people: ids, keys and times whole on a narrow terminal, and nothing but the text on a pipe."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from core.cli import tables

ROOT = Path(__file__).parents[2]
DEADLINE_S = 20.0
ID = "01a22116-20d1-7000-8fec-9ddf1c2ebb5c"
KEY = "telegram/dm/7123456789"
COLUMNS = {"key": "key", "id": "session", "title": "title", "messages": "messages", "last_at": "last"}
SESSION: dict[str, Any] = {
    "key": KEY,
    "id": ID,
    "title": "A talk about many things",
    "messages": 12,
    "last_at": "2026-11-28T07:37:07.996337Z",
}
SECOND = "2026-11-28T07:37:07Z"


def shown(rows: Sequence[object], columns: int | None) -> list[str]:
    """Lines of a terminal that is so wide; None: of a pipe."""
    words = f"tables.print_rows({rows!r}, {COLUMNS!r}, empty='none')"
    program = [sys.executable, "-c", f"from core.cli import tables; {words}"]
    if columns is None:
        return subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environ = {"PATH": os.environ["PATH"], "TERM": "xterm", "PYTHONPATH": str(ROOT)}
    subprocess.run(program, cwd=ROOT, stdin=slave, stdout=slave, env=environ, check=True, timeout=DEADLINE_S)
    os.close(slave)
    told = b""
    while not told.endswith(b"\n"):
        told += os.read(master, 65536)
    os.close(master)
    return re.sub(r"\x1b\[[0-9;]*m", "", told.decode()).splitlines()


@pytest.mark.parametrize("columns", [40, 80, 100, 120, 200])
def test_what_is_copied_is_whole_on_any_terminal(columns: int) -> None:
    lines = shown([SESSION], columns)
    for whole in (ID, KEY, SECOND):
        assert any(whole in line for line in lines), lines
    assert all(line == line.rstrip() for line in lines)


def test_a_terminal_that_is_too_narrow_for_a_table_has_a_line_for_each_part() -> None:
    untitled = {**SESSION, "title": None, "messages": 0}
    assert shown([SESSION, untitled], 80) == [
        KEY, f"  session: {ID}", "  title: A talk about many things", "  messages: 12", f"  last: {SECOND}",
        KEY, f"  session: {ID}", "  messages: 0", f"  last: {SECOND}",
    ]  # fmt: skip


def test_words_are_folded_where_there_is_room_for_the_rest() -> None:
    heading, first, second, *_ = shown([SESSION], 112)
    assert heading.split() == ["key", "session", "title", "messages", "last"]
    assert first.split()[:2] == [KEY, ID]
    assert second.strip() == "things"


def test_a_pipe_gets_every_line_whole_and_without_padding() -> None:
    long = {**SESSION, "title": "w" * 300}
    heading, first, second = shown([long, SESSION], None)
    assert "w" * 300 in first
    assert second.split() == [KEY, ID, *SESSION["title"].split(), "12", SECOND]
    assert heading.startswith("key ")
    assert all(line == line.rstrip() for line in (heading, first, second))


def test_a_text_of_several_lines_goes_on_below_itself(capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_rows(
        [{"seq": 1, "text": "one\ntwo"}, {"seq": 2, "text": "at 1.5Z"}], {"seq": "seq", "text": "text"}, empty=""
    )
    assert capsys.readouterr().out.splitlines() == ["seq  text", "1    one", "     two", "2    at 1.5Z"]


@pytest.mark.parametrize(
    ("time", "told"),
    [("2026-11-28T07:37:07.996337Z", SECOND), (SECOND, SECOND), (None, "None")],
)
def test_times_are_told_to_the_second(time: str | None, told: str) -> None:
    assert tables.second(time) == told
