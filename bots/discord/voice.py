"""What the bot says of its own health: it is up while nothing is wrong."""

from __future__ import annotations

from core.ports import Health
from core.vocabulary import BotName


class Voice:
    """Keeps what is wrong at the moment, by subject."""

    def __init__(self, name: BotName, health: Health) -> None:
        self._name = name
        self._health = health
        self._troubles: dict[str, str] = {}

    def account(self, account: str) -> None:
        self._health.account(self._name, account)

    def trouble(self, subject: str, words: str) -> None:
        self._troubles[subject] = words
        self._health.degraded(self._name, next(iter(self._troubles.values())))

    def only(self, subject: str, words: str) -> None:
        """All else that was wrong is over with the connections that it was about."""
        self._troubles.clear()
        self.trouble(subject, words)

    def well_again(self, subject: str) -> None:
        """The next word of the platform tells that all is well, if it is."""
        self._troubles.pop(subject, None)

    def heard(self) -> None:
        """The platform said something."""
        if self._troubles:
            return
        self._health.up(self._name)
