"""The command line as a shell sees it: options, output, exit codes."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from core.cli.daemon import stdin_is_open
from core.errors import VerbFailed
from core.service.socket import SOCKET_NAME, Json, Verb, serve
from tests.crash.daemon import called

ROOT: Final = Path(__file__).parents[2]
DEADLINE_S: Final = 30.0
MAIN: Final = [sys.executable, "-c", "from core.cli.app import main; main()"]
STATUS: Final[Mapping[str, Json]] = {
    "ready": True,
    "bots": [
        {
            "name": "telegram",
            "platform": "telegram",
            "account": "42",
            "state": "failed",
            "detail": "\x1b[31mget a new token",
            "last_inbound_at": None,
        }
    ],
    "turns": {"running": 1, "waiting": 0, "suspended": 0},
    "cache": {"agents": 2, "hits": 3, "misses": {"session": 1}, "evictions": 0},
    "inbox": {"pending": 0},
    "outbox": {"queued": 0, "unknown": 0, "failed": 0},
    "limits": [{"name": "turn_chars", "count": 4711, "last_at": "2026-03-02T12:00:00Z"}],
}
SESSION: Final[Mapping[str, Json]] = {
    "key": "terminal/local",
    "generation": 1,
    "session": {"id": "0190", "started_at": "2026-01-01T00:00:00Z", "ended_at": None, "title": None},
    "entries": [{"seq": 1, "kind": "user", "text": "hé [bold]llo", "at": "2026-01-01T00:00:00Z", "sender": "local"}],
}
PERSON: Final[Mapping[str, Json]] = {"id": "p1", "name": "Ann", "role": "owner", "identities": ["telegram:1"]}
PEOPLE: Final[Mapping[str, Json]] = {
    "people": [PERSON],
    "pending": [{"code": "AB2C", "platform": "telegram", "name": "Bob", "expires_at": "2026-01-01T01:00:00Z"}],
}


LINE: Final[Mapping[str, Json]] = {
    "key": "terminal/local", "id": "0190", "title": "A talk", "messages": 1, "ended_at": "2026-01-01T00:00:00Z",
}  # fmt: skip
SENT: Final[Mapping[str, Json]] = {
    "key": "terminal/local", "bot": "terminal", "chat": "local", "deliveries": [7, 8], "running": True,
}  # fmt: skip
STRANGER: Final[Mapping[str, Json]] = {"code": "AB2C", "name": "Bob", "identity": "telegram:2", "bot": "sales"}
EXPLAINED: Final[Mapping[str, Json]] = {
    "asked": "7", "findings": [{"what": "message", "id": 7, "text": None, "sentence": "Message 7 was ignored."}],
    "limit": 20,
}  # fmt: skip
UNSOUND: Final[Mapping[str, Json]] = {
    "sound": False,
    "checked": {"sessions": 1, "entries": 2, "conversations": 0},
    "findings": [{"rule": "a rule", "subject": "sessions s1", "means": "It means that.", "advice": "Do this."}],
}


class AskedDesk:
    """What a daemon would answer, and what it was asked. `becomes`: what the stranger with a code would be."""

    def __init__(self) -> None:
        self.becomes = "user"
        self.asked: list[tuple[str, Mapping[str, Json]]] = []

    @property
    def verbs(self) -> Mapping[str, Verb]:
        answers: Mapping[str, Json] = {
            "status": STATUS,
            "sessions.list": [{"key": "terminal/local", "id": "0190", "title": "A talk", "messages": 2}] * 500,
            "sessions.show": SESSION,
            "people.list": PEOPLE,
            "people.waiting": {**STRANGER, "becomes": self.becomes},
            "people.approve": PERSON,
            "people.role": PERSON,
            "people.link": PERSON,
            "people.unlink": PERSON,
            "sessions.find": LINE,
            "sessions.end": LINE,
            "sessions.delete": LINE,
            "send": SENT,
            "explain": EXPLAINED,
            "db.verify": UNSOUND,
        }
        return {verb: self._verb(verb, answer) for verb, answer in answers.items()}

    def _verb(self, verb: str, answer: Json) -> Verb:
        async def carry_out(args: Mapping[str, Json]) -> Json:
            self.asked.append((verb, args))
            if "nobody" in args.values():
                raise VerbFailed("there is none such")
            return answer

        return carry_out


@asynccontextmanager
async def running(state: Path, *, becomes: str = "user") -> AsyncIterator[AskedDesk]:
    desk = AskedDesk()
    desk.becomes = becomes
    async with serve(state / SOCKET_NAME, desk.verbs, None):
        yield desk


def call(*args: str, shell: str = "") -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    if not shell:
        return called(args, environ, Path.cwd())
    command = ["/bin/sh", "-c", f'"$@" {shell}', "sh", *MAIN, *args]
    return subprocess.run(
        command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )


async def frontdesk(*args: str | Path, shell: str = "") -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(call, *map(str, args), shell=shell)


@pytest.mark.parametrize(
    "args",
    [
        "--state {state} sessions show terminal/local --json",
        "sessions --state {state} show terminal/local --json",
        "sessions show --state {state} terminal/local --json",
        "sessions show terminal/local --json --state {state}",
        "--state /elsewhere sessions show terminal/local --json --state {state} --config {config}",
        "--config {config} sessions show terminal/local --json --state {state}",
    ],
)
async def test_options_stand_before_or_after_the_verb(tmp_path: Path, args: str) -> None:
    config = tmp_path / "some.toml"
    config.write_text("[desk]\nname = 'Ours'\n")
    async with running(tmp_path) as desk:
        done = await frontdesk(*args.format(state=tmp_path, config=config).split())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == SESSION
    assert desk.asked == [("sessions.show", {"key": "terminal/local"})]


async def test_json_is_what_the_daemon_says(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        for args, answer in (
            (("status",), STATUS),
            (("people", "list"), PEOPLE),
            (("people", "approve", "AB2C"), PERSON),
            (("people", "role", "p1", "owner"), PERSON),
            (("people", "link", "p1", "telegram:2"), PERSON),
            (("sessions", "end", "k"), LINE),
            (("sessions", "delete", "k", "--yes"), LINE),
            (("send", "k", "hello"), SENT),
            (("explain", "7"), EXPLAINED),
        ):
            done = await frontdesk(*args, "--json", "--state", tmp_path)
            assert json.loads(done.stdout) == answer
    assert desk.asked[2:] == [
        ("people.waiting", {"code": "AB2C"}),
        ("people.approve", {"code": "AB2C", "becomes": "user"}),
        ("people.role", {"id": "p1", "role": "owner"}),
        ("people.link", {"id": "p1", "other": "telegram:2"}),
        ("sessions.end", {"key": "k"}),
        ("sessions.find", {"key": "k"}),
        ("sessions.delete", {"key": "0190"}),
        ("send", {"key": "k", "text": "hello"}),
        ("explain", {"id": "7"}),
    ]


async def test_the_version_comes_as_json_too() -> None:
    plain, structured = await frontdesk("version"), await frontdesk("version", "--json")
    assert json.loads(structured.stdout) == {"version": plain.stdout.strip()}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            "status",
            [
                "ready",
                "telegram",
                "failed",
                "get a new token",
                "turns: running 1, waiting 0",
                "session 1",
                "turn_chars",
                "4711",
            ],
        ),
        ("sessions list", ["terminal/local", "0190", "A talk"]),
        ("sessions show terminal/local", ["terminal/local", "0190", "hé [bold]llo"]),
        ("people list", ["Ann", "telegram:1", "AB2C", "Bob", "people approve CODE"]),
        ("people link p1 telegram:2", ["Ann (p1): owner, known as telegram:1"]),
        ("people unlink telegram:2", ["Ann (p1): owner, known as telegram:1"]),
        ("sessions end k", ["0190: ended 2026-01-01T00:00:00Z"]),
        ("sessions delete k --yes", ["0190: deleted, with 1 message\n"]),
        ("send k hello", ["queued for terminal/local: 2 parts to terminal, chat local"]),
        ("explain 7", ["Message 7 was ignored.\n", "These are the newest 20; ask"]),
        ("people role p1 user", ["Ann (p1): owner"]),
    ],
)
async def test_people_get_words_and_tables(tmp_path: Path, args: str, words: list[str]) -> None:
    async with running(tmp_path):
        done = await frontdesk(*args.split(), "--state", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    for word in words:
        assert word in done.stdout


async def test_a_reader_that_leaves_early_causes_no_traceback(tmp_path: Path) -> None:
    async with running(tmp_path):
        for verb in ("sessions list", "sessions list --json"):
            done = await frontdesk(*verb.split(), "--state", tmp_path, shell="| head -1")
            assert done.stderr == ""
            assert done.stdout.count("\n") == 1


async def test_what_is_sent_may_come_from_a_pipe(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        done = await frontdesk("send", "k", "-", "--state", tmp_path, shell="<<'END'\ntwo\nlines\nEND")
    assert done.returncode == 0, done.stderr
    assert desk.asked == [("send", {"key": "k", "text": "two\nlines"})]


async def test_a_store_that_is_not_sound_ends_with_1_and_says_what_to_do(tmp_path: Path) -> None:
    async with running(tmp_path):
        plain = await frontdesk("db", "verify", "--state", tmp_path)
        structured = await frontdesk("db", "verify", "--json", "--state", tmp_path)
    assert (plain.returncode, structured.returncode) == (1, 1)
    assert plain.stdout.splitlines() == [
        "sessions s1: broken is “a rule”. It means that. Do this.",
        "NOT SOUND: looked at 0 conversations, 1 session, 2 entries",
    ]
    assert json.loads(structured.stdout) == UNSOUND


async def test_deleting_needs_a_yes_where_nobody_can_be_asked(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        done = await frontdesk("sessions", "delete", "k", "--state", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "deletes 1 message for good: say --yes" in done.stderr
    assert [verb for verb, _ in desk.asked] == ["sessions.find"]


@pytest.mark.parametrize(
    ("answer", "code", "last"), [("y", 0, "0190: deleted, with 1 message"), ("n", 1, "nothing was deleted")]
)
async def test_deleting_asks_at_a_terminal(tmp_path: Path, answer: str, code: int, last: str) -> None:
    async with running(tmp_path) as desk:
        status, shown = await asyncio.to_thread(at_terminal, answer, "sessions", "delete", "k", "--state", tmp_path)
    assert status == code
    assert "delete terminal/local “A talk” with 1 message? [y/N]" in shown
    assert shown.splitlines()[-1].strip() == last
    assert ("sessions.delete" in [verb for verb, _ in desk.asked]) is (answer == "y")


WHO: Final = 'Bob (telegram:2), who wrote to the bot "sales", becomes'


@pytest.mark.parametrize(
    ("becomes", "told"), [("user", "a user."), ("owner", "the OWNER, who decides about everybody")]
)
@pytest.mark.parametrize(("answer", "code", "last"), [("y", 0, "Ann (p1): owner"), ("n", 1, "nobody was let in")])
async def test_s19_at_a_terminal_it_is_said_who_it_is_and_asked(
    tmp_path: Path, becomes: str, told: str, answer: str, code: int, last: str
) -> None:
    async with running(tmp_path, becomes=becomes) as desk:
        args = ("people", "approve", "AB2C", "--state", tmp_path)
        status, shown = await asyncio.to_thread(at_terminal, answer, *args)
    assert status == code
    assert f"{WHO} {told}" in shown
    assert "Let them in? [y/N]" in shown
    assert shown.splitlines()[-1].strip() == last
    approved = [given for verb, given in desk.asked if verb == "people.approve"]
    assert approved == ([{"code": "AB2C", "becomes": becomes}] if answer == "y" else [])


async def test_s19_without_a_terminal_a_user_is_let_in_as_ever(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        done = await frontdesk("people", "approve", "AB2C", "--state", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Ann (p1): owner\n", f"{WHO} a user.\n")
    assert [verb for verb, _ in desk.asked] == ["people.waiting", "people.approve"]


async def test_s19_without_a_terminal_an_owner_takes_a_yes(tmp_path: Path) -> None:
    async with running(tmp_path, becomes="owner") as desk:
        refused = await frontdesk("people", "approve", "AB2C", "--state", tmp_path)
        asked = [verb for verb, _ in desk.asked]
        done = await frontdesk("people", "approve", "AB2C", "--yes", "--state", tmp_path)
    assert (refused.returncode, refused.stdout, asked) == (2, "", ["people.waiting"])
    assert "whether they are to be the owner: say --yes" in refused.stderr
    assert WHO in refused.stderr
    assert (done.returncode, done.stdout) == (0, "Ann (p1): owner\n")


def at_terminal(answer: str, *args: str | Path) -> tuple[int, str]:
    """The exit code, and what somebody at a terminal sees who types one answer."""
    master, slave = pty.openpty()
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    process = subprocess.Popen([*MAIN, *map(str, args)], stdin=slave, stdout=slave, stderr=slave, env=environ)
    os.close(slave)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(master, 1024)
    os.write(master, f"{answer}\n".encode())
    code = process.wait(DEADLINE_S)
    while select.select([master], [], [], 0)[0]:
        try:
            shown += os.read(master, 1024)
        except OSError:  # the other end is closed
            break
    os.close(master)
    return code, shown.decode()


@pytest.mark.parametrize(
    "args", ["status", "status --json", "sessions list", "explain 7", "people list", "version", "--help"]
)
async def test_an_output_that_takes_nothing_ends_with_words(tmp_path: Path, args: str) -> None:
    async with running(tmp_path):
        done = await frontdesk("--state", tmp_path, *args.split(), shell=">/dev/full")
    assert done.returncode == 1
    assert done.stderr == (
        "frontdesk: what there is to say can't be written: No space left on device; "
        "look at where standard output goes\n"
    )


async def test_a_shell_is_offered_keys_and_ids(tmp_path: Path) -> None:
    def complete(words: str) -> str:
        environ = {
            "PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1",
            "_FRONTDESK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1),
        }  # fmt: skip
        return subprocess.run(
            MAIN, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        ).stdout  # fmt: skip

    async with running(tmp_path):
        keys = await asyncio.to_thread(complete, f"frontdesk --state {tmp_path} sessions show term")
        people = await asyncio.to_thread(complete, f"frontdesk --state {tmp_path} people role p")
    assert (keys.split(), people.split()) == (["terminal/local"], ["p1"])
    nobody = await asyncio.to_thread(complete, f"frontdesk --state {tmp_path} sessions show term")
    assert nobody.strip() == ""


async def test_what_the_desk_refuses_fails_with_its_words(tmp_path: Path) -> None:
    async with running(tmp_path):
        done = await frontdesk("people", "approve", "nobody", "--state", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "frontdesk: there is none such\n")


@pytest.mark.parametrize(
    "args", ["fly", "sessions", "sessions show", "people role p1 king", "status --nonsense", "--state"]
)
async def test_wrong_usage_ends_with_2(args: str) -> None:
    done = await frontdesk(*args.split())
    assert done.returncode == 2
    assert "Usage: frontdesk" in done.stderr + done.stdout or "Error: " in done.stderr
    assert "Traceback" not in done.stderr


async def test_check_says_ok_and_warns(tmp_path: Path) -> None:
    config = tmp_path / "frontdesk.toml"
    config.write_text('[bots.telegram]\ntoken = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"\n')
    done = await frontdesk("check", "--config", config, "--state", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    first, *warnings = done.stdout.splitlines()
    assert first == "ok"
    assert any(line.startswith(f"warning: {config}:2: [bots.telegram] token") for line in warnings)
    assert "AAAAAA" not in done.stdout


@pytest.mark.parametrize("verb", ["check", "run", "chat", "status", "sessions list"])
async def test_a_wrong_config_ends_every_verb_with_78_and_all_faults(tmp_path: Path, verb: str) -> None:
    config = tmp_path / "frontdesk.toml"
    config.write_text('[desk]\nnaem = "x"\nmax_turns = "many"\n')
    done = await frontdesk("--config", config, "--state", tmp_path, *verb.split())
    assert (done.returncode, done.stdout) == (78, "")
    faults = done.stderr.splitlines()
    assert [line.partition(": ")[0] for line in faults] == [f"{config}:2", f"{config}:3"]


async def test_the_version_is_an_option_and_a_verb() -> None:
    option, verb = await frontdesk("--version"), await frontdesk("version")
    assert (option.returncode, verb.returncode) == (0, 0)
    assert option.stdout == verb.stdout != ""


async def test_closed_streams_are_filled_before_a_file_gets_their_number() -> None:
    done = await frontdesk("check", shell="<&- >&- 2>&-")
    assert done.returncode == 0


def test_what_is_slow_to_import_waits_until_it_is_needed() -> None:
    heavy = "{'rich', 'prompt_toolkit', 'telegram', 'sqlalchemy', 'pydantic', 'alembic', 'importlib.metadata'}"
    program = f"import sys, core.cli.app; print(*({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=True
    )
    assert done.stdout.strip() == ""


def test_a_daemon_is_imported_without_rich_which_can_be_imported_afterwards() -> None:
    program = (
        "import sys, core.cli.daemon as daemon; daemon.spare_rich(); import core.main, bots.telegram.bot;"
        "print(*(name for name in sys.modules if name.partition('.')[0] in ('rich', 'pygments', 'click')));"
        "import bots.terminal.rendering, httpx; print(httpx.Client.__name__, 'rich.markdown' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=True
    )
    assert done.stdout.splitlines() == ["", "Client True"]


def test_input_is_a_pipe_or_our_own_terminal_but_not_dev_null() -> None:
    reading, writing = os.pipe()
    master, slave = pty.openpty()
    with open(os.devnull) as null:
        assert stdin_is_open(reading)
        assert not stdin_is_open(null.fileno())
        assert not stdin_is_open(slave)
    for descriptor in (reading, writing, master, slave):
        os.close(descriptor)


async def test_what_the_encoding_lacks_costs_no_verb_its_end(tmp_path: Path) -> None:
    async with running(tmp_path):
        words = [*MAIN, "--state", str(tmp_path), "sessions", "show", "terminal/local"]
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii:strict"}
        done = await asyncio.to_thread(
            subprocess.run, words, capture_output=True, text=True, env=environ, timeout=DEADLINE_S, check=False
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
