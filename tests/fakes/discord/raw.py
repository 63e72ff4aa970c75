"""A client without a library, that can do everything wrong."""

import io
import json
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.fakes.discord.model import JsonObject, JsonValue
from tests.fakes.discord.server import DiscordServer


@dataclass(frozen=True)
class Answered:
    status: int
    body: Any
    headers: dict[str, str]

    @property
    def code(self) -> int:
        return int(self.body["code"])


class Raw:
    def __init__(self, server: DiscordServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self.session = session

    async def call(
        self, method: str, path: str, body: JsonValue = None, *, authorization: str | None = None
    ) -> Answered:
        """With the bot's token, unless `authorization` says otherwise ("" for none)."""
        known = f"Bot {self.server.token}" if authorization is None else authorization
        headers = {"Authorization": known} if known else {}
        data = None if body is None else json.dumps(body)
        headers |= {} if body is None else {"Content-Type": "application/json"}
        url = f"{self.server.api_base}{path}"
        async with self.session.request(method, url, headers=headers, data=data) as answer:
            read = await answer.json(content_type=None) if answer.status != 204 else None
            return Answered(answer.status, read, dict(answer.headers))

    async def upload(self, path: str, payload: str, files: dict[str, tuple[str, bytes]]) -> Answered:
        form = aiohttp.FormData(quote_fields=False)
        form.add_field("payload_json", payload)
        for name, (filename, content) in files.items():
            form.add_field(name, io.BytesIO(content), filename=filename)
        headers = {"Authorization": f"Bot {self.server.token}"}
        async with self.session.post(f"{self.server.api_base}{path}", headers=headers, data=form) as answer:
            return Answered(answer.status, await answer.json(content_type=None), dict(answer.headers))

    async def connect(self, query: str = "v=10&encoding=json") -> "RawGateway":
        return RawGateway(await self.session.ws_connect(f"{self.server.gateway_url}?{query}"), self.server)


class RawGateway:
    """One connection, uncompressed."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, server: DiscordServer) -> None:
        self.socket = socket
        self._server = server

    async def take(self) -> Any:
        """The next payload; the close code once the server closed."""
        message = await self.socket.receive(timeout=5)
        return message.json() if message.type is aiohttp.WSMsgType.TEXT else self.socket.close_code

    async def take_event(self, name: str) -> Any:
        """The payload of the next event of this name; others are skipped, ten at most."""
        for _ in range(10):
            payload = await self.take()
            if isinstance(payload, dict) and payload["t"] == name:
                return payload
        raise AssertionError(f"no {name}")

    async def send(self, op: int, data: JsonValue = None) -> None:
        await self.socket.send_json({"op": op, "d": data})

    async def identify(self, **changes: JsonValue) -> None:
        properties: JsonObject = {"os": "linux", "browser": "raw", "device": "raw"}
        known: JsonObject = {"token": self._server.token, "intents": 1 | 1 << 9 | 1 << 12, "properties": properties}
        await self.send(2, {**known, **changes})
