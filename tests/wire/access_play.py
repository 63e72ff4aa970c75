"""The access table, played on one platform against the real daemon: each cell in a chat of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy import text as verbatim

from core.service.socket import SOCKET_NAME
from core.service.socket_client import ask
from core.store.sql import Row, Sql
from tests.crash.daemon import Daemon, until
from tests.fakes.agents_crash import closing
from tests.wire.access_seen import (
    ASKS,
    BUTTON_OF,
    LOOKS,
    PANE,
    STOP_ELSES,
    STOP_OWN,
    TYPES_MODEL,
    Part,
    Seen,
)
from tests.wire.access_stage import Room, Saying, Stage, Who
from tests.wire.access_table import ROLES, Cell

LONG_S: Final = 240.0
"""For all that a whole table makes the daemon do, on a busy machine; Slack lets so many places be read in a minute."""
_THINGS: Final = ("photo", "file", "sound", "voice", "sticker", "location", "venue", "contact", "dice")
_STOP: Final = BUTTON_OF["press"]
NO_RESET: Final = """
[session.reset]
mode = "none"
"""
_GIVEN: Final = {"g": "guest", "b": "blocked", "O": "owner"}
"""The roles that are stored; all others are configured, or none."""

_ROWS: Final = Sql(
    verbatim("""
        SELECT id, chat, message, state, fate, detail, turn_id, text,
            turn_id IS NOT NULL AND turn_id IN (SELECT id FROM turns WHERE state = 'suspended') AS suspended
        FROM inbox WHERE account <> 'desk' ORDER BY id
    """)
)
"""All but those of the desk's own making. `suspended`: what it asks for waits for somebody's word."""
_UNDONE: Final = Sql(
    verbatim("""
        SELECT chat FROM inbox WHERE state <> 'done'
            AND (turn_id IS NULL OR turn_id NOT IN (SELECT id FROM turns WHERE state = 'suspended'))
        UNION ALL SELECT chat FROM turns WHERE state = 'running'
        UNION ALL SELECT chat FROM deliveries WHERE state IN ('queued', 'sending')
    """)
)
_ALONE: Final = Sql(verbatim("SELECT chat, alone FROM deliveries WHERE alone IS NOT NULL AND state = 'sent'"))
_UNSENT: Final = Sql(verbatim("SELECT text, state, error FROM deliveries WHERE state <> 'sent'"))
_PAPER: Final = """
[agents.paper]
backend = "model"
model = "openai:paper"
models = ["openai:pencil"]
base_url = "http://127.0.0.1:9/v1"
api_key = "none"
"""
"""An agent that nobody asks anything: it has models to choose among."""
_KEPT: Final = Sql(
    verbatim("""
        SELECT text FROM entries UNION ALL SELECT data FROM entries
        UNION ALL SELECT text FROM inbox UNION ALL SELECT enclosed FROM inbox UNION ALL SELECT text FROM deliveries
    """)
)


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
    beside: set[str] = field(default_factory=set)
    """Further chats where something was said."""
    barriers: int = 0

    def __post_init__(self) -> None:
        self.roots = {(part.scene.chat, part.scene.thread) for part in self.parts if part.scene.thread}

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
        due = [part for part in parts if part.cell.expected not in "0TLE"]
        self.wait(lambda: self._arrived(due), "everything arrives")
        shown = [part for part in parts if part.cell.expected in "LE"]
        self.wait(lambda: all(self.shown(part) is not None for part in shown), "everything is shown")
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
            due = [part for part in parts if part.cell.kind in (STOP_OWN, STOP_ELSES)]
            self.wait(lambda due=due: all(self.stage.button(part.room, _STOP) for part in due), "buttons")  # type: ignore[misc]
            self.note(parts)
            for part in parts:
                self.act(part)
                if part.cell.kind == STOP_OWN:
                    self.held.discard(part.room.chat)
            self.settle(parts)
        return self.see()

    def prepare(self, part: Part) -> None:
        """What has to be there before."""
        stage, kind, room, who = self.stage, part.cell.kind, part.room, part.who
        if kind == ASKS:
            self._say_what_is_asked_about(part)
            return
        self._talk_before(part)
        if kind in (STOP_OWN, STOP_ELSES):
            self.held.add(room.chat)
        match kind:
            case "press: one's own":
                stage.say(room, who, Saying(text=f"hold {part.before}", named=True))
            case "edit, named":
                part.original = stage.say(room, who, Saying(text=f"fast {part.before}"))
            case "reply to the bot" | "reaction" if not room.group:
                stage.say(room, who, Saying(text=f"fast {part.before}"))
            case "opens Home" | "types /resume":
                self._begin_what_can_be_resumed(part)
            case "types /model":
                self._choose_an_agent_with_models(part)
            case "words to the assistant":
                stage.look(room, who, PANE)
            case _:
                pass

    def _talk_before(self, part: Part) -> None:
        """Somebody else is answered, where that is part of the place."""
        stage, cell = self.stage, part.cell
        holds = cell.kind == STOP_ELSES
        needed = holds or cell.kind in ("reaction", "reply to the bot")
        idle = cell.expected in "brp" or (cell.place == "listed" and stage.a_thread_each)
        if cell.place in ("listed", "ours") and (needed or not idle):
            stage.say(part.room, self.host, Saying(text=f"{'hold' if holds else 'fast'} {part.others}", named=True))

    def _say_what_is_asked_about(self, part: Part) -> None:
        scene, cell = part.scene, part.cell
        if not scene.group:
            part.original = self.stage.say(scene, part.who, Saying(text=f"fast {part.before}"))
            return
        named = cell.place == "ours" or (cell.place == "listed" and not self.stage.a_thread_each)
        part.original = self.stage.say(scene, self.host, Saying(text=f"fast {part.others}", named=named))
        self.beside.add(scene.chat)

    def _begin_what_can_be_resumed(self, part: Part) -> None:
        """Everybody tries to: in private, and who is not known there in a group that is listed."""
        stage, said = self.stage, Saying(text=f"fast {part.before}", named=True)
        if part.cell.role != "s" or not part.room.group:
            private = stage.direct(part.who)
            self.beside.add(private.chat)
            stage.say(private, part.who, said)
        elif part.cell.place in ("listed", "ours"):
            stage.say(part.room, part.who, said)

    def _choose_an_agent_with_models(self, part: Part) -> None:
        by = self.owner if part.room.group else part.who
        self.stage.say(part.room, by, Saying(text="/agent paper", named=True))

    def note(self, parts: Sequence[Part]) -> None:
        with self.daemon.reading() as tx:
            rows = tx.all(_ROWS)
        last = {row.text("chat"): row.integer("id") for row in rows}
        for part in parts:
            part.last_row = last.get(part.room.chat, 0)
            part.said = len(self.stage.said(part.room))
            part.said_aside = len(self.stage.said(part.scene))
            part.whispered = len(self.stage.whispered(part.room))
            part.fetched = self.stage.fetched(part.room)
            part.signs = self.stage.signs(part.room)

    def act(self, part: Part) -> None:
        stage, kind, room, who = self.stage, part.cell.kind, part.room, part.who
        manner, _, rest = kind.partition(": ")
        match manner:
            case _ if kind in LOOKS:
                stage.look(room, who, kind)
            case "asks about it":
                stage.ask_about(part.scene, who, part.original, f"fast {part.mark}")
            case "press":
                stage.press(room, who, _STOP)
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
                said_aside=stage.said(part.scene)[part.said_aside :] if part.scene != part.room else (),
                whispered=stage.whispered(part.room)[part.whispered :],
                fetched=stage.fetched(part.room) - part.fetched,
                signs=stage.signs(part.room) - part.signs,
                alone=alone.count((part.room.chat, part.who.id)),
                shown=self.shown(part),
            )
            for part in self.parts
        ]

    def shown(self, part: Part) -> Sequence[str] | None:
        return self.stage.shown(part.room, part.who, part.cell.kind) if part.cell.kind in LOOKS else None

    def loose_ends(self) -> list[str]:
        """What is without a fate, of no chat, or not sent."""
        with self.daemon.reading() as tx:
            rows, unsent = tx.all(_ROWS), tx.all(_UNSENT)
        known = {part.room.chat for part in self.parts} | {self.hall.chat} | self.beside
        return [
            *(f"row {row.integer('id')}" for row in rows if row.text("chat") not in known),
            *(f"row {row.integer('id')}" for row in rows if not row.text_or_none("fate") and not self._holds(row)),
            *(f"{row.text('state')}: {row.text('text')}" for row in unsent if "begin(" not in row.text("text")),
        ]

    def _holds(self, row: Row) -> bool:
        return row.text("chat") in self.held or bool(row.integer("suspended"))

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
    return words.replace("words", f"fast {mark}")


def saying(kind: str, mark: str) -> Saying:
    """A row that is a message."""
    named = kind.endswith(", named")
    kind = kind.removesuffix(", named")
    if kind in _THINGS:
        text = f"fast {mark}" if kind in ("photo", "file", "sound") else mark
        return Saying(text=text if kind != "voice" else "", named=named, thing=kind)
    match kind.partition(": "):
        case ("words to the assistant", _, _):
            return Saying(text=f"fast {mark}")
        case ("handed on", _, words):
            return Saying(text=_words(words, mark), handed_on=True)
        case ("reply to the bot", _, _):
            return Saying(text=f"fast {mark}", reply=True)
        case _:
            return Saying(text=_words(kind, mark), named=named)


def furnished(stage: Stage, home: Path, cells: Sequence[Cell], direct: str = "pairing", more: str = NO_RESET) -> Play:
    """Everybody is there, the daemon is not started yet. `direct`: what the bot has for the place of the same name.
    `more`: further configuration."""
    host = stage.person("host")
    regulars = {role: stage.person(f"regular {role}", robot=role == "x") for role in ROLES}
    parts = []
    for number, cell in enumerate(cells):
        place = cell.place if cell.place != direct else "direct"
        aside = cell.kind == ASKS and stage.asks_in_private
        own = place == "direct" or aside or cell.kind == "comes and goes" or cell.kind.endswith("one's own")
        who = stage.person(f"{cell.role}{number}", robot=cell.role == "x") if own else regulars[cell.role]
        scene = stage.room(place, who, host)
        room = stage.direct(who) if aside else scene
        parts.append(Part(cell=cell, who=who, room=room, scene=scene, number=f"{number:04}z"))
    roles = {role: {part.who.identity for part in parts if part.begins_as == role} for role in "ou"}
    roles["o"].add(regulars["o"].identity)
    hall = stage.room("listed" if direct == "off" else "direct", host, host)
    people = {"o": sorted(roles["o"]), "u": sorted({host.identity, *roles["u"]})}
    more += _PAPER if any(cell.kind == TYPES_MODEL for cell in cells) else ""
    daemon = Daemon(home, config=_config(stage, home, direct, people) + more)
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
[agents.default]
backend = "tests.wire.access_agent:make"
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
    roles = {part.who.identity: _GIVEN.get(part.begins_as) for part in play.parts}
    for identity, role in roles.items():
        if role is not None:
            await ask(play.daemon.state / SOCKET_NAME, "people.role", {"id": identity, "role": role})
