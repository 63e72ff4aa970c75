"""A scene whose agent is a model, with a tool that appends to a file; what must be true of all three afterwards.

A message is "KIND MARK", as with the test agent; the model double answers by its kind:

    say     one response             line    words and a call that appends the line MARK, then the answer
    quiet   the same without words   look    a call that only reads
    lines   three calls that append, one after the other, then the answer
    both    a call that appends and one that waits, in one response
    gate    begins its answer, and ends it when the gate MARK is open
    gated   the same behind a call that only reads
    talk    so many words that a few of them fill the model's window
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import text as verbatim

from core.service.notices import ENGLISH
from core.store import entries, history
from core.store.conversations import SessionId
from core.store.entries import Entry, Kind
from core.store.sql import Row, Sql
from tests.crash.daemon import Daemon, until
from tests.crash.nursery import Nursery
from tests.crash.scene import Scene, Talk
from tests.fakes.agents_crash import closing, opening
from tests.fakes.models import Call, Gate, Reply, Request, Say, Steps, ThreadedModelServer
from tests.fakes.telegram import ThreadedTelegramServer
from tests.fakes.tools.journal import Journal, Started, command_line

SUMMARY: Final = "They talked."
APPENDED: Final = "appended"
"""What the tool says when the line is in the file."""
LINES: Final = 3
Open = Callable[..., AbstractContextManager["ModelScene"]]
"""Opens a scene; keywords are those of `Furniture`, and another nursery."""

_LETTERS: Final = {
    Kind.USER: "u", Kind.ASSISTANT: "a", Kind.TOOL_CALL: "c", Kind.TOOL_RESULT: "r", Kind.NOTICE: "n",
    Kind.REWIND: "w", Kind.COMPACTION: "k", Kind.CLEAR: "x",
}  # fmt: skip
SHAPES: Final = {"say": "ua", "line": "uacra", "look": "ucra", "lines": f"u{'cr' * LINES}a"}
"""What a whole exchange leaves for people to see."""

_SETTLED: Final = re.compile(
    "|".join(
        re.escape(ENGLISH[key].format(minutes=15))
        for key in ("consent_how", *(f"consent_was_{state}" for state in ("approved", "denied", "expired", "closed")))
    )
)
"""How to answer a question, or what became of it."""
_OPEN = Sql(
    verbatim("""
        SELECT (
            SELECT count(*) FROM inbox i LEFT JOIN turns t ON t.id = i.turn_id
            WHERE i.state = 'pending' OR (i.state = 'taken' AND t.state = 'running')
        ) + (SELECT count(*) FROM turns WHERE state = 'running')
          + (SELECT count(*) FROM deliveries WHERE state IN ('queued', 'sending')) AS n
    """)
)
_SESSIONS = Sql(verbatim("SELECT DISTINCT session_id FROM turns WHERE chat = :chat"))
_WAITING = Sql(verbatim("SELECT count(*) FROM consents WHERE state = 'open'"))
_STATES = Sql(
    verbatim("""
        SELECT e.text, t.state, t.attempt FROM entries e JOIN turns t ON t.id = e.turn_id
        WHERE e.kind = 'user' AND t.chat = :chat ORDER BY e.id
    """)
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Furniture:
    """What the config says beyond the usual."""

    consent: bool = False
    """A person is asked before a line is appended."""
    stream: bool = False
    """Answers are shown while they grow."""
    window: int | None = None


def config(server: ThreadedTelegramServer, models: ThreadedModelServer, home: Path, wanted: Furniture) -> str:
    """Everybody may talk to the model."""
    command = command_line(home / "tools", "--file", str(home / "lines"))
    context = f"[agents.default.context]\nwindow = {wanted.window}\nkeep_turns = 1" if wanted.window else ""
    return f"""
