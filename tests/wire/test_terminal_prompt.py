"""The prompt, on a pseudo-terminal: what stands on the screen after what was typed."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import select
import stat
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from bots.terminal.prompt import HINT
from bots.terminal.rendering import finished, to_ansi
from tests.wire.echo_desk import answer_to
from tests.wire.test_terminal import DEADLINE_S, ROOT, daemon, program

CTRL_C, CTRL_D = "\x03", "\x04"
_TOKEN: Final = re.compile(r"\x1b\[(?P<args>[?0-9;]*)(?P<verb>[A-Za-z])|(?P<char>.)", re.DOTALL)


class DrawnScreen:
    """What a terminal without end shows after these bytes; it knows the sequences that prompt_toolkit writes."""

    def __init__(self) -> None:
        self.rows: list[str] = [""]
        self.row = self.column = 0

    @property
    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.rows)

    def feed(self, written: str) -> None:
        for token in _TOKEN.finditer(written):
            if token["char"]:
                self._put(token["char"])
            else:
                self._carry_out(token["verb"], token["args"])

    def _put(self, char: str) -> None:
        match char:
            case "\r":
                self.column = 0
            case "\n":
                self._to_row(self.row + 1)
            case "\b":
                self.column -= 1
            case _:
                before = self.rows[self.row].ljust(self.column)
                self.rows[self.row] = before[: self.column] + char + before[self.column + 1 :]
                self.column += 1

    def _carry_out(self, verb: str, args: str) -> None:
        count = int(args or 1) if args.isdigit() or not args else 0
        match verb:
            case "A":
                self.row -= count
            case "B":
                self._to_row(self.row + count)
            case "C":
                self.column += count
            case "D":
                self.column -= count
            case "J" | "K":
                self.rows[self.row] = self.rows[self.row][: self.column]
                if verb == "J":
                    del self.rows[self.row + 1 :]

    def _to_row(self, row: int) -> None:
        self.row = row
        self.rows += [""] * (row + 1 - len(self.rows))


class Seat:
    """A person's terminal with a program in it."""

    def __init__(self, master: int, slave: int, process: subprocess.Popen[bytes]) -> None:
        self.screen = DrawnScreen()
        self.process = process
        self._master, self._slave = master, slave

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until the text stands on the screen."""
        deadline = time.monotonic() + DEADLINE_S
        while text not in self.screen.text:
            ready, _, _ = select.select([self._master], [], [], deadline - time.monotonic())
            assert ready, f"{text!r} never came; there is:\n{self.screen.text}"
            self.screen.feed(os.read(self._master, 65_536).decode())

    @property
    def echoes(self) -> bool:
        """Whether the terminal itself shows what is typed, as it does before and after a prompt."""
        return bool(termios.tcgetattr(self._slave)[3] & termios.ECHO)

    def leave(self, keys: str = CTRL_D) -> int:
        """The exit code, after everything it still wrote."""
        self.type(keys)
        ended = os.pidfd_open(self.process.pid)
        while self._master in (ready := select.select([self._master, ended], [], [], DEADLINE_S)[0]):
            self.screen.feed(os.read(self._master, 65_536).decode())
        os.close(ended)
        assert ready, "it does not end"
        return self.process.wait(DEADLINE_S)


@contextmanager
def seat(name: str, state: Path) -> Iterator[Seat]:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (40, 80))
    environ = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(
        program(name, state), stdin=slave, stdout=slave, stderr=slave, start_new_session=True, cwd=ROOT, env=environ
    )
    try:
        yield Seat(master, slave, process)
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)


def test_an_answer_is_drawn_with_its_markup_and_stands_there_once(tmp_path: Path) -> None:
    with seat("talk", tmp_path) as person:
        person.wait_for(">")
        person.type("table\r")
        person.wait_for("The end.\n\n>")
        assert person.leave() == 0
    text = person.screen.text
    assert "**" not in text
    for word in ("Title", "A bold word.", "• one", "• two", "The end."):
        assert text.count(word) == 1, text


def test_an_answer_grows_until_it_is_stopped_by_ctrl_c(tmp_path: Path) -> None:
    with seat("talk", tmp_path) as person:
        person.wait_for(">")
        person.type("slow\r")
        person.wait_for("you sai\n>")
        person.type(CTRL_C)
        person.wait_for("you sai (stopped)\n\nyou said: /stop\n\n>")
        assert person.leave() == 0


def test_ctrl_c_at_an_idle_prompt_clears_the_line(tmp_path: Path) -> None:
    with seat("talk", tmp_path) as person:
        person.wait_for(">")
        person.type("half a line")
        person.wait_for("> half a line")
        person.type(CTRL_C + "hi\r")
        person.wait_for("you said: hi\n\n>")
        assert person.leave() == 0
    assert "you said: half" not in person.screen.text


def test_ctrl_c_at_an_empty_prompt_says_how_to_leave(tmp_path: Path) -> None:
    with seat("talk", tmp_path) as person:
        person.wait_for(f"({HINT})\n>")
        person.type(CTRL_C)
        person.wait_for(f"({HINT})\n({HINT})\n>")
        person.type("hi\r")
        person.wait_for("you said: hi\n\n>")
        assert person.leave() == 0


@pytest.mark.parametrize("line", ["/quit", " /exit "])
def test_quit_leaves_and_is_no_message(tmp_path: Path, line: str) -> None:
    with seat("talk", tmp_path) as person:
        person.wait_for(">")
        assert person.leave(f"{line}\r") == 0
    assert "you said" not in person.screen.text


def test_lines_may_be_typed_while_an_answer_grows(tmp_path: Path) -> None:
    with seat("talk", tmp_path) as person:
        person.wait_for(">")
        person.type("slow\r")
        person.wait_for("you sai\n>")
        person.type("next\r/stop\r")
        person.wait_for("you sai (stopped)\n\nyou said: next\n\nyou said: /stop\n\n>")
        assert person.leave() == 0


def test_a_paste_of_several_lines_is_one_message(tmp_path: Path) -> None:
    with seat("talk", tmp_path) as person:
        person.wait_for(">")
        person.type("\x1b[200~one\ntwo\x1b[201~\r")
        person.wait_for("you said: one\ntwo\n\n>")
        assert person.leave() == 0


def test_the_history_is_kept_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    for keys in ("hi\r", "\x1b[A\r"):
        with seat("talk", tmp_path) as person:
            person.wait_for(">")
            person.type(keys)
            person.wait_for("you said: hi\n\n>")
            assert person.leave() == 0
    assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o600


def test_sigterm_gives_the_terminal_back(tmp_path: Path) -> None:
    with seat("talk", tmp_path) as person:
        person.wait_for(">")
        assert not person.echoes
        person.process.terminate()
        assert person.leave("") == 0
        assert person.echoes


async def test_an_attached_prompt_looks_like_a_local_one(tmp_path: Path) -> None:
    def sit() -> str:
        with seat("attach", tmp_path) as person:
            person.wait_for(">")
            person.type("slow\r")
            person.wait_for("you sai\n>")
            person.type(CTRL_C)
            person.wait_for("you sai (stopped)\n\nyou said: /stop\n\n>")
            person.type("table\r")
            person.wait_for("The end.\n\n>")
            assert person.leave() == 0
            return person.screen.text

    async with daemon(tmp_path):
        text = await asyncio.to_thread(sit)
    assert text.count("The end.") == 1


@pytest.mark.parametrize(
    "written",
    [
        "<b>html</b> stays, <script>alert(1)</script>",
        "<div>\na block\n</div>",
        "[link](https://example.org/x) and ![image](https://example.org/y.png)",
        "[one][1] and [two]\n\n[1]: https://example.org/1\n[two]: https://example.org/2",
        "[bad](javascript:alert(1))",
        "a line\nanother line\n\n```python\nprint('code')\n```",
        ":smile: [red]no rich markup[/red]",
    ],
)
def test_drawing_loses_no_word(written: str) -> None:
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", to_ansi(written, 200))
    for word in re.findall(r"\w+", written.replace("```python", "")):
        assert word in drawn
    assert "another" not in drawn or "a line\nanother line" in drawn


def test_only_blocks_that_can_not_change_any_more_are_finished() -> None:
    whole = answer_to("table") + "\n\n```\ncode\n\nmore\n```\nafter"
    sizes = [finished(whole[:length]) for length in range(len(whole) + 1)]
    for length, size in enumerate(sizes):
        assert whole[:length][size:].strip() or not whole[:length].strip()
        assert size == 0 or whole[size - 1] == "\n"
    assert whole[sizes[-1] :] == "after"
    assert whole[finished(whole[:-8]) :].startswith("```")
