"""The double to start."""

from typing import Unpack

from tests.fakes.discord.control import Control, ServerOptions
from tests.fakes.discord.front import HttpFront
from tests.fakes.discord.platform import Platform
from tests.fakes.serving import OnItsThread, OnThisLoop


class _Listening(Control):
    """A double with an address. Everything is below one port, without TLS."""

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
        """The root, without a slash at its end; attachments are at {url}/cdn/..."""
        return self._front.url

    @property
    def api_base(self) -> str:
        """In place of https://discord.com/api/v10."""
        return f"{self._front.url}/api/v10"

    @property
    def gateway_url(self) -> str:
        """In place of wss://gateway.discord.gg/."""
        return self._front.url.replace("http://", "ws://", 1) + "/gateway"


class DiscordServer(_Listening, OnThisLoop):
    """On the running loop."""


class ThreadedDiscordServer(_Listening, OnItsThread):
    """On a loop of its own."""

    def __init__(self, port: int = 0, **options: Unpack[ServerOptions]) -> None:
        super().__init__(**options)
        self._wanted_port = port
