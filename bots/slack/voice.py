"""What the bot says of its own health."""

from __future__ import annotations

from core.ports import Health
from core.vocabulary import BotName


class Voice:
    """Of one `run`. What is down is down until it is up; what is missing is told for as long as all else works."""

    def __init__(self, name: BotName, health: Health) -> None:
        self._name = name
        self._health = health
        self._missing = ""
        self._is_up = False

    def up(self) -> None:
        """Slack, or the store, works."""
        self._is_up = True
        if self._missing:
            self._health.degraded(self._name, self._missing)
        else:
            self._health.up(self._name)

    def down(self, detail: str) -> None:
        """It does not."""
        self._is_up = False
        self._health.degraded(self._name, detail)

    def missing(self, detail: str) -> None:
        """What is missing though it works; "" for nothing."""
        if detail == self._missing:
            return
        self._missing = detail
        if self._is_up:
            self.up()
