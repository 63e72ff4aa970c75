"""The access table, played on one platform against the real daemon: each cell in a chat of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import text as verbatim

from core.service.socket import SOCKET_NAME
from core.service.socket_client import ask
from core.store.sql import Row, Sql
from tests.crash.daemon import Daemon, until
from tests.drivers.driver import Driver, Person, Place, Saying
from tests.fakes.agents_crash import closing
from tests.fakes.telegram.images import png
from tests.wire.access_seen import (
    ASKS,
    BUTTON_OF,
    HOME,
    LOOKS,
    PANE,
    STOP_ELSES,
    STOP_OWN,
    Part,
    Seen,
)

LONG_S: Final = 240.0
"""For all that a whole table makes the daemon do, on a busy machine."""
_SOUND: Final = b"OggS" + bytes(60)
_FILES: Final[Mapping[str, Mapping[str, bytes]]] = {
    "photo": {"photo.png": png(90, 60)}, "file": {"notes.txt": b"notes"}, "sound": {"song.ogg": _SOUND},
}  # fmt: skip
_THINGS: Final = ("sticker", "location", "venue", "contact", "dice")
_STOP: Final = BUTTON_OF["press"]
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
_KEPT: Final = Sql(
    verbatim("""
        SELECT text FROM entries UNION ALL SELECT data FROM entries
        UNION ALL SELECT text FROM inbox UNION ALL SELECT enclosed FROM inbox UNION ALL SELECT text FROM deliveries
    """)
)


@dataclass
class Play:
    driver: Driver
    daemon: Daemon
    parts: list[Part]
    host: Person
    owner: Person
    hall: Place
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
        self.driver.say(self.hall, self.host, Saying(text=f"fast {mark}", named=True))
        self.wait(lambda: any(closing(mark) in text for text in self.said(self.hall)), f"an answer to {mark}")
        due = [part for part in parts if part.cell.expected not in "0TLE"]
        self.wait(lambda: self._arrived(due), "everything arrives")
        shown = [part for part in parts if part.cell.expected in "LE"]
        self.wait(lambda: all(self.shown(part) is not None for part in shown), "everything is shown")
        told = [part for part in parts if part.cell.expected == "T"]
        self.wait(lambda: all(len(self.driver.whispered(part.room)) > part.whispered for part in told), "all are told")
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
            self.wait(lambda due=due: all(self.driver.buttons(part.room, _STOP) for part in due), "buttons")  # type: ignore[misc]
            self.note(parts)
            for part in parts:
                self.act(part)
                if part.cell.kind == STOP_OWN:
                    self.held.discard(part.room.chat)
            self.settle(parts)
        return self.see()

    def prepare(self, part: Part) -> None:
        """What has to be there before."""
        driver, kind, room, who = self.driver, part.cell.kind, part.room, part.who
        if kind == ASKS:
            self._say_what_is_asked_about(part)
            return
        self._talk_before(part)
        if kind in (STOP_OWN, STOP_ELSES):
            self.held.add(room.chat)
        match kind:
            case "press: one's own":
                driver.say(room, who, Saying(text=f"hold {part.before}", named=True))
            case "edit, named":
                part.original = driver.say(room, who, Saying(text=f"fast {part.before}"))
            case "reply to the bot" | "reaction" if not room.group:
                driver.say(room, who, Saying(text=f"fast {part.before}"))
            case "opens Home" | "types /resume":
                self._begin_what_can_be_resumed(part)
            case "types /model":
                self._choose_an_agent_with_models(part)
            case "words to the assistant":
                driver.look(room, who, _look(PANE))
            case _:
                pass

    def _talk_before(self, part: Part) -> None:
        """Somebody else is answered, where that is part of the place."""
        driver, cell = self.driver, part.cell
        holds = cell.kind == STOP_ELSES
        needed = holds or cell.kind in ("reaction", "reply to the bot")
        idle = cell.expected in "brp" or (cell.place == "listed" and driver.a_thread_each)
        if cell.place in ("listed", "ours") and (needed or not idle):
            driver.say(part.room, self.host, Saying(text=f"{'hold' if holds else 'fast'} {part.others}", named=True))

    def _say_what_is_asked_about(self, part: Part) -> None:
        scene, cell = part.scene, part.cell
        if not scene.group:
            part.original = self.driver.say(scene, part.who, Saying(text=f"fast {part.before}"))
            return
        named = cell.place == "ours" or (cell.place == "listed" and not self.driver.a_thread_each)
        part.original = self.driver.say(scene, self.host, Saying(text=f"fast {part.others}", named=named))
        self.beside.add(scene.chat)

    def _begin_what_can_be_resumed(self, part: Part) -> None:
        """Everybody tries to: in private, and who is not known there in a group that is listed."""
        driver, said = self.driver, Saying(text=f"fast {part.before}", named=True)
        if part.cell.role != "s" or not part.room.group:
            private = driver.direct(part.who)
            self.beside.add(private.chat)
            driver.say(private, part.who, said)
        elif part.cell.place in ("listed", "ours"):
            driver.say(part.room, part.who, said)

    def _choose_an_agent_with_models(self, part: Part) -> None:
        by = self.owner if part.room.group else part.who
        self.driver.say(part.room, by, Saying(text="/agent paper", named=True))

    def note(self, parts: Sequence[Part]) -> None:
        with self.daemon.reading() as tx:
            rows = tx.all(_ROWS)
        last = {row.text("chat"): row.integer("id") for row in rows}
        for part in parts:
            part.last_row = last.get(part.room.chat, 0)
            part.said = len(self.said(part.room))
            part.said_aside = len(self.said(part.scene))
            part.whispered = len(self.driver.whispered(part.room))
            part.fetched = self.driver.fetched(part.room)
            part.signs = self.driver.signs(part.room)

    def act(self, part: Part) -> None:
        driver, kind, room, who = self.driver, part.cell.kind, part.room, part.who
        manner, _, rest = kind.partition(": ")
        match manner:
            case _ if kind in LOOKS:
                driver.look(room, who, _look(kind))
            case "asks about it":
                driver.ask_about(part.scene, who, part.original, f"fast {part.mark}")
            case "press":
                driver.press(room, who, driver.buttons(room, _STOP)[-1])
            case "menu":
                driver.pick(room, who, rest.removeprefix("/"))
            case "nobody" | "impostor" | "channel" | "linked":
                driver.say_as_nobody(room, manner, self.owner, _words(rest.removesuffix(", named"), part.mark))
            case "comes and goes":
                driver.come_and_go(room, who)
            case "puts the bot out and in":
                driver.put_out_and_in(room, who)
            case "reaction":
                driver.react(room, who)
            case "edit, named":
                driver.edit(room, part.original, f"{driver.mention()} fast {part.mark}")
            case _:
                driver.say(room, who, saying(kind, part.mark))

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
        return [
            Seen(
                part=part,
                rows=[row for row in of_chat.get(part.room.chat, ()) if row.integer("id") > part.last_row],
                said=self.said(part.room)[part.said :],
                said_aside=self.said(part.scene)[part.said_aside :] if part.scene != part.room else (),
                whispered=self.driver.whispered(part.room)[part.whispered :],
                fetched=self.driver.fetched(part.room) - part.fetched,
                signs=self.driver.signs(part.room) - part.signs,
                alone=alone.count((part.room.chat, part.who.id)),
                shown=self.shown(part),
            )
            for part in self.parts
        ]

    def shown(self, part: Part) -> Sequence[str] | None:
        kind = part.cell.kind
        return self.driver.choices(part.room, part.who, _look(kind)) if kind in LOOKS else None

    def said(self, place: Place) -> list[str]:
        """What the bot said there, its files among it, by name."""
        return [one.text or " ".join(name for name, _ in one.files) for one in self.driver.shown(place)]

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
    if kind in _FILES:
        return Saying(text=f"fast {mark}", named=named, files=_FILES[kind])
    if kind in _THINGS:
        return Saying(text=mark, named=named, thing=kind)
    if kind == "voice":
        return Saying(named=named, voice=_SOUND)
    match kind.partition(": "):
        case ("words to the assistant", _, _):
            return Saying(text=f"fast {mark}")
        case ("handed on", _, words):
            return Saying(text=_words(words, mark), forwarded=True)
        case ("reply to the bot", _, _):
            return Saying(text=f"fast {mark}", reply=True)
        case _:
            return Saying(text=_words(kind, mark), named=named)


def _look(kind: str) -> str:
    """What a row opens."""
    return {HOME: "home", PANE: "assistant"}.get(kind) or kind.rpartition("/")[2]
