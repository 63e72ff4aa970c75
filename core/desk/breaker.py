"""Against two machines that answer each other for ever: bots are heard only so often in a row."""

from __future__ import annotations

from core.vocabulary import BotName, ChatId, Message

MOST = 6
"""Messages of bots in a chat without one of a human between them."""
KEPT = 10_000


class Breaker:
    """Lives on the main loop; a new process counts anew."""

    def __init__(self) -> None:
        self._in_a_row: dict[tuple[BotName, ChatId], int] = {}

    def trips(self, message: Message) -> bool:
        """Count it; is it one too many?"""
        place = (message.address.bot, message.address.chat)
        if not message.sender.is_bot:
            self._in_a_row.pop(place, None)
            return False
        if len(self._in_a_row) >= KEPT and place not in self._in_a_row:
            self._in_a_row.clear()
        count = self._in_a_row[place] = self._in_a_row.get(place, 0) + 1
        return count > MOST
