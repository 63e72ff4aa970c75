"""Which waiting messages are one message: a paste that the client split, lines typed in quick succession.

Pure: decides by the platform's send times, never by when we look.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from core.store.inbox import SPENT, Waiting
from core.vocabulary import Address, ChatKind, MessageId, RowId, TurnId

PASTE_GAP = timedelta(seconds=3)
"""A client sends the next piece of a split paste within seconds; platforms tell send times in whole seconds."""
QUICK_GAP = timedelta(seconds=1)
"""Lines of one thought, as far apart as whole seconds can tell."""
ALBUM_GAP = timedelta(seconds=1)
"""The pieces of an album come in one go."""
_STOP = re.compile(r"/stop ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
MOST_ROWS = 100
MOST_WAIT_S = 6.0
"""However long a paste gets, its first piece waits no longer than this."""


class Ref(Struct, frozen=True, kw_only=True):
    """What the mailbox holds of an inbox row: never its text, which an edit may still replace."""

    id: RowId
    command: str | None
    identity: str
    name: str
    role: str
    address: Address
    kind: ChatKind
    message: MessageId | None
    more_likely: bool
    sent_at: datetime
    received_at: datetime
    turn: TurnId | None = None
    """Of a stop that a button gave: the turn that it means, and no other."""
    brings: bool = False
    """It has files, which have to be fetched before it is admitted."""

    def as_message(self) -> Ref:
        """A command that goes on as an ordinary message."""
        return replace(self, command=SPENT)


def together(first: Ref, then: Ref, debounce: timedelta) -> bool:
    """Does `then` continue what `first` began?"""
    same = (
        first.command is None
        and then.command is None
        and first.identity == then.identity
        and first.address.bot == then.address.bot
        and first.address.chat == then.address.chat
        and first.address.thread == then.address.thread
    )
    gap = PASTE_GAP if first.more_likely else max(QUICK_GAP, debounce)
    return same and timedelta(0) <= then.sent_at - first.sent_at <= gap


def batch(waiting: Sequence[Ref], debounce: timedelta) -> list[Ref]:
    """The longest run from the front that is one message; never empty."""
    run = [waiting[0]]
    for then in waiting[1:MOST_ROWS]:
        if not together(run[-1], then, debounce):
            break
        run.append(then)
    return run


def patience_s(run: Sequence[Ref], whole: bool, debounce: timedelta) -> float:
    """How long after its last row's arrival a run waits for more: seconds, 0 where nothing more is expected.

    `whole`: something else waits behind the run, so nothing can join it.
    """
    if whole or len(run) >= MOST_ROWS or run[-1].command is not None:
        return 0.0
    if run[-1].more_likely:
        return (ALBUM_GAP if run[-1].brings else PASTE_GAP).total_seconds()
    return debounce.total_seconds()


def join(texts: Sequence[tuple[str, bool]]) -> str:
    """One text from (text, the client split it here) pairs: split pieces go together as they were, lines as lines."""
    whole = ""
    for i, (said, split_here) in enumerate(texts):
        last = i == len(texts) - 1
        whole += said if last or split_here else said + "\n"
    return whole


def ref_of(row: Waiting) -> Ref:
    """What the mailbox keeps of a stored row."""
    return Ref(
        id=row.id, command=row.command, identity=row.identity, name=row.name, role=row.role, address=row.address,
        kind=row.kind, message=row.message, more_likely=row.more_likely, sent_at=row.sent_at,
        received_at=row.received_at, turn=stopped_turn(row.command, row.text), brings=bool(row.enclosed.files),
    )  # fmt: skip


def stopped_turn(command: str | None, text: str) -> TurnId | None:
    """The turn that a stop names; people name none."""
    named = _STOP.fullmatch(text) if command == "stop" else None
    return TurnId(named[1]) if named is not None else None
