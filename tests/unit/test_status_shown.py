"""`status` and `sessions list` as people see them: several bots on a terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEADLINE_S = 20.0
AT = "2026-11-28T07:37:07.996337Z"
BOTS: list[dict[str, str | None]] = [
    {"name": "telegram", "platform": "telegram", "account": "7123456789", "state": "up", "detail": None},
    {"name": "discord", "platform": "discord", "account": "1234567890123456789", "state": "failed",
     "detail": "Discord lets the bot read no messages: switch on Message Content Intent at its portal, Bot"},
    {"name": "slack", "platform": "slack", "account": "T0123456789/U0123456789", "state": "up", "detail": None},
]  # fmt: skip
STATUS = {"ready": True, "bots": [{**bot, "last_inbound_at": AT} for bot in BOTS]}
SESSIONS = [{"key": "support/dm/42", "id": "01a22116-20d1-7000-8fec-9ddf1c2ebb5c", "source": "support", "title": ""}]


def lines_of(program: str, columns: int) -> list[str]:
    """What it prints on a terminal that is so wide."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environ = {"PATH": os.environ["PATH"], "TERM": "xterm", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", f"{program}; print('end')"]
    subprocess.run(command, cwd=ROOT, stdin=slave, stdout=slave, env=environ, check=True, timeout=DEADLINE_S)
    os.close(slave)
    told = b""
    while not told.endswith(b"end\r\n"):
        told += os.read(master, 65536)
    os.close(master)
    return re.sub(r"\x1b\[[0-9;]*m", "", told.decode()).splitlines()[:-1]


def test_each_bot_has_one_line_on_80_columns_and_what_to_do_stands_below() -> None:
    ready, head, *rest = lines_of(f"from core.cli.status import show; show({STATUS!r})", 80)
    bots, discord = rest[: len(BOTS)], rest[len(BOTS)]
    assert ready == "ready"
    assert head.split() == ["bot", "platform", "account", "state", "last", "message"]
    assert [line.split() for line in bots] == [
        [bot["name"], bot["platform"], bot["account"], bot["state"], "2026-11-28T07:37:07Z"] for bot in BOTS
    ]
    assert all(len(line) <= 80 for line in bots)
    assert discord == f"discord: {BOTS[1]['detail']}"


@pytest.mark.parametrize("columns", [80, 200])
def test_a_session_is_listed_with_the_bot_that_it_came_by(columns: int) -> None:
    text = "\n".join(lines_of(f"from core.cli.sessions import show_list; show_list({SESSIONS!r})", columns))
    assert re.search(r"source: support$" if columns == 80 else r"session +title +source +messages", text, re.MULTILINE)
    assert text.count("support") == 2