[access]
direct = "open"
consent_by = "asker"
[access.guests]
tokens_per_day = 1_000_000_000
[session.reset]
mode = "none"
[agents.default]
backend = "model"
model = "openai:gpt-test"
base_url = "{models.openai_url}"
api_key = "{models.key}"
{context}
[[agents.default.mcp]]
name = "t"
command = {json.dumps(command)}
read_only = ["read_note"]
consent = {json.dumps(["append_line"] if wanted.consent else [])}
[bots.telegram]
token = "{server.token}"
api_base = "{server.url}"
stream = {str(wanted.stream).lower()}
drafts = false
"""


class ModelScene(Scene):
    """`models` lives longer than the daemons, as a provider does."""

    def __init__(
        self, server: ThreadedTelegramServer, models: ThreadedModelServer, home: Path, nursery: Nursery,
        wanted: Furniture,
    ) -> None:  # fmt: skip
        super().__init__(server, home, nursery)
        self.models = models
        self.tools = Journal(home / "tools")
        self.daemon = Daemon(home, config=config(server, models, home, wanted))
        models.always(self._reply)

    @property
    def lines(self) -> Counter[str]:
        """How often each line stands in the file."""
        path = self.daemon.home / "lines"
        return Counter(path.read_text().splitlines() if path.exists() else [])

    def lines_of(self, mark: str) -> int:
        return sum(count for line, count in self.lines.items() if line.partition(".")[0] == mark)

    def gate_file(self, mark: str) -> Path:
        return self.daemon.home / f"gate-{mark}"

    # what the model says

    def _reply(self, request: Request) -> Reply:
        if "The conversation:" in request.last_user:
            return Gate("summary"), Say(SUMMARY)
        kind, _, mark = request.last_user.rpartition("\n")[2].partition(" ")
        match kind:
            case "line":
                return Steps((Say("Looking. "), _append(mark)), _finish(mark))
            case "quiet":
                return Steps(_append(mark), _finish(mark))
            case "lines":
                return Steps(*(_append(f"{mark}.{number}") for number in range(LINES)), _finish(mark))
            case "peek":
                return Steps(Call("t_read_note", {"name": mark}), _append(mark), _finish(mark))
            case "again":
                first = Call("t_read_note", {"name": mark}, "call_1")
                return Steps(first, Call("t_append_line", {"line": mark}, "call_1"), _finish(mark))
            case "look":
                return Steps(Call("t_read_note", {"name": mark}), _finish(mark))
            case "both":
                wait = Call("t_slow", {"gate_file": str(self.gate_file(mark))})
                return Steps((_append(mark), wait), _finish(mark))
            case "gate":
                return _gated(mark)
            case "gated":
                return Steps(Call("t_read_note", {"name": mark}), _gated(mark))
            case "talk":
                return Say(f"{opening(mark)} {'and so on ' * 40}{closing(mark)}")
            case _:
                return _finish(mark)

    def asked(self, mark: str) -> int:
        """How many requests were about this message."""
        return sum(request.last_user.endswith(f" {mark}") for request in self.models.requests)

    # waiting

    def _nothing_open(self, but: str) -> bool:
        """A turn that waits for a person is not open."""
        with self.daemon.reading() as tx:
            return tx.number(_OPEN) == 0

    @property
    def questions(self) -> int:
        """How many calls wait for a person."""
        with self.daemon.reading() as tx:
            return tx.number(_WAITING)

    def until_called(self, tool: str, mark: str) -> None:
        """Until the tool runs."""
        self.tools.wait_until(lambda tools: any(mark in str(call.arguments) for call in tools.calls(tool)))

    def until_appended(self, mark: str) -> None:
        until(lambda: self.lines_of(mark) > 0, "the line is in the file")

    def until_stored(self, talk: Talk, mark: str, kind: str) -> None:
        """Until an entry of this kind is stored behind the message."""
        until(lambda: kind in self.kinds(talk, mark), "the entry is stored")

    # the log

    def log(self, talk: Talk) -> list[Entry]:
        """Everything that was stored of the only session of a chat."""
        with self.daemon.reading() as tx:
            [row] = tx.all(_SESSIONS, chat=str(talk.chat.id))
            return entries.of_session(tx, SessionId(row.text("session_id")))

    def kinds(self, talk: Talk, mark: str) -> str:
        """One letter for each entry from this message to the next one."""
        return letters(_exchange(self.log(talk), mark))

    def states(self, talk: Talk) -> Mapping[str, Row]:
        """How the turn that answered each message first ended, by its mark."""
        with self.daemon.reading() as tx:
            return {row.text("text").partition(" ")[2]: row for row in tx.all(_STATES, chat=str(talk.chat.id))}

    # what must hold

    def plain(self, text: str) -> str:
        """Without markup, of which the store holds the source and people see the effect; and without what became of a
        question, which is stored once it is shown."""
        return re.sub(r"\W|json", "", _SETTLED.sub("", text))

    def audit(self, fates: Mapping[str, str] | None = None, *, strays: int = 0) -> None:
        super().audit(fates or {}, strays=strays)
        assert [request.error for request in self.models.requests if request.error] == []
        lines = self.lines
        assert all(count == 1 for count in lines.values()), lines
        assert all(lines[line] == 1 for line in self._told())
        for talk in self.talks:
            _audit_calls(self.log(talk))
        self.audit_servers()

    def _told(self) -> set[str]:
        """The lines of which a model was ever told that they are in the file."""
        return {line for request in self.models.requests for line in _told_in(request)}

    def audit_servers(self) -> None:
        """Whatever tool server runs is the living daemon's."""
        pid = self.daemon.process.pid if self.daemon.process is not None else None
        until(lambda: all(_parent(one.pid) in (None, pid) for one in self.tools.of(Started)), "no server is left")

    def _audit_rows(self, rows: list[Row], fates: Mapping[str, str]) -> None:
        """Rows of the desk's own making are no message."""
        own = [row for row in rows if row.text_or_none("message") is None]
        assert all(row.text_or_none("fate") in ("merged", "answered") for row in own)
        super()._audit_rows([row for row in rows if row.text_or_none("message") is not None], fates)


