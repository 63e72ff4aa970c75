"""What verbs ask of the desk: of one that runs, and of one that does not."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import structlog

from core.delivery.outbox import LIMIT_WITHOUT_BOT
from core.delivery.split import split
from core.desk.commands.ended import COMMAND
from core.desk.desk import Desk
from core.desk.ending import EndOrder, end_at_once, order_end
from core.desk.house import House
from core.errors import VerbFailed
from core.service.notices import Notices
from core.service.readiness import StoreProbe, desk_parts
from core.service.socket import Json
from core.service.verbs.means import Status
from core.store import deliveries
from core.store.deliveries import Posted
from core.store.engine import Store
from core.vocabulary import Address, BotName, RowId

log = structlog.get_logger("frontdesk.verbs")

END_S: Final = 60.0
"""For an owner to end a session: an agent may take a second to stop, a full disk longer."""
QUIET_S: Final = 10.0
"""For what is on its way to a chat to arrive."""


class AtWork:
    """A desk that runs."""

    runs = True

    @property
    def owners(self) -> frozenset[str]:
        return frozenset().union(*(access.owners for access in self._house.access.bots.values()))

    def __init__(self, status: Status, desk: Desk, house: House) -> None:
        self._status = status
        self._desk = desk
        self._house = house
        self._probe = StoreProbe(house.store, house.clock)

    async def status(self) -> dict[str, Json]:
        """Ready only while it could take a message; `not_ready`, where it is not: what is in the way, by part."""
        parts = {"store": await self._probe.look(), **desk_parts(self._desk)}
        told = await self._status.status()
        wrong: dict[str, Json] = {name: part.detail for name, part in parts.items() if not part.ok}
        return {**told, "ready": False, "not_ready": wrong} if wrong else told

    def push(self, posted: Posted) -> None:
        self._status.push(posted)

    def parts(self, bot: BotName, text: str) -> tuple[str, ...]:
        return self._house.outbox.parts(bot, text)

    def entitle(self, address: Address, title: str | None) -> None:
        self._house.entitle(address, title)

    async def end(self, order: EndOrder) -> None:
        row = await order_end(self._house, self._desk.router, order)
        if row is not None:
            await self._until_ended(row, order)
        chats = await self._house.store.read(lambda tx: deliveries.unsent_chats(tx, order.conversation))
        with suppress(TimeoutError):  # what waits for longer is the caller's to find
            async with asyncio.timeout(QUIET_S):
                for bot, chat, _ in chats:
                    await self._house.outbox.quiet(bot, chat)

    async def _until_ended(self, row: RowId, order: EndOrder) -> None:
        try:
            async with asyncio.timeout(END_S):
                async for _ in self._desk.follow(row):
                    pass
        except TimeoutError:
            raise VerbFailed(
                f"the session {order.session} is to be ended and is not yet: its answer does not stop, or the disk is "
                "full; `frontdesk status` and the log say more"
            ) from None

    def tell_log(self, event: str, **facts: str | int | None) -> None:
        log.info(event, **facts)


class AtRest:
    """No desk runs: verbs work on the store, and what they leave goes out at the next start. Nobody keeps a log."""

    runs = False

    def __init__(self, status: Status, store: Store, notices: Notices, *, owners: frozenset[str]) -> None:
        self.owners = owners
        self._status = status
        self._store = store
        self._notices = notices

    async def status(self) -> dict[str, Json]:
        return await self._status.status()

    def push(self, posted: Posted) -> None:
        self._status.push(posted)

    def parts(self, bot: BotName, text: str) -> tuple[str, ...]:
        return split(text, LIMIT_WITHOUT_BOT)

    def entitle(self, address: Address, title: str | None) -> None:
        """It is shown once somebody names it anew."""

    async def end(self, order: EndOrder) -> None:
        told = self._notices.say("ended_elsewhere" if order.reason == COMMAND else "deleted_elsewhere")
        if not await self._store.write(lambda tx: end_at_once(tx, order, told)):
            raise VerbFailed(
                "a message waits or was being answered there when the desk ended: start it, so that it can settle "
                "that, and try again"
            )

    def tell_log(self, event: str, **facts: str | int | None) -> None:
        """The one who typed sees what was done."""
