"""The terminal bot before a small desk: pipes, a real pseudo-terminal, and screens attached over a real socket."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bots.terminal.bot import TerminalBot
from bots.terminal.client import chat
from core.clock import SystemClock
from core.errors import SendError, Unreachable
from core.ports import Bot, CanEdit, CanType, Desk
from core.service.socket import serve
from core.service.socket_client import connect
from core.vocabulary import (
    MessageId,
)
from tests.wire.echo_desk import FakeDesk, answer_to, delivery

ROOT = Path(__file__).parents[2]
DEADLINE_S = 20.0


class CountedIds:
    def __init__(self) -> None:
        self._count = 0

    def uuid7(self) -> str:
        self._count += 1
        return f"id-{self._count}"

    def token(self, characters: int) -> str:
        return "A" * characters

    def uniform(self, low: float, high: float) -> float:
        return low


def open_terminal(*, stdin: bool, history: Path | None = None) -> tuple[TerminalBot, FakeDesk]:
    desk = FakeDesk()
    desk.bot = TerminalBot(clock=SystemClock(), random=CountedIds(), history=history, stdin=stdin)
    return desk.bot, desk


def talk() -> None:
    """The program behind the pipes and the pseudo-terminal below: the bot on its own input, before the fake desk."""

    async def run() -> None:
        bot, desk = open_terminal(stdin=True, history=Path(sys.argv[1]) / "history")
        running = asyncio.create_task(bot.run(desk))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
        await asyncio.wait((running,))
        if not running.cancelled():
            running.result()

    asyncio.run(run())


def attach() -> None:
    """The program of an attached client."""

    async def run() -> int:
        async def open_stream(args: Mapping[str, bool]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer, _ = await connect(Path(sys.argv[1]) / "frontdesk.sock", "attach", args)
            return reader, writer

        return await chat(open_stream, history=Path(sys.argv[1]) / "history")

    sys.exit(asyncio.run(run()))


def program(name: str, state: Path) -> list[str]:
    return [sys.executable, "-c", f"from tests.wire.test_terminal import {name}; {name}()", str(state)]


def piped(name: str, state: Path, lines: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        program(name, state), input=lines, capture_output=True, text=True, cwd=ROOT, timeout=DEADLINE_S, check=False
    )


@asynccontextmanager
async def daemon(state: Path) -> AsyncIterator[tuple[TerminalBot, FakeDesk]]:
    """A terminal bot without a terminal of its own, behind the socket of a state directory."""
    bot, desk = open_terminal(stdin=False)
    running = asyncio.create_task(bot.run(desk))
    async with serve(state / "frontdesk.sock", {}, bot.attach):
        yield bot, desk
    running.cancel()
    await asyncio.wait((running,))


def test_it_is_a_bot_that_edits_and_types() -> None:
    bot: Bot = TerminalBot(clock=SystemClock(), random=CountedIds())
    desk: Desk = FakeDesk()
    assert isinstance(bot, CanEdit)
    assert isinstance(bot, CanType)
    assert bot.name == bot.platform == "terminal"
    assert desk.commands == ()


def test_a_pipe_gets_each_answer_once_in_order_and_nothing_else(tmp_path: Path) -> None:
    done = piped("talk", tmp_path, "hi\n\n  \n/reset\nhi again")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "you said: hi\nyou said: /reset\nyou said: hi again\n"


def test_a_pipe_gets_long_answers_whole_and_no_markup(tmp_path: Path) -> None:
    done = piped("talk", tmp_path, "long\ntable\n")
    assert done.stdout == f"{answer_to('long')}\n{answer_to('table')}\n"


def test_no_answer_commands_the_terminal(tmp_path: Path) -> None:
    done = piped("talk", tmp_path, "evil\n")
    assert done.stdout == "before ␛[31mred␇ after\n"


def test_no_input_is_the_end_at_once(tmp_path: Path) -> None:
    assert piped("talk", tmp_path, "").returncode == 0


def test_a_line_of_a_megabyte_and_one_that_is_no_utf8_come_through(tmp_path: Path) -> None:
    data = b"\xff\xfe broken\n" + b"y" * 1_000_000 + b"\n"
    done = subprocess.run(
        program("talk", tmp_path), input=data, capture_output=True, cwd=ROOT, timeout=DEADLINE_S, check=True
    )
    assert done.stdout.decode() == f"you said: \ufffd\ufffd broken\nyou said: {'y' * 1_000_000}\n"


def test_a_file_as_input_is_read_to_its_end(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("one\ntwo\n")
    with script.open() as lines:
        done = subprocess.run(
            program("talk", tmp_path),
            stdin=lines,
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=DEADLINE_S,
            check=True,
        )
    assert done.stdout == "you said: one\nyou said: two\n"


def test_a_reader_that_leaves_early_ends_it_quietly(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        program("talk", tmp_path),
        input="hi\nyou\n",
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        timeout=DEADLINE_S,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


async def test_without_a_screen_nobody_can_be_reached() -> None:
    bot, _ = open_terminal(stdin=False)
    with pytest.raises(Unreachable) as raised:
        await bot.send(delivery(1, "hello"))
    assert raised.value.certain
    assert raised.value.retryable
    with pytest.raises(SendError):
        await bot.edit(delivery(1, "hello"), MessageId("1"))
    assert bot.capabilities.edit_interval_s is None


async def test_an_attached_pipe_gets_what_a_local_one_gets(tmp_path: Path) -> None:
    async with daemon(tmp_path):
        done = await asyncio.to_thread(piped, "attach", tmp_path, "hi\n\nlong\nevil\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"you said: hi\n{answer_to('long')}\nbefore ␛[31mred␇ after\n"


async def test_a_line_that_can_not_be_stored_is_offered_again_as_the_same_message(tmp_path: Path) -> None:
    async with daemon(tmp_path) as (_, desk):
        desk.broken = 1
        done = await asyncio.to_thread(piped, "attach", tmp_path, "hi\n")
    assert done.stdout == "you said: hi\n"
    assert done.stderr == "not stored yet, trying again: no space left\n"
    assert [message.message for message in desk.received] == ["id-1"]


async def test_every_attached_screen_gets_an_answer_and_one_that_left_harms_nobody(tmp_path: Path) -> None:
    async with daemon(tmp_path):
        reader, writer, _ = await connect(tmp_path / "frontdesk.sock", "attach", {})
        other, others, _ = await connect(tmp_path / "frontdesk.sock", "attach", {})
        _, vanishing, _ = await connect(tmp_path / "frontdesk.sock", "attach", {})
        vanishing.transport.abort()
        writer.write(b'{"say":"hi"}\n')
        for screen in (reader, other):
            async with asyncio.timeout(DEADLINE_S):
                shown = [line async for line in until(screen, "settle")]
            assert shown.count({"show": ["0", "you said: hi"]}) == 1
        writer.close()
        others.close()


async def test_a_pipe_gets_a_growing_answer_once_even_if_its_watcher_leaves(tmp_path: Path) -> None:
    async with daemon(tmp_path) as (bot, _):
        plain, kept, _ = await connect(tmp_path / "frontdesk.sock", "attach", {})
        watching, watcher, _ = await connect(tmp_path / "frontdesk.sock", "attach", {"interactive": True})
        watcher.write(b'{"say":" "}\n')
        assert await watching.readline() == b'{"kept":null}\n'
        message = await bot.send(delivery(1, "a"))
        watcher.write(b"bye\n")
        await watching.read()
        watcher.close()
        await bot.edit(delivery(1, "ab"), message)
        await bot.edit(delivery(1, "abc"), message)
        await bot.edit(delivery(0, "from before"), MessageId("0"))
        shown = [line async for line in until(plain, "settle")]
        kept.close()
    texts = [words["show"] for words in shown if "show" in words]
    assert texts == [["1", "a"], ["1", "ab"], ["1", "abc"], ["0", "from before"]]


async def test_what_was_queued_goes_out_when_a_screen_comes(tmp_path: Path) -> None:
    async with daemon(tmp_path) as (_, desk):
        _, leaving, _ = await connect(tmp_path / "frontdesk.sock", "attach", {})
        leaving.write(b'{"say":"slow"}\n')
        async with asyncio.timeout(DEADLINE_S):
            await desk.took.wait()
        leaving.transport.abort()
        reader, writer, _ = await connect(tmp_path / "frontdesk.sock", "attach", {})
        writer.write(b'{"say":"/stop"}\n')
        async with asyncio.timeout(DEADLINE_S):
            shown = [line async for line in until(reader, "settled")]
        assert {"show": ["0", "you sai (stopped)"]} in shown
        writer.close()


async def test_a_client_that_talks_nonsense_is_let_go(tmp_path: Path) -> None:
    async with daemon(tmp_path):
        reader, writer, _ = await connect(tmp_path / "frontdesk.sock", "attach", {})
        writer.write(b"hello?\n")
        async with asyncio.timeout(DEADLINE_S):
            assert await reader.read() == b""
        writer.close()


async def test_a_daemon_that_leaves_is_told_and_fails_the_client(tmp_path: Path) -> None:
    async with daemon(tmp_path) as (_, desk):
        client = asyncio.create_task(asyncio.to_thread(piped, "attach", tmp_path, "slow\n"))
        async with asyncio.timeout(DEADLINE_S):
            await desk.took.wait()
    done = await client
    assert done.returncode == 1
    assert "the daemon left" in done.stderr


async def until(reader: asyncio.StreamReader, verb: str) -> AsyncIterator[Mapping[str, object]]:
    while raw := await reader.readline():
        words = json.loads(raw)
        yield words
        if verb in words:
            return