def letters(log: Sequence[Entry]) -> str:
    return "".join(_LETTERS[entry.kind] for entry in log)


def audit_exchange(scene: ModelScene, talk: Talk, mark: str, kind: str) -> str:
    """The message was answered in full, or its person knows; the state of its turn."""
    row = scene.states(talk)[mark]
    state = row.text("state")
    seen = letters(_shown(_exchange(history.for_people(scene.log(talk)), mark)))
    match state:
        case "done":
            assert seen == SHAPES[kind]
            assert scene.lines_of(mark) == seen.count("c") * kind.startswith("line")
        case "interrupted":
            assert SHAPES[kind].startswith(seen)
            assert talk.answers(mark) == 0
        case _:
            assert (state, row.integer("attempt")) == ("failed", 3)
    return state


def _shown(exchange: Sequence[Entry]) -> list[Entry]:
    """Without notices, and without results of calls that were taken back."""
    calls = {entry.data.get("call") for entry in exchange if entry.kind is Kind.TOOL_CALL}
    return [
        entry
        for entry in exchange
        if entry.kind is not Kind.NOTICE and (entry.kind is not Kind.TOOL_RESULT or entry.data["call"] in calls)
    ]


def _append(line: str) -> Call:
    return Call("t_append_line", {"line": line})


def _finish(mark: str) -> Reply:
    return lambda request: Say(" ".join([opening(mark), *request.tool_results, closing(mark)]))


def _gated(mark: str) -> Reply:
    return Say(f"{opening(mark)} "), Gate(mark), Say(closing(mark))


def _exchange(log: Sequence[Entry], mark: str) -> list[Entry]:
    said = [index for index, entry in enumerate(log) if entry.kind is Kind.USER]
    first = next(index for index in said if log[index].text.partition(" ")[2] == mark)
    return list(log[first : next((index for index in said if index > first), len(log))])


def _audit_calls(log: Sequence[Entry]) -> None:
    """Each call has one result, behind it."""
    for index, entry in enumerate(log):
        if entry.kind is Kind.TOOL_CALL:
            results = [one for one in log if one.kind is Kind.TOOL_RESULT and one.data["call"] == entry.data["call"]]
            assert len(results) == 1, letters(log)
            assert results[0] in log[index:]


def _told_in(request: Request) -> set[str]:
    made: dict[str, str] = {}
    told: set[str] = set()
    for shown in request.messages:
        if shown.calls:
            ids = shown.call_id.split("\n")
            made |= {one: arguments for one, (_, arguments) in zip(ids, shown.calls, strict=True)}
        elif shown.role == "tool" and shown.text == APPENDED:
            told.add(json.loads(made[shown.call_id])["line"])
    return told


def _parent(pid: int) -> int | None:
    """Of a process that runs; None if it has ended."""
    try:
        state, parent, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == "Z" else int(parent)
