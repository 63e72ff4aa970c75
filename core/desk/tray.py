"""What waits for one conversation's owner: rows by lane, in order, and the files that they bring, seen to meanwhile.

It holds no text. All that can be lost with it is in the store.
"""

from __future__ import annotations

import asyncio
from bisect import insort
from collections.abc import Callable, Iterable

import structlog

from core.desk import moving
from core.desk.coalesce import Ref
from core.desk.house import House
from core.store.inbox import Lane
from core.vocabulary import Moved, RowId

log = structlog.get_logger("frontdesk.desk")


def _by_id(ref: Ref) -> int:
    return ref.id


class Tray:
    """`controls` are carried out while a turn runs, `waiting` in their turn. Lives on the main loop."""

    def __init__(self, house: House, ready: Callable[[], None]) -> None:
        """`ready` is called when a row's files have been seen to."""
        self.controls: list[Ref] = []
        self.waiting: list[Ref] = []
        self._house = house
        self._ready = ready
        self._since: dict[RowId, float] = {}
        self._carrying: dict[RowId, asyncio.Task[None]] = {}

    def put(self, ref: Ref, lane: Lane) -> bool:
        """False: it is here already."""
        if ref.id in self._since:
            return False
        self._since[ref.id] = self._house.clock.monotonic()
        if ref.brings:
            self._carry(ref.id)
        insort(self.controls if lane is Lane.CONTROL else self.waiting, ref, key=_by_id)
        return True

    def put_in_order(self, ref: Ref) -> None:
        """A control row waits for its turn from now on."""
        self.controls.remove(ref)
        insort(self.waiting, ref, key=_by_id)

    def become_message(self, row: RowId) -> None:
        """A command waits at its place as an ordinary message from now on, with its files."""
        found = [one for one in (*self.controls, *self.waiting) if one.id == row]
        self._take_out({row})
        self._since[row] = self._house.clock.monotonic()
        for ref in found:  # as it is by now: its chat may have moved
            insort(self.waiting, ref.as_message(), key=_by_id)

    def drop(self, rows: Iterable[RowId]) -> None:
        """They have their fate, or are somebody else's now; nobody needs their files any more."""
        gone = set(rows)
        self._take_out(gone)
        for row in gone:
            self._since.pop(row, None)
            if row in self._carrying:
                self._carrying.pop(row).cancel()

    def take_up(self, ref: Ref) -> None:
        """It is being worked on, and does not wait any more; it may not come in twice for all that."""
        self._take_out({ref.id})

    def _take_out(self, rows: set[RowId]) -> None:
        self.controls = [ref for ref in self.controls if ref.id not in rows]
        self.waiting = [ref for ref in self.waiting if ref.id not in rows]

    def move(self, moved: Moved) -> None:
        """A chat has another id, in the store already."""
        self.controls = [moving.ref(one, moved) for one in self.controls]
        self.waiting = [moving.ref(one, moved) for one in self.waiting]

    @property
    def rows(self) -> frozenset[RowId]:
        """All that are here."""
        return frozenset(self._since)

    def age_s(self, ref: Ref) -> float:
        """How long it has been here."""
        return self._house.clock.monotonic() - self._since[ref.id]

    # files

    @property
    def carries(self) -> bool:
        """Files are being fetched or read."""
        return bool(self._carrying)

    def is_carried(self, ref: Ref) -> bool:
        return ref.id in self._carrying

    def _carry(self, row: RowId) -> None:
        task = self._carrying[row] = asyncio.create_task(self._house.porter.carry(row), name="porter")
        task.add_done_callback(lambda _: self._carried(row, task))

    def _carried(self, row: RowId, task: asyncio.Task[None]) -> None:
        if self._carrying.get(row) is task:  # somebody else may carry it by now
            del self._carrying[row]
            if not task.cancelled() and task.exception() is not None:
                log.error("porter_fault", row=row, exc_info=task.exception())
        self._ready()

    def close(self) -> None:
        """Nobody waits for files any more."""
        for task in self._carrying.values():
            task.cancel()
