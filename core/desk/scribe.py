"""What a running turn writes while it runs. Everything is committed before the agent goes on with it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Protocol

import structlog
from msgspec import Struct
from msgspec.structs import replace

from core.desk import bringing
from core.desk.admit import Admitted, prompt_line
from core.desk.coalesce import Ref
from core.desk.commands.table import argument
from core.desk.house import House
from core.errors import FenceLost
from core.people.names import one_line, storable
from core.store import conversations, entries, history, inbox, sessions, turns
from core.store.entries import Draft, Entry, Json, Kind
from core.store.inbox import Fate, Waiting
from core.store.sql import Tx
from core.vocabulary import CallClosed, CallOpened, RowId

log = structlog.get_logger("frontdesk.turn")

DOING_CHARS = 60
BREAK = "\n\n"
"""Between what a model says in one response and in the next."""

Committed = tuple[list[RowId], list[Entry]]
"""The rows that a unit of a turn took, and the entries that it added."""


class Listener(Protocol):
    """The mailbox, as its running turn sees it."""

    def turn_over(self) -> None:
        """The turn waits for its recording."""

    def row_taken(self, row: RowId) -> None:
        """A waiting row was taken into the turn."""


class Said(Struct, frozen=True):
    """One response, or what there is of it: `data` is what its agent gave with its end."""

    text: str
    data: Mapping[str, Json] | None


class Scribe:
    """Lives on the main loop. `close` ends it: nothing is committed from then on."""

    def __init__(self, house: House, admitted: Admitted, listener: Listener) -> None:
        self.rows: list[RowId] = list(admitted.rows)
        self.added: list[Entry] = [admitted.message, *admitted.since]
        """What the model has seen since its history, in order."""
        self.called = bool(admitted.since)
        self.closed = False
        self._house = house
        self._admitted = admitted
        self._turn = admitted.turn
        self._listener = listener
        self._steers: deque[Ref] = deque()
        self._ended: list[Said] = []
        self._tail: list[str] = []
        self._said: list[str] = []
        self._between = self._pondering = False
        self._began = 0
        """Where in `_said` the response begins that runs."""
        self._running: dict[str, str] = {}
        """Tools that run, by the ids of their calls."""
        self._commits: set[asyncio.Task[list[Entry]]] = set()

    def hear(self, text: str) -> str:
        """A piece of the answer, as it joins what people are told: what a model says after its tools have run stands
        in a paragraph of its own."""
        clean = storable(text)
        self._tail.append(clean)
        shown = clean
        if self._between:
            shown = clean.lstrip()
            self._between = self._pondering = not shown
            shown = f"{BREAK}{shown}" if shown else ""
        self._said.append(shown)
        return shown

    def keep(self, text: str) -> None:
        """What belongs to the response and is told to nobody."""
        self._tail.append(storable(text))

    def ponder(self, text: str) -> None:
        """A piece of what a model thinks, for an agent that shows it: a quotation before the answer. It is in no entry
        of its own, and the model does not see it again as something that was said."""
        quoted = storable(text).replace("\n", "\n> ")
        self._said.append(quoted if self._pondering else f"{BREAK if self.text.strip() else ''}> {quoted}")
        self._pondering = self._between = True

    def unsay(self, *, shown: bool) -> None:
        """What was heard since the last response was thought, and is no answer."""
        thought = "".join(self._tail)
        self._tail.clear()
        del self._said[self._began :]
        self._pondering, self._between = False, bool(self.text.strip())
        if shown:
            self.ponder(thought)

    def responded(self, data: Mapping[str, Json]) -> None:
        """What was heard since the last response is one."""
        self._ended.append(Said("".join(self._tail), data))
        self._between = bool(self.text.strip())
        self._began = len(self._said)
        self._tail.clear()

    @property
    def text(self) -> str:
        """All that was said."""
        return "".join(self._said)

    @property
    def doing(self) -> str:
        """What the answer waits for, in a few words; "" for nothing but the model."""
        tools = ", ".join(dict.fromkeys(self._running.values()))
        return self._house.notices.say("tool_runs", tools=tools[:DOING_CHARS]) if tools else ""

    def unsaved(self, cut: str = "") -> list[Draft]:
        """What was said since the last commit, as entries to be. `cut`: why the last of it has no end."""
        said = [*self._ended]
        if self._tail:
            said.append(Said("".join(self._tail), None))
        return [self._draft(one, cut) for one in said if one.text.strip()]

    def _draft(self, said: Said, cut: str) -> Draft:
        data: dict[str, Json] = {} if said.data is None else {"response": said.data}
        if cut and said.data is None:
            data["cut"] = cut
        return Draft(kind=Kind.ASSISTANT, text=said.text, data=data, turn=self._turn.id)

    async def opened(self, calls: Sequence[CallOpened]) -> None:
        if not calls:
            return
        self.called = True
        drafts = [Draft(kind=Kind.TOOL_CALL, text=storable(c.tool), data=_call(c), turn=self._turn.id) for c in calls]
        silent = self._ended[-1].data if self._ended and not self._ended[-1].text.strip() and not self._tail else None
        if silent is not None:
            drafts[0] = replace(drafts[0], data={**drafts[0].data, "response": silent})
        await self._append([*self.unsaved(), *drafts])
        self._running.update({call.call: one_line(call.tool) for call in calls})

    async def result(self, call: CallClosed, part: Mapping[str, Json] | None) -> None:
        data: dict[str, Json] = {"call": storable(call.call), "failed": call.failed}
        if part is not None:
            data["part"] = part
        draft = Draft(kind=Kind.TOOL_RESULT, text=storable(call.result), data=data, turn=self._turn.id)
        self._running.pop(call.call, None)
        await self._commit(self._appending([draft]), ended=0, said=0)

    async def compacted(self, summary: str, upto: int) -> Entry:
        draft = Draft(kind=Kind.COMPACTION, text=storable(summary), data={"upto": upto}, turn=self._turn.id)
        [entry] = await self._commit(self._appending([draft]), ended=0, said=0)
        return entry

    def steer(self, ref: Ref) -> None:
        self._steers.append(ref)

    async def steering(self) -> Sequence[Entry]:
        if not self._steers:
            return ()
        refs, drafts = list(self._steers), self.unsaved()
        self._steers.clear()
        now = self._house.clock.now()
        added = await self._commit(lambda tx: self._take(tx, refs, drafts, now), len(self._ended), len(self._tail))
        return [entry for entry in added if entry.kind is Kind.USER]

    def _take(self, tx: Tx, refs: Sequence[Ref], drafts: list[Draft], now: datetime) -> Committed:
        """Rows that still wait become entries of this turn; those that don't have found their fate elsewhere."""
        self._own(tx)
        rows = self._fitting(
            [row for row in (inbox.pending(tx, one.id) for one in refs) if row is not None and _words(row)]
        )
        said = [self._heard(row) for row in rows]
        session, added = entries.append(tx, sessions.get(tx, self._turn.session), [*drafts, *said], now)
        if rows:
            turns.steered(tx, self._turn.id, session.head)
        for row in rows:
            inbox.finish(tx, row.id, Fate.MERGED, now, self._turn.id)
            sessions.join(tx, self._turn.session, row.identity)
        return [row.id for row in rows], added

    def _fitting(self, rows: Sequence[Waiting]) -> Sequence[Waiting]:
        """Those that the turn may still have; the others wait for the next one."""
        left = self._house.rules.turn_chars - sum(
            len(history.render(entry)) for entry in self.added if entry.kind is Kind.USER
        )
        lengths = accumulate(len(_words(row)) for row in rows)
        return [row for row, length in zip(rows, lengths, strict=True) if length <= left]

    def _heard(self, row: Waiting) -> Draft:
        line = prompt_line(row, row.name, self._house.rules.zone_name)
        return Draft(
            kind=Kind.USER, text=_words(row), data={"line": f"[{line}]"}, turn=self._turn.id, sender=one_line(row.name)
        )  # fmt: skip

    def _own(self, tx: Tx) -> None:
        if self.closed:
            raise FenceLost("the turn has ended; its agent is not heard any more")
        conversations.own(tx, self._turn.conversation, self._admitted.conversation.fence)

    async def _append(self, drafts: list[Draft]) -> None:
        await self._commit(self._appending(drafts), len(self._ended), len(self._tail))

    def _appending(self, drafts: list[Draft]) -> Callable[[Tx], Committed]:
        now = self._house.clock.now()

        def unit(tx: Tx) -> Committed:
            self._own(tx)
            return [], entries.append(tx, sessions.get(tx, self._turn.session), drafts, now)[1]

        return unit

    async def _commit(self, unit: Callable[[Tx], Committed], ended: int, said: int) -> list[Entry]:
        """Run a unit of this turn that stores the first `ended` responses and the first `said` pieces after them. It
        is not taken back by a cancellation, so what it did is noted here also where the agent does not wait for it any
        more."""
        work = asyncio.create_task(self._store(unit, ended, said), name="commit")
        self._commits.add(work)
        work.add_done_callback(self._committed)
        return await asyncio.shield(work)

    async def _store(self, unit: Callable[[Tx], Committed], ended: int, said: int) -> list[Entry]:
        taken, added = await self._house.store.write(unit)
        del self._ended[:ended]
        del self._tail[:said]
        self.added += [entry for entry in added if entry.kind is not Kind.COMPACTION]
        self.rows += taken
        for row in taken:
            self._listener.row_taken(row)
        return added

    def _committed(self, work: asyncio.Task[list[Entry]]) -> None:
        self._commits.discard(work)
        if not work.cancelled() and (error := work.exception()) is not None:
            log.info("entry_not_stored", turn=self._turn.id, why=type(error).__name__)

    @property
    def waits(self) -> bool:
        """Somebody could answer: there are calls without a result."""
        return bool(history.open_calls(self.added))

    async def settle(self) -> None:
        """Nothing more is taken; what is on its way is waited for."""
        self.closed = True
        if self._commits:
            await asyncio.wait(self._commits)

    def abandon(self) -> None:
        self.closed = True
        for work in self._commits:
            work.cancel()


def _call(call: CallOpened) -> dict[str, Json]:
    return {
        "call": storable(call.call), "tool": storable(call.tool), "arguments": storable(call.arguments),
        "read_only": call.read_only,
    }  # fmt: skip


def _words(row: Waiting) -> str:
    """What a steering row tells the agent: of a `/steer` its text, of which there may be none."""
    said = argument(row.text) if row.command else row.text
    return bringing.words(replace(row, text=said)) if said else ""
