"""The access table, played on one platform against the real daemon: each cell in a chat of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy import text as verbatim

from core.desk.commands.forget import ASKED
from core.desk.commands.table import BY_NAME
from core.service.notices import ENGLISH
from core.service.socket import SOCKET_NAME
from core.service.socket_client import ask
from core.store.sql import Row, Sql
from tests.crash.daemon import Daemon, until
from tests.fakes.agents_crash import closing
from tests.wire.access_stage import Room, Saying, Stage, Who
from tests.wire.access_table import REASONS, ROLES, Cell

LONG_S: Final = 240.0
"""For all that a whole table makes the daemon do, on a busy machine; Slack lets so many places be read in a minute."""
_ELSES: Final = "press: somebody else's"
_OWN: Final = "press: one's own"
_DETAILS: Final = {"forget": ASKED}
"""Where a fate is told by another word than the command's name."""
_NOT_YOURS: Final = ENGLISH["not_yours"]
_CODE: Final = ENGLISH["pairing"].partition("{")[0]

_ROWS: Final = Sql(verbatim("SELECT id, chat, message, state, fate, detail, turn_id, text FROM inbox ORDER BY id"))
_UNDONE: Final = Sql(
    verbatim("""
        SELECT chat FROM inbox WHERE state <> 'done'
        UNION ALL SELECT chat FROM turns WHERE state = 'running'
        UNION ALL SELECT chat FROM deliveries WHERE state IN ('queued', 'sending')
    """)
)
_ALONE: Final = Sql(verbatim("SELECT chat, alone FROM deliveries WHERE alone IS NOT NULL AND state = 'sent'"))
_UNSENT: Final = Sql(verbatim("SELECT text, state, error FROM deliveries WHERE state <> 'sent'"))
_KEPT: Final = Sql(
    verbatim("""
        SELECT text FROM entries UNION ALL SELECT data FROM entries
        UNION ALL SELECT text FROM inbox UNION ALL SELECT enclosed FROM inbox UNION ALL SELECT text FROM deliveries
    """)
)


