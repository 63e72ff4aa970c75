"""The double to start."""

from typing import Unpack

from tests.fakes.models.control import Control, ServerOptions
from tests.fakes.models.front import HttpFront
from tests.fakes.models.provider import Provider
from tests.fakes.serving import OnItsThread, OnThisLoop


class _Listening(Control):
    """A double with an address."""

    def __init__(self, **options: Unpack[ServerOptions]) -> None:
        super().__init__(**options)
        self._front = HttpFront(self.provider)

    @property
    def _listener(self) -> HttpFront:
        return self._front

    @property
    def _watched(self) -> Provider:
        return self.provider

    @property
    def url(self) -> str:
        """The root, without a slash at its end."""
        return self._front.url

    @property
    def openai_url(self) -> str:
        """What `openai.AsyncOpenAI` wants as base_url."""
        return f"{self._front.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """What `anthropic.AsyncAnthropic` wants as base_url."""
        return self._front.url


class ModelServer(_Listening, OnThisLoop):
    """On the running loop."""


class ThreadedModelServer(_Listening, OnItsThread):
    """On a loop of its own."""

    def __init__(self, port: int = 0, **options: Unpack[ServerOptions]) -> None:
        super().__init__(**options)
        self._wanted_port = port
