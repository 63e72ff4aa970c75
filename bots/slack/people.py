"""Who people are, and what channels are called: names by id, kept for an hour. And the direct conversation with each
person."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from bots.slack.line import Line
from bots.slack.recent import Recent
from core.errors import BotError

_KNOWN_S: Final = 3_600.0
_UNKNOWN_S: Final = 60.0
"""A name that can't be had is not asked for at each message."""
_REMEMBERED: Final = 5_000
_CHANNELS: Final = ("C", "G")


class People:
    """For one `run`."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._names: Recent[str, tuple[str, float]] = Recent(_REMEMBERED)
        self._direct: Recent[str, str] = Recent(_REMEMBERED)

    async def names(self, users: Iterable[str]) -> dict[str, str]:
        """Their names by id, without those that can't be had in a moment. Never raises."""
        wanted, now_s = set(users), self._line.clock.monotonic()
        missing = [user for user in wanted if (self._names.get(user) or ("", now_s))[1] <= now_s]
        if missing:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._line.patience.aside_s):
                    await asyncio.gather(*(self._look_up(user) for user in missing))
        known = {user: self._names.get(user) for user in wanted}
        for user in missing:
            if known[user] is None:
                self._names.put(user, ("", now_s + _UNKNOWN_S))
        return {user: entry[0] for user, entry in known.items() if entry is not None and entry[0]}

    async def _look_up(self, one: str) -> None:
        now_s = self._line.clock.monotonic()
        try:
            name = await (self._channel(one) if one.startswith(_CHANNELS) else self._person(one))
        except BotError:
            self._names.put(one, ("", now_s + _UNKNOWN_S))
        else:
            self._names.put(one, (name, now_s + _KNOWN_S))

    async def _person(self, user: str) -> str:
        return name_of((await self._line.call("users.info", {"user": user}, telling=False)).get("user"))

    async def _channel(self, channel: str) -> str:
        told = (await self._line.call("conversations.info", {"channel": channel}, telling=False)).get("channel")
        name = told.get("name") if isinstance(told, dict) else None
        return name if isinstance(name, str) else ""

    async def direct(self, user: str) -> str:
        """The id of our conversation with a person. Raises `BotError`."""
        known = self._direct.get(user)
        if known is None:
            told = (await self._line.call("conversations.open", {"users": user}, telling=False)).get("channel")
            channel = told.get("id") if isinstance(told, dict) else None
            if not isinstance(channel, str):
                raise BotError("Slack names no direct conversation")
            self._direct.put(user, channel)
            return channel
        return known


def name_of(told: object) -> str:
    """What people call somebody (https://docs.slack.dev/reference/objects/user-object)."""
    if not isinstance(told, dict):
        return ""
    profile = told.get("profile")
    candidates = [profile.get("display_name"), profile.get("real_name")] if isinstance(profile, dict) else []
    candidates += [told.get("real_name"), told.get("name")]
    return next((one for one in candidates if isinstance(one, str) and one), "")
