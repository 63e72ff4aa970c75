"""The double to start."""

from typing import Unpack

from tests.fakes.serving import OnItsThread, OnThisLoop
from tests.fakes.slack.cast import ServerOptions
from tests.fakes.slack.front import HttpFront
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.record import Control


class _Listening(Control):
    """A double with an address."""

    looks_s: float | None = 0.02

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
        """The root, without a slash at its end."""
        return self._front.url

    @property
    def api_base(self) -> str:
        """What the SDK wants as base_url: methods are at {api_base}{method}."""
        return f"{self._front.url}/api/"


class SlackServer(_Listening, OnThisLoop):
    """On the running loop."""


class ThreadedSlackServer(_Listening, OnItsThread):
    """On a loop of its own."""
