"""C61: hundreds of conversations through the installed service: what it holds does not grow."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.crash.scene import Talk
from tests.fakes.telegram import ThreadedTelegramServer
from tests.service.desk import OFFLINE, OPEN, Desk, telegram_bot
from tests.wire.daemon_world import person

TALKS = 50
"""Chats that take turns: to one chat a bot may send a message a second."""
ROUNDS = 10
"""In each chat: 500 in all."""
WARM = 2
GROWTH_KIB = 4096
CONNECTIONS = 16
"""Those to the platform come and go with how much is sent at once; one for each turn would be 400."""

FLOOD_RULES = {"rate", "retry_early"}
"""A busy machine may bring messages closer together than they were sent, and calls that were under way by then come
after the refusal. Other tests hold the paces; this one looks at what is held."""


@dataclass(frozen=True)
class Held:
    memory_kib: int
    threads: int
    files: int
    """Open ones that are no connections."""
    connections: int


def held(desk: Desk) -> Held:
    process = desk.machine.path(desk.proc)
    status = (process / "status").read_text(encoding="utf-8")
    memory, threads = (int(re.findall(rf"^{name}:\s+(\d+)", status, re.MULTILINE)[0]) for name in ("VmRSS", "Threads"))
    opened = _opened(process / "fd")
    connections = sum(1 for name in opened if name.startswith("socket:"))
    return Held(memory_kib=memory, threads=threads, files=len(opened) - connections, connections=connections)


def _opened(folder: Path) -> list[str]:
    found = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found.append(str(path.readlink()))
    return found


def reset_and_turn(talks: Sequence[Talk], desk: Desk, number: int) -> None:
    """Once in every chat."""
    for talk in talks:
        talk.type("/reset")
        talk.type(f"round {number}.")
    desk.until(lambda: all(talk.count(f"round {number}.") == 1 for talk in talks), f"round {number} is answered")


def test_c61_five_hundred_resets_and_turns_leave_memory_files_and_threads_as_they_were(desk: Desk) -> None:
    with ThreadedTelegramServer() as server:
        desk.configure(OPEN + OFFLINE + telegram_bot(server), {"telegram": server.token})
        desk.start()
        talks = [person(server, f"Ada {number}") for number in range(TALKS)]
        for number in range(WARM):
            reset_and_turn(talks, desk, number)
        before = held(desk)
        for number in range(WARM, ROUNDS):
            reset_and_turn(talks, desk, number)
        after = held(desk)
        sessions = len(json.loads(desk.call("sessions", "list", "--json").stdout))
        desk.stop()
        assert {violation.rule for violation in server.violations} <= FLOOD_RULES
    assert sessions >= TALKS * ROUNDS
    assert (after.files, after.threads) == (before.files, before.threads)
    assert after.connections < before.connections + CONNECTIONS
    assert after.memory_kib < before.memory_kib + GROWTH_KIB, (before, after)
