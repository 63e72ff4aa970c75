"""What both ways in have in common: steps that are repeated until they succeed, with growing waits."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from bots.telegram import inbound
from bots.telegram.addressed import Account
from bots.telegram.api import WebhookSet, call
from bots.telegram.line import Line
from core.backoff import Backoff
from core.errors import BotError, BotRejected, FloodWait, PollConflict, StoreError, Unknown
from core.ports import Health
from core.vocabulary import BotName

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")

NETWORK_WAIT_S: Final = (2.0, 30.0)
CONFLICT_WAIT_S: Final = (10.0, 60.0)
OTHER_POLLER: Final = "another process polls this bot: stop it or use another token"
OTHER_WEBHOOK: Final = "another program sets a webhook for this bot: stop it or use another token"
STORE_REFUSES: Final = "the store takes no messages; they wait at Telegram"

Mend = Callable[[BotError | StoreError], Awaitable[bool]]
"""Does something about a trouble; whether the step may be tried again at once."""


class Endurance:
    """For one `run`."""

    def __init__(self, bot: BotName, line: Line, health: Health, waits: Backoff) -> None:
        self.bot = bot
        self.line = line
        self.health = health
        self.waits = waits

    async def introduced(self) -> Account:
        """Who we are, once Telegram says it. Raises `BotRejected`."""
        return await self.repeat(self._introduce)

    async def _introduce(self) -> Account:
        told = await self.line.ask(lambda api: call(api, "get_Me"))
        us = inbound.account(self.bot, told)
        if us is None:
            raise Unknown("Telegram does not say who this bot is")
        self.health.account(self.bot, str(us.id))
        return us

    async def repeat(self, step: Callable[[], Awaitable[_T]], mend: Mend | None = None) -> _T:
        """The step, until it succeeds. Raises `BotRejected`."""
        while True:
            self.line.check()
            try:
                return await step()
            except BotRejected:
                raise
            except (BotError, StoreError) as trouble:
                if mend is None or not await mend(trouble):
                    await self._sit_out(trouble)

    async def _sit_out(self, trouble: BotError | StoreError) -> None:
        detail, wait_s = _diagnosis(trouble, self.waits)
        self.health.degraded(self.bot, detail)
        _LOG.warning("telegram is waited for", extra={"bot": self.bot, "detail": detail, "wait_s": round(wait_s, 1)})
        await self.waits.clock.sleep(wait_s)


def _diagnosis(trouble: BotError | StoreError, waits: Backoff) -> tuple[str, float]:
    """What to tell the operator, and how long to wait."""
    match trouble:
        case FloodWait():
            return str(trouble), trouble.wait_s
        case WebhookSet():
            return OTHER_WEBHOOK, waits.next_s(*CONFLICT_WAIT_S)
        case PollConflict():
            return OTHER_POLLER, waits.next_s(*CONFLICT_WAIT_S)
        case StoreError():
            return STORE_REFUSES, waits.next_s(*NETWORK_WAIT_S)
        case _:
            return str(trouble), waits.next_s(*NETWORK_WAIT_S)
