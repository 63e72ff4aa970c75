"""The double to start."""

from typing import Unpack

from tests.fakes.serving import OnItsThread, OnThisLoop
from tests.fakes.telegram.control import Control, ServerOptions
from tests.fakes.telegram.front import HttpFront
from tests.fakes.telegram.platform import Platform


class _Listening(Control):
    """A double with an address."""

    def __init__(self, **options: Unpack[ServerOptions]) -> None:
        super().__init__(**options)
        self._front = HttpFront(self.platform)

    @property
    def _listener(self) -> HttpFront:
        return self._front

    @property
    def _watched(self) -> Platform:
        return self.platform

    @property
    def url(self) -> str:
        """Methods are at {url}/bot{token}/{method}, files at {url}/file/bot{token}/{path}."""
        return self._front.url


class TelegramServer(_Listening, OnThisLoop):
    """On the running loop."""


class ThreadedTelegramServer(_Listening, OnItsThread):
    """On a loop of its own."""
