"""What is left to do after `/forget yes`: the person's own sessions go, then every trace of who they were.

In small units, from a mark in the store: a process that dies meanwhile carries on at its next start.
"""

from __future__ import annotations

import structlog

from core.desk.commands.forget import FORGOTTEN
from core.desk.ending import EndOrder, order_end
from core.desk.house import House
from core.desk.router import Router
from core.store import chores, forgotten
from core.store.forgotten import PAGE, Mark, Own
from core.vocabulary import RowId

log = structlog.get_logger("frontdesk.desk")

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
            if await self._sessions(one) and not await self._house.store.read(lambda tx: forgotten.undone(tx, one)):  # noqa: B023  # run at once
                await self._traces(one)

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
        gone = await self._house.store.write(lambda tx: chores.delete_session(tx, own.session))
        if gone:
            self._house.cache.evict(own.conversation)
            self._deleted[one.row] = self._deleted.get(one.row, 0) + 1
        return gone

    async def _traces(self, one: Mark) -> None:
        store = self._house.store
        await store.write(lambda tx: forgotten.leave(tx, one))
        while await store.write(lambda tx: forgotten.unsign(tx, one, TURNS)) == TURNS:
            pass
        for after in range(0, max(await store.read(forgotten.ends)), PAGE):
            await store.write(lambda tx: forgotten.blank(tx, one, after))  # noqa: B023  # run at once
        await store.write(lambda tx: forgotten.unmark(tx, one))
        await store.empty_log()  # else a chore does it
        log.info("person_forgotten", sessions=self._deleted.pop(one.row, 0))
