"""Under which names the listener's pages are served. A page of another name, whose address was changed to ours (DNS
rebinding), reads nothing here by its visitors' browsers: they say which name they asked."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterable
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final

from config.settings import ListenSettings
from core.ports import AsgiApp, AsgiMessage, AsgiReceive, AsgiSend

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]/@\s]*)(:[0-9]*)?", re.IGNORECASE)
"""https://www.rfc-editor.org/rfc/rfc9110#section-7.2"""
_WORDS: Final = {
    HTTPStatus.BAD_REQUEST: "the Host header can't be understood",
    HTTPStatus.MISDIRECTED_REQUEST: "nothing is served under this name; if it is ours, add it to [listen] hosts",
}


class OwnNames:
    """An application (ASGI 3) that is served under names of ours alone; others are answered with 421. `verifies(path)`:
    what is served there knows by itself who asks, as by a signature, and is served under any name."""

    def __init__(self, app: AsgiApp, settings: ListenSettings, verifies: Callable[[str], bool]) -> None:
        self._app = app
        self._names = names_of(settings)
        self._verifies = verifies

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        refusal = None if scope["type"] != "http" or self._verifies(str(scope["path"])) else self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
            return
        told = json.dumps({"error": _WORDS[refusal]}).encode()
        headers = [
            (b"content-type", b"application/json"), (b"content-length", b"%d" % len(told)),
            (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"),
        ]  # fmt: skip
        await send({"type": "http.response.start", "status": refusal.value, "headers": headers})
        await send({"type": "http.response.body", "body": told})

    def _refusal(self, scope: AsgiMessage) -> HTTPStatus | None:
        headers = scope["headers"]
        pairs = headers if isinstance(headers, Iterable) else ()
        hosts = [bytes(value).decode("latin-1") for name, value in pairs if name == b"host"]
        if not hosts:  # HTTP/1.0, which no browser speaks
            return None
        found = _HOST.fullmatch(hosts[0])
        if found is None:
            return HTTPStatus.BAD_REQUEST
        return None if self._is_ours(found[1]) else HTTPStatus.MISDIRECTED_REQUEST

    def _is_ours(self, host: str) -> bool:
        """An address is whoever has it: nobody else can make it lead here. "" asks for nobody."""
        name = host.lower().removesuffix(".")
        return name == "" or name in self._names or name.endswith(".localhost") or _is_address(name.strip("[]"))


def names_of(settings: ListenSettings) -> frozenset[str]:
    """In lower case: this machine's, as it calls itself, and those that are listed."""
    machine = socket.gethostname()
    names = {"localhost", machine, machine.partition(".")[0], settings.host, *settings.hosts}
    return frozenset(name.lower().removesuffix(".") for name in names)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
