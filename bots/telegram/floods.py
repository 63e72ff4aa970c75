"""Whether a wait that Telegram names is of one chat or of the whole account, which it does not say.

What it refuses for the account it refuses in every chat, until one moment. So waits that two chats were told, that end
together, and between which nothing was let through, are taken for one of the account.
"""

from __future__ import annotations

from typing import Final

from core.errors import FloodWait
from core.ports import Clock
from core.vocabulary import ChatId

_TOGETHER_S: Final = 1.5
"""Telegram names whole seconds, and what it says takes its time to come."""


class Floods:
    """For one account."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: dict[ChatId, float] = {}

    def passed(self) -> None:
        """Something was let through: whatever was refused before was refused to its chat alone."""
        self._ends.clear()

    def judged(self, chat: ChatId, flood: FloodWait) -> FloodWait:
        """The wait that this chat was told just now, with whom it is for."""
        now = self._clock.monotonic()
        end = now + flood.wait_s
        self._ends = {other: until for other, until in self._ends.items() if until > now}
        account = any(other != chat and abs(until - end) <= _TOGETHER_S for other, until in self._ends.items())
        self._ends[chat] = end
        return FloodWait(flood.wait_s, account=account)
