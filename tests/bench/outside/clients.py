"""The platforms by plain aiohttp: what a daemon asks of its SDKs, without them. For the bare side of a benchmark."""

from __future__ import annotations

import asyncio
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final

from aiohttp import ClientSession, ClientWebSocketResponse

Heard = Callable[[str, str], None]
"""Told the chat and the text of each message."""

POLL_S: Final = 25
DIRECT_MESSAGES: Final = 1 << 12
MESSAGE_CONTENT: Final = 1 << 15
"""https://docs.discord.com/developers/events/gateway#list-of-intents"""


class Client(ABC):
    """One account. `listening` is set once nothing that is said can be missed."""

    def __init__(self, session: ClientSession, account: Mapping[str, str]) -> None:
        self._session = session
        self._account = account
        self.listening = asyncio.Event()

    @abstractmethod
    async def run(self, heard: Heard) -> None:
        """Receives, until it is cancelled."""

    @abstractmethod
    async def typing(self, chat: str) -> None: ...

    @abstractmethod
    async def preview(self, chat: str, text: str, shown: str | None) -> str:
        """Shows the beginning of an answer; `shown` is what the preview before it returned."""

    @abstractmethod
    async def send(self, chat: str, text: str, shown: str | None) -> None:
        """The whole answer, in place of what is shown."""


class Telegram(Client):
    """Polls; previews are drafts, which the message replaces."""

    def __init__(self, session: ClientSession, account: Mapping[str, str]) -> None:
        super().__init__(session, account)
        self._base = f"{account['url']}/bot{account['token']}/"
        self._drafts = itertools.count(1)

    async def run(self, heard: Heard) -> None:
        self.listening.set()
        offset = 0
        while True:
            asked = {"timeout": POLL_S, "offset": offset, "allowed_updates": ["message"]}
            for update in await self._call("getUpdates", asked):
                offset = update["update_id"] + 1
                heard(str(update["message"]["chat"]["id"]), update["message"]["text"])

    async def typing(self, chat: str) -> None:
        await self._call("sendChatAction", {"chat_id": int(chat), "action": "typing"})

    async def preview(self, chat: str, text: str, shown: str | None) -> str:
        draft = shown or str(next(self._drafts))
        await self._call("sendMessageDraft", {"chat_id": int(chat), "draft_id": int(draft), "text": text})
        return draft

    async def send(self, chat: str, text: str, shown: str | None) -> None:
        await self._call("sendMessage", {"chat_id": int(chat), "text": text})

    async def _call(self, method: str, values: Mapping[str, object]) -> Any:
        async with self._session.post(self._base + method, json=values) as response:
            answer = await response.json()
        assert answer["ok"], answer
        return answer["result"]


class Discord(Client):
    """One gateway connection; previews are the message itself, which is edited."""

    def __init__(self, session: ClientSession, account: Mapping[str, str]) -> None:
        super().__init__(session, account)
        self._headers = {"Authorization": f"Bot {account['token']}"}

    async def run(self, heard: Heard) -> None:
        async with self._session.ws_connect(f"{self._account['gateway']}/?v=10&encoding=json") as socket:
            hello = await socket.receive_json()
            beat = asyncio.create_task(self._beat(socket, hello["d"]["heartbeat_interval"] / 1000))
            await socket.send_json({"op": 2, "d": self._identity()})
            try:
                await self._receive(socket, heard)
            finally:
                beat.cancel()

    def _identity(self) -> dict[str, object]:
        properties = {"os": "linux", "browser": "bench", "device": "bench"}
        return {
            "token": self._account["token"], "intents": DIRECT_MESSAGES | MESSAGE_CONTENT, "properties": properties,
        }  # fmt: skip

    async def _beat(self, socket: ClientWebSocketResponse, every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            await socket.send_json({"op": 1, "d": None})

    async def _receive(self, socket: ClientWebSocketResponse, heard: Heard) -> None:
        async for frame in socket:
            event = frame.json()
            if event.get("t") == "READY":
                self.listening.set()
            elif event.get("t") == "MESSAGE_CREATE" and not event["d"]["author"].get("bot"):
                heard(event["d"]["channel_id"], event["d"]["content"])

    async def typing(self, chat: str) -> None:
        await self._call("POST", f"/channels/{chat}/typing", None)

    async def preview(self, chat: str, text: str, shown: str | None) -> str:
        if shown is None:
            made = await self._call("POST", f"/channels/{chat}/messages", {"content": text})
            return str(made["id"])
        await self._call("PATCH", f"/channels/{chat}/messages/{shown}", {"content": text})
        return shown

    async def send(self, chat: str, text: str, shown: str | None) -> None:
        await self.preview(chat, text, shown)

    async def _call(self, method: str, path: str, values: Mapping[str, object] | None) -> Any:
        address = self._account["api"] + path
        async with self._session.request(method, address, json=values, headers=self._headers) as response:
            assert response.status < 300, await response.text()
            return await response.json() if response.status != 204 else None


class Slack(Client):
    """One socket of Socket Mode; previews are the message itself, which is updated."""

    async def run(self, heard: Heard) -> None:
        opened = await self._call("apps.connections.open", {}, self._account["app_token"])
        async with self._session.ws_connect(opened["url"]) as socket:
            async for frame in socket:
                envelope = frame.json()
                if envelope["type"] == "hello":
                    self.listening.set()
                if "envelope_id" in envelope:
                    await socket.send_json({"envelope_id": envelope["envelope_id"]})
                    _tell(envelope["payload"]["event"], heard)

    async def typing(self, chat: str) -> None:
        raise NotImplementedError("Slack shows it in threads of the assistant alone")

    async def preview(self, chat: str, text: str, shown: str | None) -> str:
        blocks = [{"type": "markdown", "text": text}]
        values: dict[str, object] = {"channel": chat, "text": text, "blocks": blocks}
        if shown is None:
            made = await self._call("chat.postMessage", values, self._account["token"])
            return str(made["ts"])
        await self._call("chat.update", {**values, "ts": shown}, self._account["token"])
        return shown

    async def send(self, chat: str, text: str, shown: str | None) -> None:
        await self.preview(chat, text, shown)

    async def _call(self, method: str, values: Mapping[str, object], token: str) -> Any:
        address, headers = f"{self._account['api']}/{method}", {"Authorization": f"Bearer {token}"}
        async with self._session.post(address, json=values, headers=headers) as response:
            answer = await response.json()
        assert answer["ok"], answer
        return answer


def _tell(event: Mapping[str, Any], heard: Heard) -> None:
    if event["type"] == "message" and "bot_id" not in event and "subtype" not in event:
        heard(event["channel"], event["text"])


CLIENTS: Final[Mapping[str, Callable[[ClientSession, Mapping[str, str]], Client]]] = {
    "telegram": Telegram,
    "discord": Discord,
    "slack": Slack,
}
