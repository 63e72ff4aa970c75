"""Against two machines that answer each other for ever: bots are heard only so often in a row."""

from __future__ import annotations

from collections.abc import Sequence

from core.vocabulary import BotName, ChatId, Inbound, Message, Receipt, UserId, Verdict

MOST = 6
"""Messages of bots to us in a chat without one of a human between them."""
KEPT = 10_000
Place = tuple[BotName, ChatId]


class Breaker:
    """Lives on the main loop; a new process counts anew."""

    def __init__(self) -> None:
        self._in_a_row: dict[Place, int] = {}
        self._bots: dict[tuple[BotName, UserId], None] = {}
        """Who was heard and is one."""

    def is_bot(self, bot: BotName, user: UserId) -> bool:
        """Is whoever speaks to this bot of ours known to be a bot?"""
        return (bot, user) in self._bots

    def look(self, batch: Sequence[Inbound]) -> list[bool]:
        """Of each event: would it be one too many, if those before it in the batch are taken in?"""
        ahead = dict[Place, int]()
        found = []
        for inbound in batch:
            if not isinstance(inbound, Message):
                found.append(False)
                continue
            place = _place(inbound)
            count = ahead.get(place, self._in_a_row.get(place, 0))
            ahead[place] = _after(count, inbound)
            found.append(inbound.sender.is_bot and count >= MOST)
        return found

    def heard(self, batch: Sequence[Inbound], receipts: Sequence[Receipt]) -> None:
        """The batch is stored: what of it was new counts."""
        for inbound, receipt in zip(batch, receipts, strict=True):
            if not isinstance(inbound, Message) or receipt.verdict is Verdict.DUPLICATE:
                continue
            if inbound.sender.is_bot and inbound.sender.user is not None and receipt.verdict is Verdict.ACCEPTED:
                self._bots[inbound.address.bot, inbound.sender.user] = None
            place = _place(inbound)
            ours = receipt.verdict is Verdict.ACCEPTED or not inbound.sender.is_bot
            count = _after(self._in_a_row.pop(place, 0), inbound) if ours else self._in_a_row.pop(place, 0)
            if count:
                self._in_a_row[place] = count
        while len(self._in_a_row) > KEPT:
            del self._in_a_row[next(iter(self._in_a_row))]
        while len(self._bots) > KEPT:
            del self._bots[next(iter(self._bots))]


def _place(message: Message) -> Place:
    return message.address.bot, message.address.chat


def _after(count: int, message: Message) -> int:
    if not message.sender.is_bot:
        return 0
    return count + message.addressed
