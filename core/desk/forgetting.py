"""What is left to do after `/forget yes`: the person's own sessions go, then every trace of who they were.

In small units, from a mark in the store: a process that dies meanwhile carries on at its next start.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

import structlog
from msgspec.structs import replace

from core.desk.commands.forget import FORGOTTEN
from core.desk.ending import EndOrder, order_end
from core.desk.house import House
from core.desk.router import Router
from core.store import chores, forgotten
from core.store.files import Digest
from core.store.forgotten import PAGE, Mark, Own
from core.store.sql import Tx
from core.vocabulary import RowId

log = structlog.get_logger("frontdesk.desk")

FILE_REST = timedelta(minutes=1)
"""Somebody else may be about to refer to the same file: between keeping one and that lies one commit."""
SESSIONS = 20
"""Sessions that one round looks at before it lets others work."""
TURNS = 500


class Forgetting:
    """A chore. `round` is called again until nobody is left to forget."""

    def __init__(self, house: House, router: Router) -> None:
        self._house = house
        self._router = router
        self._deleted: dict[RowId, int] = {}

    async def round(self) -> None:
        """Go on with everybody who is being forgotten. Raises `StoreError`."""
        for one in await self._house.store.read(forgotten.marks):
            if not one.nameless and not await self._is_settled(one):
                continue
            left = one if one.nameless else await self._traces(one)
            await self._last(left)

    async def _is_settled(self, one: Mark) -> bool:
        """Are their own sessions gone, and do none of their messages wait?"""
        return await self._sessions(one) and not await self._house.store.read(lambda tx: forgotten.undone(tx, one))

    async def _sessions(self, one: Mark) -> bool:
        """Delete own sessions; one that goes on is ended by its owner first. True: none is left."""
        store = self._house.store
        found = await store.read(lambda tx: forgotten.took_part(tx, one.identities, one.at, one.conversations))
        gone = [await self._delete(one, own) for own in found.own[:SESSIONS]]
        return all(gone) and len(found.own) <= SESSIONS

    async def _delete(self, one: Mark, own: Own) -> bool:
        if own.current:
            now = self._house.clock.now()
            order = EndOrder(
                conversation=own.conversation, session=own.session, reason=FORGOTTEN, once=FORGOTTEN, now=now
            )  # fmt: skip
            await order_end(self._house, self._router, order)
            return False
        gone = await self._house.store.write(lambda tx: _delete(tx, one, own))
        if gone:
            self._house.cache.evict(own.conversation)
            self._deleted[one.row] = self._deleted.get(one.row, 0) + 1
        return gone

    async def _traces(self, one: Mark) -> Mark:
        store = self._house.store
        await store.write(lambda tx: forgotten.leave(tx, one))
        while await store.write(lambda tx: forgotten.unsign(tx, one, TURNS)) == TURNS:
            pass
        for after in range(0, max(await store.read(forgotten.ends)), PAGE):
            await store.write(lambda tx: _add(tx, one, forgotten.blank(tx, one, after)))  # noqa: B023  # run at once
        return await store.write(lambda tx: _put(tx, replace(_now(tx, one), nameless=True)))

    async def _last(self, one: Mark) -> None:
        """Files that nobody else has, and, once they were told, what leads to their own conversations."""
        store, now = self._house.store, self._house.clock.now()
        young = await chores.remove_files(store, one.files, now, FILE_REST)
        told = await store.write(lambda tx: forgotten.leave_conversations(tx, one))
        if young or not told:
            if len(young) < len(one.files):
                await store.write(lambda tx: _put(tx, replace(one, files=tuple(young))))
            return
        await store.write(lambda tx: forgotten.unmark(tx, one))
        await store.empty_log()  # else a chore does it
        log.info("person_forgotten", sessions=self._deleted.pop(one.row, 0))


def _delete(tx: Tx, one: Mark, own: Own) -> bool:
    """Its files are the mark's from then on."""
    files = forgotten.files_of(tx, one, own.session)
    gone = chores.delete_session(tx, own.session)
    if gone:
        _add(tx, one, files)
    return gone


def _add(tx: Tx, one: Mark, files: Collection[Digest]) -> None:
    if files:
        known = _now(tx, one)
        _put(tx, replace(known, files=tuple(sorted({*known.files, *files}))))


def _now(tx: Tx, one: Mark) -> Mark:
    """As it is written down."""
    return next(found for found in forgotten.marks(tx) if found.row == one.row)


def _put(tx: Tx, one: Mark) -> Mark:
    forgotten.mark(tx, one)
    return one
