"""Old sessions go whole, never one in use, and so do old files of guests; nothing does while the clock is not to be
trusted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog

from core.clock import rfc3339
from core.desk.house import House
from core.people.access import Access, AccessRules
from core.store import attachments, chores, facts, people, sessions
from core.store.attachments import Kept
from core.store.conversations import SessionId
from core.store.people import Role
from core.store.sql import Tx, from_us

log = structlog.get_logger("frontdesk.chores")

HEARTBEAT = "heartbeat"
BATCH = 20
"""Sessions that one unit deletes; a session of a hundred entries takes well under a millisecond."""
JUMP = timedelta(hours=48)
"""A clock that is ahead of the last heartbeat by more may be wrong, and deleting can't be taken back."""


class Retention:
    """`[retention] days` after a session's last message it is deleted, if it has ended and nothing of it is left to do;
    `[access.guests] file_days` after a file came it is deleted, if nobody took part in its session who was let in.

    After a jump of the clock (a daemon that was off for long looks the same) it waits until the desk has seen two days
    pass by itself. Each batch leaves one line in the log: how many, which ones, from when until when.
    """

    def __init__(self, house: House) -> None:
        self._house = house
        self._trusted_from_s: float | None = None
        self._judged = 0
        """The last file, by id, that went or is to stay for as long as its session."""

    async def round(self) -> None:
        """Delete what is too old, in small units. Raises `StoreError`."""
        if not await self._trusts_clock():
            return
        kept = self._house.rules.retention
        if kept is not None:
            await self._sessions(kept)
        await self._guests_files(self._house.clock.now() - self._house.rules.guests.files_kept)

    async def _sessions(self, kept: timedelta) -> None:
        before, after = self._house.clock.now() - kept, (0, "")
        while page := await self._house.store.read(lambda tx: sessions.old(tx, before, after, BATCH)):  # noqa: B023  # run at once
            after = page[-1]
            gone = await self._house.store.write(lambda tx: _delete(tx, page, before))  # the same
            if gone:
                log.info(
                    "sessions_deleted", count=len(gone), sessions=[one for _, one in gone],
                    oldest=_when(gone[0]), newest=_when(gone[-1]), older_than_days=kept.days,
                )  # fmt: skip

    async def _guests_files(self, before: datetime) -> None:
        """The files themselves go with the next round of their own chore, unless another session has them."""
        store, access = self._house.store, self._house.access
        while page := await store.read(lambda tx: attachments.page(tx, self._judged, BATCH)):
            old = [one for one in page if one.at < before]
            if old:
                gone = await store.write(lambda tx: _forget_files(tx, old, access))  # noqa: B023  # run at once
                self._judged = old[-1].id
                if gone:
                    log.info("guests_files_deleted", count=gone)
            if len(old) < len(page):
                return

    async def _trusts_clock(self) -> bool:
        clock = self._house.clock
        beat = await self._house.store.read(lambda tx: facts.get(tx, HEARTBEAT))
        jumped = beat is not None and clock.now() - datetime.fromisoformat(beat) > JUMP
        if jumped:
            self._trusted_from_s = clock.monotonic() + JUMP.total_seconds()
            log.warning("retention_waits", why="the clock is more than 48 hours ahead of the last heartbeat")
        return self._trusted_from_s is None or clock.monotonic() >= self._trusted_from_s


Old = tuple[int, SessionId]
"""A session, with when it was touched last."""


def _delete(tx: Tx, some: list[Old], before: datetime) -> list[Old]:
    """Those that went. Whoever came back to life since it was looked at stays."""
    return [old for old in some if sessions.still_old(tx, old[1], before) and chores.delete_session(tx, old[1])]


def _forget_files(tx: Tx, some: Sequence[Kept], access: AccessRules) -> int:
    """How many sessions of guests do not have their file any more."""
    guests = [one for one in some if _is_guests(tx, one, access)]
    for one in guests:
        attachments.remove(tx, one.id)
    return len(guests)


def _is_guests(tx: Tx, file: Kept, access: AccessRules) -> bool:
    """Who used a bot that is not configured any more is not known for a guest."""
    rules = access.bots.get(file.bot)
    return rules is not None and not any(_is_let_in(tx, who, rules) for who in attachments.took_part(tx, file.session))


def _is_let_in(tx: Tx, identity: str, access: Access) -> bool:
    known = people.known(tx, identity)
    return access.role(identity, known.role if known is not None else None) in (Role.OWNER, Role.USER)


def _when(old: Old) -> str:
    return rfc3339(from_us(old[0]))
