"""How Telegram delivers to a webhook.

Sources: https://core.telegram.org/bots/api#setwebhook and WebhookActor.cpp of telegram-bot-api: the updates of one chat
go one after the other, several chats at once, and an update is repeated until it is answered with a status of 2xx. The
delay before it is repeated is the test's (`again`).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus

from tests.fakes.telegram.control import Control
from tests.fakes.telegram.model import JsonObject, JsonValue

Post = Callable[[str, Mapping[str, str], bytes], Awaitable[int]]
"""Posts a body with headers to an address; the status of the answer. `OSError` where nobody answers."""


class Courier:
    """Works while `working`; on the loop of the server."""

    def __init__(self, server: Control, post: Post) -> None:
        self._server = server
        self._post = post
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._under_way: dict[JsonValue, asyncio.Task[None]] = {}
        self._resting: set[JsonValue] = set()
        self._spared = 0
        self._webhook = server.platform.webhook
        self.answers: list[int] = []
        """The statuses, in the order in which they came; 0 where nobody answered."""

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        self._server.platform.listen(self._wake)
        task = asyncio.create_task(self._work(), name="courier")
        try:
            yield
        finally:
            self._server.platform.unlisten(self._wake)
            tasks = [task, *self._under_way.values()]
            for one in tasks:
                one.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def again(self) -> None:
        """The delay is over for all that was refused; where nothing was, for what is refused next."""
        if not self._resting:
            self._spared += 1
        self._resting.clear()
        self._changed.set()

    def _rest(self, chat: JsonValue) -> None:
        if self._spared:
            self._spared -= 1
        else:
            self._resting.add(chat)

    def _wake(self) -> None:
        self._loop.call_soon_threadsafe(self._changed.set)

    async def _work(self) -> None:
        while True:
            self._changed.clear()
            for chat, update_id in self._ready().items():
                self._under_way[chat] = asyncio.create_task(self._deliver(chat, update_id))
            await self._changed.wait()

    def _ready(self) -> dict[JsonValue, int]:
        """The first update of each chat that nothing is under way for, as many as there are connections."""
        found: dict[JsonValue, int] = {}
        with self._server.platform.lock:
            webhook = self._server.platform.webhook
            if webhook is not self._webhook:  # set anew, it begins anew
                self._webhook = webhook
                self._resting.clear()
            for body in self._server.platform.updates.pending() if webhook.url else []:
                chat, update_id = _chat_of(body), body["update_id"]
                if chat not in self._under_way and chat not in self._resting and isinstance(update_id, int):
                    found.setdefault(chat, update_id)
        room = webhook.max_connections - len(self._under_way)
        return dict(list(found.items())[:room])

    async def _deliver(self, chat: JsonValue, update_id: int) -> None:
        headers, body = self._server.webhook_post(update_id)
        try:
            status = await self._post(self._server.platform.webhook.url, headers, body)
        except OSError:
            status = 0
        self.answers.append(status)
        with self._server.platform.lock:
            if 200 <= status < 300:
                self._server.platform.updates.delivered(update_id)
            else:
                self._note_error(status)
                self._rest(chat)
        del self._under_way[chat]
        self._server.platform.changed()

    def _note_error(self, status: int) -> None:
        webhook = self._server.platform.webhook
        webhook.last_error_date = self._server.platform.date()
        said = f"{status} {HTTPStatus(status).phrase}" if status else ""
        webhook.last_error_message = f"Wrong response from the webhook: {said}" if status else "Connection refused"


def _chat_of(body: JsonObject) -> JsonValue:
    for kind in ("message", "edited_message"):
        message = body.get(kind)
        chat = message.get("chat") if isinstance(message, dict) else None
        if isinstance(chat, dict):
            return chat.get("id")
    pressed = body.get("callback_query")
    person = pressed.get("from") if isinstance(pressed, dict) else None
    return person.get("id") if isinstance(person, dict) else None
