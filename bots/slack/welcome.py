"""What somebody is shown who opens the app: the Home tab, and what to begin with.

An app that Slack made lately is an agent, which knows no threads of an assistant, and whose prompts stand in the direct
chat itself (https://docs.slack.dev/ai/migrating-to-agent-messaging); nothing tells which of the two an app is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from bots.slack import home, words
from bots.slack.line import Line
from bots.slack.recent import Recent
from core.errors import Rejected
from core.fields import Json, part
from core.ports import Desk, Principal

_LOG: Final = logging.getLogger(__name__)
_REMEMBERED: Final = 4_096
_SHOWN_S: Final = 86_400.0
"""Whoever was told how to begin is not told again so soon."""


class Welcome:
    """For one `run`. `asker` makes the one who asks of a person's id. Everything raises `BotError` and `StoreError`."""

    def __init__(self, line: Line, desk: Desk, asker: Callable[[str], Principal]) -> None:
        self._line = line
        self._desk = desk
        self._asker = asker
        self._suggested: Recent[str, float] = Recent(_REMEMBERED)
        self._is_assistant = False

    async def opened(self, event: Json) -> None:
        """Somebody opened a tab of the app: https://docs.slack.dev/reference/events/app_home_opened."""
        user, chat = event.get("user"), event.get("channel")
        if not isinstance(user, str):
            return
        if event.get("tab") == "home":
            await self._show_home(user)
        elif event.get("tab") == "messages" and isinstance(chat, str):
            await self._suggest_in(chat, user)

    async def thread_started(self, event: Json) -> None:
        """Somebody began a thread of an assistant."""
        self._is_assistant = True
        place = part(event, "assistant_thread") or {}
        where = {"channel_id": place.get("channel_id"), "thread_ts": place.get("thread_ts")}
        await self._suggest(where, str(place.get("user_id") or ""))

    async def _show_home(self, user: str) -> None:
        asker = self._asker(user)
        heard = await self._desk.hears(asker)
        shown = home.view(await self._desk.complete(asker, "resume", "")) if heard else home.closed()
        await self._line.call("views.publish", {"user_id": user, "view": shown}, telling=False)

    async def _suggest_in(self, chat: str, user: str) -> None:
        """With a thread's name an agent's prompts would silently not be shown; an assistant refuses them without."""
        now_s, last_s = self._line.clock.monotonic(), self._suggested.get(user)
        if self._is_assistant or (last_s is not None and now_s - last_s < _SHOWN_S):
            return
        try:
            if await self._suggest({"channel_id": chat}, user):
                self._suggested.put(user, now_s)
        except Rejected as refusal:
            self._is_assistant = "thread_ts" in str(refusal)
            _LOG.info("slack takes no prompts in a direct chat", extra={"why": str(refusal)})

    async def _suggest(self, where: Json, user: str) -> bool:
        if not await self._desk.hears(self._asker(user)):
            return False
        prompts = [{"title": title, "message": message} for title, message in words.PROMPTS]
        arguments = {**where, "title": words.PROMPTS_TITLE, "prompts": prompts}
        await self._line.call("assistant.threads.setSuggestedPrompts", arguments, telling=False)
        return True
