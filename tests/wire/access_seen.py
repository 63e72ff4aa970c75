"""A cell of the access table that is played, and what came of it, by the table's letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.desk.commands.forget import ASKED
from core.desk.commands.table import BY_NAME
from core.service.notices import ENGLISH
from core.store.sql import Row
from tests.drivers.driver import Person, Place
from tests.fakes.agents_crash import closing
from tests.wire.access_table import REASONS, Cell

ASKS: Final = "asks about it"
HOME: Final = "opens Home"
PANE: Final = "opens the assistant"
TYPES_MODEL: Final = "types /model"
LOOKS: Final = frozenset({HOME, PANE, "types /resume", TYPES_MODEL, "types /agent"})
"""Where somebody says nothing, and is shown something or nothing."""
STOP_OWN: Final = "press: one's own"
STOP_ELSES: Final = "press: somebody else's"
LET_IN: Final = "Let in"
HOME_RESUME: Final = "Home: Resume"
BUTTON_OF: Final[Mapping[str, str]] = {
    "press": ENGLISH["button_stop"],
    "Allow": ENGLISH["button_approve"],
    "Don't allow": ENGLISH["button_deny"],
    "Resume": ENGLISH["button_resume"],
    LET_IN: ENGLISH["let_in"],
}
"""The label of the button that a row is about, by what the row begins with."""

_DONE_BY: Final[Mapping[str, str]] = {
    "press": "stop", "Allow": "approve", "Don't allow": "deny", "Resume": "resume", "Home": "resume", LET_IN: "let_in",
}  # fmt: skip
_DETAILS: Final = {"forget": ASKED}
"""Where a fate is told by another word than the command's name."""
_NOT_YOURS: Final = (ENGLISH["not_yours"], ENGLISH["owner_only"])
_CODE: Final = ENGLISH["pairing"].partition("{")[0]


@dataclass
class Part:
    """One cell with its person, its chat and what was there before the act. `room` is where something comes of it,
    `scene` where it is done."""

    cell: Cell
    who: Person
    room: Place
    scene: Place
    number: str
    original: str = ""
    last_row: int = 0
    said: int = 0
    said_aside: int = 0
    whispered: int = 0
    fetched: int = 0
    signs: int = 0

    @property
    def mark(self) -> str:
        """Of the act itself."""
        return f"m{self.number}"

    @property
    def before(self) -> str:
        """Of what the person said before."""
        return f"p{self.number}"

    @property
    def others(self) -> str:
        """Of what the host said before."""
        return f"h{self.number}"

    @property
    def one_s_own(self) -> bool:
        """Is it about something that was begun for this person alone?"""
        return self.cell.kind.endswith("one's own") or self.cell.kind in (LET_IN, HOME_RESUME)

    @property
    def asked(self) -> str:
        """Of what a button is about that stands under a question."""
        return self.before if self.one_s_own else self.others

    @property
    def begins_as(self) -> str:
        """The role that the person has until the act; "O": an owner who is stored as one."""
        if self.cell.kind == LET_IN:
            return "O"
        return "u" if self.one_s_own and self.cell.role == "b" else self.cell.role

    @property
    def in_private_unknown(self) -> bool:
        return self.cell.role == "s" and not self.room.group

    @property
    def told(self) -> str:
        """What the agent has to be told, where it is heard."""
        if self.cell.kind == ASKS:
            return self.others if self.scene.group else self.before
        if self.cell.kind.startswith("/retry"):
            return self.others
        return {"sticker": "👍", "location": "52.5200, 13.4050", "dice": "🎲 4"}.get(self.cell.kind, self.mark)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What came of it. `shown`: what the person may choose among since then; None: nothing was shown to them."""

    part: Part
    rows: Sequence[Row]
    said: Sequence[str]
    said_aside: Sequence[str]
    """Where it was done, if that is elsewhere."""
    whispered: Sequence[str]
    fetched: int
    signs: int
    alone: int
    """Answers for that person alone that were sent, wherever."""
    shown: Sequence[str] | None

    @property
    def letter(self) -> str:
        """As the table has it; "?" for what it has not."""
        if self.said_aside and self.part.cell.kind != LET_IN:
            return "?"
        if not self.rows:
            return self._nothing()
        fates = {(row.text("fate"), row.text_or_none("detail") or "") for row in self.rows}
        if len(fates) > 1:
            return "?"
        fate, detail = next(iter(fates))
        if silent := REASONS.get((fate, detail)):
            return self._silence(silent)
        if (fate, detail) == ("refused", "expired"):
            return "?" if self.said or self.said_aside else "X"
        if (fate, detail) == ("refused", "voice_unheard"):
            return "V" if list(self.said) == [ENGLISH["voice_unheard"]] else "?"
        return self._answer(detail) if fate == "answered" else "?"

    def _nothing(self) -> str:
        if self.shown is not None:
            return "?" if self.said or self.whispered or "" in self.shown else "L" if self.shown else "E"
        return "?" if self.said else "T" if self.whispered else "0"

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
        told = [*self.said, *self.said_aside, *self.whispered]
        if any(notice in text for text in told for notice in _NOT_YOURS):
            return "N" if len(told) == 1 else "?"
        if all(row.text_or_none("turn_id") for row in self.rows):
            return "A" if any(closing("")[:-1] in text for text in told) else "?"
        return "C" if told and detail == _command(self.part.cell.kind) else "?"

    def __str__(self) -> str:
        rows = [
            (row.text_or_none("fate"), row.text_or_none("detail"), row.text_or_none("turn_id")) for row in self.rows
        ]
        wanted, came = self.part.cell.expected, self.letter
        told = [text[:60] for text in (*self.said, *self.said_aside, *self.whispered)]
        return (
            f"{self.part.cell}: {wanted} expected, {came} seen: {rows} {told} fetched {self.fetched} "
            f"signs {self.signs} shown {self.shown}"
        )


def _command(kind: str) -> str:
    """The command that a row of the table is about, by the name that its fate is told by."""
    if (done := _DONE_BY.get(kind.partition(":")[0])) is not None:
        return done
    word = kind.partition("/")[2].partition(" ")[0].rstrip(",")
    return _DETAILS.get(word) or (BY_NAME[word].name if word in BY_NAME else "unknown")
