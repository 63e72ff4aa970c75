"""Small signs that go past the outbox: a pressed button's answer, a reaction on what is being answered, a title, a word
that nothing can be stored.

They are worth nothing when they are late, so nothing of them is stored, and none is tried twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence

import structlog

from core.desk.house import House
from core.desk.intake import Accepted
from core.desk.pressing import Pressed
from core.errors import SendError, StoreError
from core.faultpoints import faultpoint
from core.ports import AnswersPresses, CanReact
from core.store.inbox import Lane
from core.vocabulary import ChatKind, Inbound, Message, Verdict

log = structlog.get_logger("frontdesk.desk")

PATIENCE_S = 10.0


class Gestures:
    """Those that are under way. Lives on the main loop."""

    def __init__(self) -> None:
        self._signs: set[asyncio.Task[None]] = set()

    def show(self, sign: Awaitable[object]) -> None:
        """At once, and aside."""
        task = asyncio.create_task(_shown(sign), name="sign")
        self._signs.add(task)
        task.add_done_callback(self._signs.discard)

    def moving(self) -> list[asyncio.Task[None]]:
        return list(self._signs)

    async def close(self) -> None:
        for task in self._signs:
            task.cancel()
        await asyncio.gather(*self._signs, return_exceptions=True)


class Manner:
    """Lives on the main loop."""

    def __init__(self, house: House) -> None:
        self._house = house

    def see_to(self, batch: Sequence[Inbound], accepted: Accepted) -> None:
        """A batch was stored."""
        for pressed in accepted.pressed:
            self._answer(pressed)
        lanes = {taken.ref.id: taken.lane for taken in accepted.taken}
        for inbound, receipt in zip(batch, accepted.receipts, strict=True):
            ordered = receipt.verdict is Verdict.ACCEPTED and lanes.get(receipt.row) is Lane.ORDERED
            if ordered and isinstance(inbound, Message) and inbound.kind is not ChatKind.DIRECT:
                self._react(inbound)

    def _answer(self, pressed: Pressed) -> None:
        faultpoint("press.dispatched", pressed.press)
        bot = self._house.bots.get(pressed.press.address.bot)
        if bot is not None and isinstance(bot, AnswersPresses):
            said = self._house.notices.say(pressed.said)
            self._house.gestures.show(bot.answer(pressed.press, said, over=pressed.over))

    def _react(self, message: Message) -> None:
        reaction = self._house.policies.manners(message.address.bot).reaction
        bot = self._house.bots.get(message.address.bot)
        if reaction and bot is not None and isinstance(bot, CanReact):
            self._house.gestures.show(bot.react(message.address, message.message, reaction))


async def _shown(sign: Awaitable[object]) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            await sign
    except (SendError, StoreError, TimeoutError) as why:
        log.info("sign_not_shown", why=str(why))
    except Exception:  # sign: a fault in one bot's small talk stops nothing
        log.exception("sign_fault")
