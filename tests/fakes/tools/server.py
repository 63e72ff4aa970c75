"""The server over stdio: a JSON-RPC message per line. Runs by its path, too, with the standard library alone.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
"""

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
import time
from types import FrameType

sys.path.insert(0, os.path.abspath(f"{__file__}/../../../.."))

from tests.fakes.tools.catalogue import Call
from tests.fakes.tools.recorder import JsonObject, Recorder
from tests.fakes.tools.session import METHOD_NOT_FOUND, PARSE_ERROR, Crashed, Session

PATIENCE_S = 1.0  # for calls that are running when the client closes stdin


class StdioServer:
    def __init__(self, options: argparse.Namespace, recorder: Recorder) -> None:
        self._recorder = recorder
        self._noise: bool = options.noise
        self._mute: bool = options.mute
        self._session = Session(recorder, file=options.file)
        self._writing = threading.Lock()
        self._threads: list[threading.Thread] = []

    def serve(self) -> None:
        """Returns when stdin is closed and no call is running."""
        for line in sys.stdin.buffer:
            self._take(line)
        self._session.end()
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            self._say({"jsonrpc": "2.0", "id": None, "error": {"code": PARSE_ERROR, "message": "Not JSON"}})
            return
        if self._noise:
            sys.stderr.write(f"noise: a message of {len(line)} bytes\n")
            sys.stderr.flush()
        if (call := self._session.begin(message)) is None:
            answer = self._session.answer(message)
            self._say(None if self._mute and is_unknown(answer) else answer)
            return
        thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self, call: Call) -> None:
        try:
            self._say(self._session.run(call))
        except Crashed:
            leave(self._recorder, 1, "crash")

    def _say(self, message: JsonObject | None) -> None:
        if message is None:
            return
        with self._writing, contextlib.suppress(BrokenPipeError):
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()


def is_unknown(answer: JsonObject | None) -> bool:
    error = None if answer is None else answer.get("error")
    return isinstance(error, dict) and error["code"] == METHOD_NOT_FOUND


def leave(recorder: Recorder, code: int, why: str) -> None:
    """Ends the process now, whatever its threads do."""
    recorder.write("exited", {"code": code, "why": why})
    os._exit(code)


def main() -> None:
    options = read_options()
    recorder = Recorder(options.journal)
    recorder.write("started", {"arguments": [*sys.argv[1:]]})
    if options.fail_start and starts(options.journal) <= options.fail_start:
        sys.stderr.write("tools-double: this start fails, as --fail-start says\n")
        sys.stderr.flush()
        leave(recorder, 1, "fail-start")
    if options.noise:
        sys.stderr.write("noise: started\n")
        sys.stderr.flush()
    if options.garbage:
        sys.stdout.write("Starting up, please wait...\n")
        sys.stdout.flush()
    time.sleep(options.slow_start / 1000)

    def on_term(number: int, frame: FrameType | None) -> None:
        leave(recorder, 128 + number, "SIGTERM")

    signal.signal(signal.SIGTERM, signal.SIG_IGN if options.stubborn else on_term)
    StdioServer(options, recorder).serve()
    if options.stubborn:
        threading.Event().wait()
    leave(recorder, 0, "stdin closed")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools")
    parser.add_argument("transport", choices=["stdio"])
    parser.add_argument("--journal", metavar="FILE", help="write what happens there, as JSON lines")
    parser.add_argument("--file", metavar="FILE", help="where append_line writes if it is given no path")
    parser.add_argument("--fail-start", metavar="N", type=int, default=0, help="fail the first N starts in the journal")
    parser.add_argument("--slow-start", metavar="MS", type=int, default=0, help="read nothing before")
    parser.add_argument("--noise", action="store_true", help="write lines to stderr")
    parser.add_argument("--garbage", action="store_true", help="write a line that is no JSON to stdout first")
    parser.add_argument("--mute", action="store_true", help="answer nothing to a method that it does not know")
    parser.add_argument("--stubborn", action="store_true", help="neither a closed stdin nor SIGTERM ends it")
    options = parser.parse_args()
    if options.fail_start and not options.journal:
        parser.error("--fail-start counts the starts in the --journal")
    return options


def starts(journal: str) -> int:
    with open(journal, encoding="utf-8") as lines:
        return sum(json.loads(line)["kind"] == "started" for line in lines)


if __name__ == "__main__":
    main()
