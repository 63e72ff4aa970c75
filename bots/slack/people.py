"""Who people are, and what channels are called, kept for an hour. And the direct conversation with each person."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from math import inf
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from bots.slack import inbound
from bots.slack.inbound import Account
from bots.slack.line import Line
from bots.slack.recent import Recent
from core.errors import BotError
from core.fields import part
from core.vocabulary import Sender

_KNOWN_S: Final = 3_600.0
_UNKNOWN_S: Final = 60.0
"""A name that can't be had is not asked for at each message."""
_REMEMBERED: Final = 5_000
_CHANNELS: Final = ("C", "G")


class _Entry(Struct, frozen=True, kw_only=True):
    """`realm`: a person's organization, or workspace where there is none; "" where that is not known. `teams`: those of
    the organization that the person is in. `until_s`: how long it is good."""

    name: str = ""
    realm: str = ""
    teams: frozenset[str] = frozenset()
    is_bot: bool = False
    until_s: float = float("-inf")


_NOBODY: Final = _Entry()


class People:
    """For one `run`."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._known: Recent[str, _Entry] = Recent(_REMEMBERED)
        self._direct: Recent[str, str] = Recent(_REMEMBERED)
        self._ours: Recent[str, None] = Recent(_REMEMBERED)
        """Further workspaces of our organization."""

    async def names(self, users: Iterable[str], until_s: float = inf) -> dict[str, str]:
        """Their names by id, without those that can't be had in a moment, and by then. Never raises."""
        wanted = set(users)
        await self._learn(wanted, until_s)
        return {user: name for user in wanted if (name := self._entry(user).name)}

    async def at_home(self, sender: Sender, us: Account, until_s: float = inf) -> Sender:
        """With the realm that is theirs wherever they write or press: what an event names may be the organization, or
        any of its workspaces. Asks only for those that are not surely ours; what is not told, stays. Never raises."""
        if sender.user is None or sender.realm == us.realm:
            return sender
        if sender.realm not in self._ours:
            await self._learn({str(sender.user)}, until_s)
            person = self._entry(str(sender.user))
            if person.realm not in (us.realm, us.team):
                return replace(sender, realm=person.realm or sender.realm)
            if sender.realm in person.teams:
                self._ours.put(sender.realm, None)
        return replace(sender, realm=us.realm)

    def bots(self, users: Iterable[str]) -> frozenset[str]:
        """Those of them that are known to be bots."""
        return frozenset(user for user in users if self._entry(user).is_bot)

    def as_known(self, sender: Sender) -> Sender:
        """Some bots' messages show only by their user that a bot wrote them."""
        known = sender.user is not None and self._entry(str(sender.user)).is_bot
        return replace(sender, is_bot=sender.is_bot or known)

    async def _learn(self, wanted: Iterable[str], until_s: float) -> None:
        now_s = self._line.clock.monotonic()
        due = [one for one in wanted if self._entry(one).until_s <= now_s]
        if due:
            with suppress(TimeoutError):
                async with self._line.aside(until_s):
                    await asyncio.gather(*(self._look_up(one) for one in due))
        for one in due:
            if (entry := self._entry(one)).until_s <= now_s:  # an old name is better than none
                self._known.put(one, replace(entry, until_s=now_s + _UNKNOWN_S))

    def _entry(self, one: str) -> _Entry:
        return self._known.get(one) or _NOBODY

    async def _look_up(self, one: str) -> None:
        until_s = self._line.clock.monotonic() + _KNOWN_S
        with suppress(BotError):
            entry = await (self._channel(one) if one.startswith(_CHANNELS) else self._person(one))
            self._known.put(one, replace(entry, until_s=until_s))

    async def _person(self, user: str) -> _Entry:
        told = part(await self._line.call("users.info", {"user": user}, telling=False), "user") or {}
        organized = part(told, "enterprise_user") or {}
        realm = inbound.an_id(organized.get("enterprise_id")) or inbound.an_id(told.get("team_id"))
        listed = organized.get("teams")
        teams = frozenset(filter(None, map(inbound.an_id, listed if isinstance(listed, list) else ())))
        return _Entry(name=name_of(told), realm=realm, teams=teams, is_bot=told.get("is_bot") is True)

    async def _channel(self, channel: str) -> _Entry:
        told = part(await self._line.call("conversations.info", {"channel": channel}, telling=False), "channel") or {}
        name = told.get("name")
        return _Entry(name=name if isinstance(name, str) else "")

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
