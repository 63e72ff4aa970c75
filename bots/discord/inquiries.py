"""What is asked of Discord and of the desk around an event, and what only asks and says nothing."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from bots.discord import menu
from bots.discord.http import Http
from bots.discord.interactions import Asking, Typing
from bots.discord.places import Places
from bots.discord.reading import is_snowflake
from bots.discord.replies import FORM, SUGGESTIONS, Replies
from bots.discord.threads import Threads
from bots.discord.trouble import in_our_words
from core.errors import BotError, StoreError, Unknown
from core.fields import Json
from core.ports import CommandHelp, Desk

_MOST_TARGETS: Final = 200
_PAGE: Final = 100


class Inquiries:
    """For one run."""

    def __init__(
        self, line: Http, places: Places, replies: Replies, threads: Threads, commands: Mapping[str, CommandHelp]
    ) -> None:
        self.places = places
        self.replies = replies
        self.threads = threads
        self.commands = commands
        self._line = line
        self._targets: OrderedDict[tuple[str, str], Json] = OrderedDict()
        """Messages that somebody is just writing a question about."""

    async def channel(self, channel: str) -> Json:
        """Raises `BotError`."""
        with in_our_words():
            return _object(await self._line.call("GET", "/channels/{channel_id}", channel_id=channel))

    async def message(self, channel: str, message: str) -> Json:
        """Raises `BotError`."""
        path = "/channels/{channel_id}/messages/{message_id}"
        with in_our_words():
            return _object(await self._line.call("GET", path, channel_id=channel, message_id=message))

    async def said(self, channel: str, before: str | None) -> list[Json]:
        """The newest messages there, or those before one; the newest first. Raises `BotError`."""
        query = {"limit": str(_PAGE), **({} if before is None else {"before": before})}
        with in_our_words():
            page = await self._line.history(channel, query)
        if not isinstance(page, list):
            raise Unknown("the answer is not Discord's")
        return [one for one in page if isinstance(one, dict) and is_snowflake(one.get("id"))]

    async def target(self, channel: str, message: str) -> Json | None:
        """The message that a form is about; None if it is gone, the bot may not see it, or Discord does not tell it
        soon."""
        known = self._targets.get((channel, message))
        if known is not None:
            return known
        try:
            async with asyncio.timeout(self._line.patience.glance_s):
                return await self.message(channel, message)
        except (BotError, TimeoutError):
            return None

    async def ask(self, asking: Asking, desk: Desk) -> None:
        """Open the form, for whom the desk hears; Discord waits three seconds for it."""
        if not await self._is_heard(asking, desk):
            opened = self.replies.expect(asking.token, private=True)
            await self.replies.acknowledge(opened, button=False, heard=False)
            return
        where = (str(asking.target.get("channel_id")), str(asking.target.get("id")))
        self._targets[where] = asking.target
        while len(self._targets) > _MOST_TARGETS:
            self._targets.popitem(last=False)
        await self._answer(asking, FORM, menu.form(asking.name))

    async def suggest(self, typing: Typing, desk: Desk) -> None:
        """Suggestions for an argument; nothing where the desk has none or can't say."""
        try:
            found = await desk.complete(typing.principal, typing.command, typing.typed)
        except StoreError:
            found = ()
        await self._answer(typing, SUGGESTIONS, {"choices": menu.choices(found)})

    async def _is_heard(self, asking: Asking, desk: Desk) -> bool:
        try:
            async with asyncio.timeout(self._line.patience.glance_s):
                return await desk.hears(asking.principal)
        except (StoreError, TimeoutError):
            return False

    async def _answer(self, asked: Asking | Typing, kind: int, data: object) -> None:
        try:
            await self.replies.call_back(asked.token, {"type": kind, "data": data})
        except BotError:  # its time is over
            return


def _object(told: object) -> Json:
    if not isinstance(told, dict):
        raise Unknown("the answer is not Discord's")
    return told