@dataclass
class Part:
    """One cell with its person, its chat and what was there before the act."""

    cell: Cell
    who: Who
    room: Room
    number: str
    original: str = ""
    last_row: int = 0
    said: int = 0
    whispered: int = 0
    fetched: int = 0
    signs: int = 0

    @property
    def mark(self) -> str:
        """Of the act itself."""
        return f"m{self.number}"

    @property
    def in_private_unknown(self) -> bool:
        return self.cell.role == "s" and not self.room.group


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What came of it."""

    part: Part
    rows: Sequence[Row]
    said: Sequence[str]
    whispered: Sequence[str]
    fetched: int
    signs: int
    alone: int
    """Answers for that person alone that were sent, wherever."""

    @property
    def letter(self) -> str:
        """As the table has it; "?" for what it has not."""
        if not self.rows:
            return "?" if self.said else "T" if self.whispered else "0"
        fates = {(row.text("fate"), row.text_or_none("detail") or "") for row in self.rows}
        if len(fates) > 1:
            return "?"
        fate, detail = next(iter(fates))
        if silent := REASONS.get((fate, detail)):
            return self._silence(silent)
        if (fate, detail) == ("refused", "expired"):
            return "?" if self.said else "X"
        if (fate, detail) == ("refused", "voice_unheard"):
            return "V" if list(self.said) == [ENGLISH["voice_unheard"]] else "?"
        return self._answer(detail) if fate == "answered" else "?"

    def _silence(self, silent: str) -> str:
        if self.fetched or self.signs:
            return "?"
        told = [*self.said, *self.whispered]
        if silent == "s" and told:
            return "K" if len(told) == 1 and told[0].startswith(_CODE) else "?"
        return "?" if self.said else "T" if self.whispered else silent

    def _answer(self, detail: str) -> str:
        if self.alone:
            return "P" if not self.said and detail == _command(self.part.cell.kind) else "?"
        told = [*self.said, *self.whispered]
        if any(_NOT_YOURS in text for text in told):
            return "N" if len(told) == 1 else "?"
        if all(row.text_or_none("turn_id") for row in self.rows):
            return "A" if any(closing("")[:-1] in text for text in told) else "?"
        return "C" if told and detail == _command(self.part.cell.kind) else "?"

    def __str__(self) -> str:
        rows = [
            (row.text_or_none("fate"), row.text_or_none("detail"), row.text_or_none("turn_id")) for row in self.rows
        ]
        wanted, came = self.part.cell.expected, self.letter
        told = [text[:60] for text in (*self.said, *self.whispered)]
        return (
            f"{self.part.cell}: {wanted} expected, {came} seen: {rows} {told} fetched {self.fetched} signs {self.signs}"
        )


def _command(kind: str) -> str:
    """The command that a row of the table is about, by the name that its fate is told by."""
    if kind == _OWN:
        return "stop"
    word = kind.partition("/")[2].partition(" ")[0].rstrip(",")
    return _DETAILS.get(word) or (BY_NAME[word].name if word in BY_NAME else "unknown")


@dataclass
class Play:
    stage: Stage
    daemon: Daemon
    parts: list[Part]
    host: Who
    owner: Who
    hall: Room
    """Where the host asks what comes after all else."""
    held: set[str] = field(default_factory=set)
    """Chats where an answer goes on for ever."""
    barriers: int = 0

    def __post_init__(self) -> None:
        self.roots = {(part.room.chat, part.room.thread) for part in self.parts if part.room.thread}

    # waiting

    def wait(self, holds: Callable[[], bool], what: str, *, timeout_s: float = LONG_S) -> None:
        try:
            until(holds, what, timeout_s=timeout_s)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; the daemon says: {self.daemon.log[-3000:]}") from None

    def settle(self, parts: Sequence[Part]) -> None:
        """Until what these people did has arrived and has its fate, and something said after it was answered."""
        self.barriers += 1
        mark = f"hall{self.barriers}"
        self.stage.say(self.hall, self.host, Saying(text=f"fast {mark}", named=True))
        self.wait(lambda: any(closing(mark) in text for text in self.stage.said(self.hall)), f"an answer to {mark}")
        due = [part for part in parts if part.cell.expected not in "0T"]
        self.wait(lambda: self._arrived(due), "everything arrives")
        self.wait(self.quiet, "nothing is open")

    def _arrived(self, due: Sequence[Part]) -> bool:
        with self.daemon.reading() as tx:
            last = {row.text("chat"): row.integer("id") for row in tx.all(_ROWS) if not self._is_root(row)}
        return all(last.get(part.room.chat, 0) > part.last_row for part in due)

    def _is_root(self, row: Row) -> bool:
        """Is it what a thread hangs on, which nobody said to the bot?"""
        return (row.text("chat"), row.text_or_none("message")) in self.roots

    def quiet(self) -> bool:
        with self.daemon.reading() as tx:
            return {row.text("chat") for row in tx.all(_UNDONE)} <= self.held

    # doing

    def play(self) -> list[Seen]:
        """Strangers first: then no owner can be asked about them yet."""
        for parts in _halves(self.parts):
            for part in parts:
                self.prepare(part)
            self.settle([])
            due = [part for part in parts if part.cell.kind in (_OWN, _ELSES)]
            self.wait(lambda due=due: all(self.stage.button(part.room) for part in due), "buttons")  # type: ignore[misc]
            self.note(parts)
            for part in parts:
                self.act(part)
                if part.cell.kind == _OWN:
                    self.held.discard(part.room.chat)
            self.settle(parts)
        return self.see()

    def prepare(self, part: Part) -> None:
        """What has to be there before."""
        stage, cell, room = self.stage, part.cell, part.room
        holds = cell.kind == _ELSES
        needed = holds or cell.kind in ("reaction", "reply to the bot")
        idle = cell.expected in "brp" or (cell.place == "listed" and stage.a_thread_each)
        if cell.place in ("listed", "ours") and (needed or not idle):
            stage.say(room, self.host, Saying(text=f"{'hold' if holds else 'fast'} h{part.number}", named=True))
        if cell.kind == _OWN:
            stage.say(room, part.who, Saying(text=f"hold p{part.number}", named=True))
        if cell.kind in (_OWN, _ELSES):
            self.held.add(room.chat)
        if cell.kind == "edit, named":
            part.original = stage.say(room, part.who, Saying(text=f"fast p{part.number}"))
        if not room.group and cell.kind in ("reply to the bot", "reaction"):
            stage.say(room, part.who, Saying(text=f"fast p{part.number}"))

    def note(self, parts: Sequence[Part]) -> None:
        with self.daemon.reading() as tx:
            rows = tx.all(_ROWS)
        last = {row.text("chat"): row.integer("id") for row in rows}
        for part in parts:
            part.last_row = last.get(part.room.chat, 0)
            part.said = len(self.stage.said(part.room))
            part.whispered = len(self.stage.whispered(part.room))
            part.fetched = self.stage.fetched(part.room)
            part.signs = self.stage.signs(part.room)

    def act(self, part: Part) -> None:
        stage, kind, room, who = self.stage, part.cell.kind, part.room, part.who
        manner, _, rest = kind.partition(": ")
        match manner:
            case "press":
                stage.press(room, who)
            case "menu":
                stage.pick(room, who, rest.removeprefix("/"))
            case "nobody" | "impostor" | "channel" | "linked":
                stage.say_as_nobody(room, manner, self.owner, _words(rest.removesuffix(", named"), part.mark))
            case "comes and goes":
                stage.come_and_go(room, who)
            case "puts the bot out and in":
                stage.put_out_and_in(room, who)
            case "reaction":
                stage.react(room, who)
            case "edit, named":
                stage.edit(room, part.original, f"fast {part.mark}")
            case _:
                stage.say(room, who, saying(kind, part.mark))

    # looking

    def see(self) -> list[Seen]:
        with self.daemon.reading() as tx:
            rows = tx.all(_ROWS)
            alone = [(row.text("chat"), row.text("alone")) for row in tx.all(_ALONE)]
        of_chat: dict[str, list[Row]] = {}
        for row in rows:
            if self._is_root(row):
                continue
            of_chat.setdefault(row.text("chat"), []).append(row)
        stage = self.stage
        return [
            Seen(
                part=part,
                rows=[row for row in of_chat.get(part.room.chat, ()) if row.integer("id") > part.last_row],
                said=stage.said(part.room)[part.said :],
                whispered=stage.whispered(part.room)[part.whispered :],
                fetched=stage.fetched(part.room) - part.fetched,
                signs=stage.signs(part.room) - part.signs,
                alone=alone.count((part.room.chat, part.who.id)),
            )
            for part in self.parts
        ]

    def loose_ends(self) -> list[str]:
        """What is without a fate, of no chat, or not sent."""
        with self.daemon.reading() as tx:
            rows, unsent = tx.all(_ROWS), tx.all(_UNSENT)
        known = {part.room.chat for part in self.parts} | {self.hall.chat}
        return [
            *(f"row {row.integer('id')}" for row in rows if row.text("chat") not in known),
            *(f"row {row.integer('id')}" for row in rows if not row.text_or_none("fate") and not self._holds(row)),
            *(f"{row.text('state')}: {row.text('text')}" for row in unsent if "begin(" not in row.text("text")),
        ]

    def _holds(self, row: Row) -> bool:
        return row.text("chat") in self.held

    def asked(self) -> str:
        """What the agents were asked."""
        journal = self.daemon.home / "journal"
        return journal.read_text() if journal.exists() else ""

    def kept(self) -> str:
        """All that the store holds of what anybody said."""
        with self.daemon.reading() as tx:
            return "\n".join(row.text_or_none("text") or "" for row in tx.all(_KEPT))

    def explained(self, row: Row) -> str:
        return str(self.verb("explain", id=str(row.integer("id"))))

    def verb(self, name: str, **arguments: str) -> object:
        return asyncio.run(ask(self.daemon.state / SOCKET_NAME, name, arguments))


def _halves(parts: Sequence[Part]) -> list[list[Part]]:
    first = [part for part in parts if part.in_private_unknown]
    return [first, [part for part in parts if not part.in_private_unknown]]


def _words(words: str, mark: str) -> str:
    """The text that a row of the table means."""
    return f"fast {mark}" if words == "words" else words.replace("words", mark)


def saying(kind: str, mark: str) -> Saying:
    """A row that is a message."""
    named = kind.endswith(", named")
    kind = kind.removesuffix(", named")
    if kind in ("photo", "file"):
        return Saying(text=f"fast {mark}", named=named, thing=kind)
    match kind.partition(": "):
        case ("voice", _, _):
            return Saying(thing="voice")
        case ("handed on", _, words):
            return Saying(text=_words(words, mark), handed_on=True)
        case ("reply to the bot", _, _):
            return Saying(text=f"fast {mark}", reply=True)
        case _:
            return Saying(text=_words(kind, mark), named=named)


def furnished(stage: Stage, home: Path, cells: Sequence[Cell], direct: str = "pairing") -> Play:
    """Everybody is there, the daemon is not started yet. `direct`: what the bot has for the place of the same name."""
    host = stage.person("host")
    regulars = {role: stage.person(f"regular {role}", robot=role == "x") for role in ROLES}
    parts = []
    for number, cell in enumerate(cells):
        place = cell.place if cell.place != direct else "direct"
        own = place == "direct" or cell.kind in ("comes and goes", _OWN)
        who = stage.person(f"{cell.role}{number}", robot=cell.role == "x") if own else regulars[cell.role]
        parts.append(Part(cell=cell, who=who, room=stage.room(place, who, host), number=f"{number:04}z"))
    roles = {role: {part.who.identity for part in parts if part.cell.role == role} for role in "ou"}
    roles["o"].add(regulars["o"].identity)
    hall = stage.room("listed" if direct == "off" else "direct", host, host)
    config = _config(stage, home, direct, {"o": sorted(roles["o"]), "u": sorted({host.identity, *roles["u"]})})
    daemon = Daemon(home, config=config)
    return Play(stage=stage, daemon=daemon, parts=parts, host=host, owner=regulars["o"], hall=hall)


def _config(stage: Stage, home: Path, direct: str, people: Mapping[str, Sequence[str]]) -> str:
    bot = {**stage.table(), "groups": stage.listed, "stop_button": True}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in bot.items())
    return f"""
[access]
direct = "{direct}"
owners = {json.dumps(people["o"])}
allow = {json.dumps(people["u"])}
[desk]
max_turns = 500
[session.reset]
mode = "none"
[agents.default]
backend = "tests.fakes.agents_crash:make"
[agents.default.options]
journal = {json.dumps(str(home / "journal"))}
[bots.{stage.platform}]
{lines}
"""


def begin(play: Play) -> None:
    """Start it and give people their roles."""
    play.daemon.start()
    play.daemon.until_ready()
    play.daemon.until_bot("up", play.stage.platform)
    play.wait(play.stage.connected, "connected")
    asyncio.run(_give_roles(play))


async def _give_roles(play: Play) -> None:
    roles = {part.who.identity: {"g": "guest", "b": "blocked"}.get(part.cell.role) for part in play.parts}
    for identity, role in roles.items():
        if role is not None:
            await ask(play.daemon.state / SOCKET_NAME, "people.role", {"id": identity, "role": role})
