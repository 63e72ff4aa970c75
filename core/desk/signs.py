"""What people see while they wait for an answer: that somebody types, and what the answer is waiting for."""

from __future__ import annotations

import asyncio

import structlog
from msgspec.structs import replace

from core.errors import SendError
from core.ports import Bot, CanType, ShowsWork
from core.store.turns import Turn
from core.vocabulary import Address

log = structlog.get_logger("frontdesk.turn")

NOTHING_SHOWN_S = 0.4
"""An answer that is complete within this time of its turn's start needs no typing sign and no preview: nobody would
see them."""
WORK_AFTER_S = 1.0
"""A tool that ends sooner needs no message of its own before the first word."""


class Signs:
    """Of one turn. `look` is called with every beat and never waits."""

    def __init__(self, turn: Turn) -> None:
        self._address = replace(turn.address, reply_to=None)
        self._typed_s = float("-inf")
        self._doing = ""
        self._working_s: float | None = None
        self._task: asyncio.Task[None] | None = None

    def look(self, bot: Bot, doing: str, now: float) -> None:
        """`doing`: the tools that run, in plain words."""
        if self._task is not None and not self._task.done():
            return
        every = bot.capabilities.typing_interval_s
        if doing != self._doing and isinstance(bot, ShowsWork):
            self._doing = doing
            self._task = asyncio.create_task(_work(bot, self._address, doing), name="working")
        elif every is not None and now - self._typed_s >= every and isinstance(bot, CanType):
            self._typed_s = now
            self._task = asyncio.create_task(_type(bot, self._address), name="typing")

    def works_long(self, bot: Bot, doing: str, now: float) -> bool:
        """Do tools run for so long that people are told in a message, though nothing has been said yet? Not where the
        platform itself shows it."""
        if not doing or (isinstance(bot, ShowsWork) and bot.shows_work(self._address)):
            self._working_s = None
        elif self._working_s is None:
            self._working_s = now
        return self._working_s is not None and now - self._working_s >= WORK_AFTER_S

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()


async def _type(bot: CanType, address: Address) -> None:
    try:
        await bot.typing(address)
    except SendError as error:
        log.debug("typing_not_shown", bot=address.bot, why=str(error))


async def _work(bot: ShowsWork, address: Address, doing: str) -> None:
    try:
        await bot.working(address, doing)
    except SendError as error:
        log.debug("work_not_shown", bot=address.bot, why=str(error))
