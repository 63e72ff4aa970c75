"""The server over stdio, message by message, without any client library."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.tools.catalogue import LONG_NAME, TOOLS
from tests.fakes.tools.journal import (
    Answered,
    Called,
    Cancelled,
    Deleted,
    Exited,
    Journal,
    Opened,
    Started,
    command_line,
)

ROOT = Path(__file__).parents[3]


class Wire:
    """A server in an empty environment and another folder."""

    def __init__(self, command: list[str], folder: Path) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env={})

    def send(self, method: str, number: int | None = None, **params: object) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.write(json.dumps(message if number is None else {**message, "id": number}).encode())

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        self.send(method, 7, **params)
        return self.read()

    def initialize(self, version: str = "2025-11-25") -> dict[str, Any]:
        return self.ask(
            "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "t", "version": "1"}
        )

    def call(self, tool: str, number: int = 8, **arguments: Any) -> None:
        self.send("tools/call", number, name=tool, arguments=arguments)

    def result(self, tool: str, **arguments: Any) -> Any:
        self.call(tool, **arguments)
        return self.read()["result"]

    def text(self, tool: str, **arguments: Any) -> str:
        return str(self.result(tool, **arguments)["content"][0]["text"])

    def end(self) -> int:
        """Closes stdin and waits: the exit code."""
        self.process.communicate(timeout=10)
        return self.process.returncode


@pytest.fixture
def wire(journal: Journal, tmp_path: Path) -> Iterator[Wire]:
    running = Wire(command_line(journal.path, "--file", str(tmp_path / "lines")), tmp_path)
    running.initialize()
    running.send("notifications/initialized")
    yield running
    running.process.kill()
    running.process.communicate()


@pytest.mark.parametrize("how", [["-m", "tests.fakes.tools"], [str(ROOT / "tests/fakes/tools/server.py")]])
def test_it_runs_as_a_module_and_by_its_path(how: list[str]) -> None:
    running = Wire([sys.executable, *how, "stdio"], ROOT)
    assert running.ask("ping")["result"] == {}
    assert running.end() == 0


@pytest.mark.parametrize(
    ("wanted", "agreed"), [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2199-01-01", "2025-11-25")]
)
def test_the_version_is_the_clients_if_it_is_known(wire: Wire, wanted: str, agreed: str) -> None:
    assert wire.initialize(wanted)["result"]["protocolVersion"] == agreed


def test_what_is_wrong_is_answered_with_an_error(wire: Wire) -> None:
    assert wire.ask("server/discover")["error"]["code"] == -32601
    assert wire.ask("tools/list", cursor="x")["error"]["code"] == -32602
    assert wire.ask("tools/call", name="none", arguments={})["error"]["code"] == -32602
    for line, code in ((b"{", -32700), (b"[]", -32600), (b'{"id": 1, "method": "ping"}', -32600)):
        wire.write(line)
        assert wire.read()["error"]["code"] == code
    assert wire.result("echo")["isError"] is True


def test_tools_come_after_initialize(tmp_path: Path) -> None:
    running = Wire(command_line(), tmp_path)
    assert running.ask("tools/list")["error"]["code"] == -32600
    assert running.ask("tools/call", name="echo", arguments={"text": "x"})["error"]["code"] == -32600
    running.end()


def test_every_tool_is_listed_with_its_hints(wire: Wire) -> None:
    listed = {tool["name"]: tool for tool in wire.ask("tools/list")["result"]["tools"]}
    assert list(listed) == list(TOOLS)
    assert {"list-files", LONG_NAME} < set(listed)
    assert len(LONG_NAME) == 60
    assert listed["read_note"]["annotations"] == {"readOnlyHint": True}
    assert listed["delete_everything"]["annotations"]["destructiveHint"] is True
    assert "annotations" not in listed["fail"]
    assert listed["append_line"]["inputSchema"]["required"] == ["line"]


def test_every_tool_does_what_it_says(wire: Wire, journal: Journal, tmp_path: Path) -> None:
    assert wire.text("append_line", line="one") == wire.text("append_line", line="two") == "appended"
    assert (tmp_path / "lines").read_text() == "one\ntwo\n"
    assert wire.text("append_line", line="x", path=str(tmp_path / "other")) == "appended"
    assert wire.text("list-files", folder=str(tmp_path)) == "journal\nlines\nother"
    assert wire.text("read_note", name="a") == "note a"
    assert wire.text("big", chars=100_000) == "x" * 100_000
    assert (wire.text("count"), wire.text("count")) == ("1", "2")
    assert wire.text("late", ms=1) == "late"
    assert "PATH" not in json.loads(wire.text("environment"))
    assert wire.result("fail", message="no") == {"content": [{"type": "text", "text": "no"}], "isError": True}
    assert wire.result("picture")["content"][0]["mimeType"] == "image/png"
    assert wire.result("structured")["structuredContent"]["town"] == "Delft"
    assert wire.text(LONG_NAME) == "ten to six"
    assert wire.text("delete_everything", what="notes") == "deleted"
    assert [record.what for record in journal.of(Deleted)] == ["notes"]
    assert wire.text("list-files", folder="/none") == "No such file or directory: /none"


def test_other_messages_are_answered_while_a_tool_runs(wire: Wire, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    wire.call("slow", 1, gate_file=str(gate))
    assert wire.text("echo", text="meanwhile") == "meanwhile"
    gate.touch()
    assert wire.read() == {"jsonrpc": "2.0", "id": 1, "result": wire_said("the gate is open")}


def wire_said(text: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text}], "isError": False}


def test_a_cancelled_call_is_recorded_and_never_answered(wire: Wire, journal: Journal) -> None:
    wire.call("slow", 1, gate_file="/none")
    wire.send("notifications/cancelled", requestId=1, reason="enough")
    wire.send("notifications/cancelled", requestId=99, reason="unknown")
    assert wire.ask("ping")["id"] == 7
    assert wire.end() == 0
    assert [(record.tool, record.reason) for record in journal.of(Cancelled)] == [("slow", "enough")]
    assert not journal.of(Answered)


def test_the_journal_has_everything_in_order(wire: Wire, journal: Journal) -> None:
    wire.text("echo", text="x")
    assert wire.end() == 0
    started, opened, called, answered, exited = journal.records
    assert isinstance(started, Started)
    assert started.arguments[0] == "stdio"
    assert isinstance(opened, Opened)
    assert (opened.client, opened.version, opened.session) == ("t", "2025-11-25", "")
    assert isinstance(called, Called)
    assert (called.tool, called.arguments, called.call) == ("echo", {"text": "x"}, "8")
    assert isinstance(answered, Answered)
    assert (answered.text, answered.is_error) == ("x", False)
    assert isinstance(exited, Exited)
    assert (exited.code, exited.why) == (0, "stdin closed")
    assert {record.pid for record in journal.records} == {wire.process.pid}
    assert journal.calls() == journal.calls("echo") == (called,)


def test_crash_ends_the_process_without_an_answer(wire: Wire, journal: Journal) -> None:
    wire.call("crash")
    assert wire.process.wait(10) == 1
    assert wire.process.stdout is not None
    assert wire.process.stdout.read() == b""
    assert [(record.code, record.why) for record in journal.of(Exited)] == [(1, "crash")]


def test_sigterm_ends_it(wire: Wire, journal: Journal) -> None:
    wire.process.terminate()
    assert wire.process.wait(10) == 128 + signal.SIGTERM
    assert journal.of(Exited)[0].why == "SIGTERM"


def test_it_ends_when_its_client_is_killed(journal: Journal, tmp_path: Path) -> None:
    client = (
        "import subprocess, sys, time; child = subprocess.Popen(sys.argv[1:], stdin=-1, start_new_session=True); "
        'child.stdin.write(b"{}\\n"); child.stdin.flush(); time.sleep(60)'
    )
    parent = subprocess.Popen([sys.executable, "-c", client, *command_line(journal.path)], stdout=subprocess.DEVNULL)
    journal.wait_until(lambda now: bool(now.of(Started)))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    journal.wait_until(lambda now: bool(now.of(Exited)))
    assert journal.of(Exited)[0].why == "stdin closed"


def test_the_first_starts_can_fail(journal: Journal, tmp_path: Path) -> None:
    command = command_line(journal.path, "--fail-start", "2")
    for _ in range(2):
        failed = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
        assert (failed.returncode, failed.stdout) == (1, b"")
        assert failed.stderr.endswith(b"as --fail-start says\n")
    third = Wire(command, tmp_path)
    assert third.ask("ping")["result"] == {}
    assert third.end() == 0
    assert len(journal.of(Started)) == 3


def test_it_can_be_a_bad_server(tmp_path: Path) -> None:
    running = Wire(command_line(None, "--garbage", "--noise", "--mute", "--slow-start", "100"), tmp_path)
    assert running.process.stdout is not None
    assert running.process.stdout.readline() == b"Starting up, please wait...\n"
    running.send("server/discover", 1)
    assert running.ask("ping")["id"] == 7
    _, errors = running.process.communicate()
    assert errors.startswith(b"noise: started\nnoise: a message of ")
