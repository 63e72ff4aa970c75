"""What was said while we were away: read from the history of the places where people talk with us."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bots.slack import inbound
from bots.slack.inbound import Account, Json, Unreadable
from bots.slack.line import Line
from bots.slack.people import People
from core.errors import BotError, FloodWait
from core.ports import Haunt
from core.vocabulary import ChatKind, Message

_LOG: Final = logging.getLogger(__name__)
OVERLAP: Final = timedelta(minutes=10)
"""Slack's own further attempts come within six minutes: https://docs.slack.dev/apis/events-api/#retries."""
MOST_HAUNTS: Final = 100
_MOST_DIRECT: Final = 100
_PAGE: Final = 200
_MOST_PAGES: Final = 50
_AT_ONCE: Final = 4
_TRIES: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A channel, or a thread in it."""

    chat: str
    thread: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """For what is looked: all since then, and at most so many messages in each place. `groups`: channels in which we
    may be mentioned."""

    since: datetime
    most: int
    groups: Sequence[str]


class CatchingUp:
    """For one `run`."""

    def __init__(self, line: Line, people: People, us: Account) -> None:
        self._line = line
        self._people = people
        self._us = us
        self._calls = asyncio.Semaphore(_AT_ONCE)

    async def fetch(self, haunts: Sequence[Haunt], search: Search) -> list[Message]:
        """What was said to us, oldest first. What can't be read now is left out, and said in the log."""
        if not search.most:
            return []
        places = [Place(chat=one.address.chat, thread=one.address.thread) for one in haunts]
        tops = dict.fromkeys([*(place.chat for place in places), *search.groups, *await self._direct_chats()])
        threads = dict.fromkeys(place for place in places if place.thread is not None)
        raw = [*await self._all([Place(chat=chat) for chat in tops], search), *await self._all(threads, search)]
        begun = dict.fromkeys(self._begun(raw))
        raw += await self._all([place for place in begun if place not in threads], search)
        names = await self._people.names({user for one in raw for user in inbound.people(one)})
        return sorted(_unique(self._said(raw, names)), key=lambda said: (said.sent_at, said.message))

    async def _direct_chats(self) -> list[str]:
        """Where people may have written who never did before."""
        try:
            answer = await self._call("users.conversations", {"types": "im", "limit": _MOST_DIRECT})
        except BotError as trouble:
            _LOG.warning("slack's direct chats are not known", extra={"why": str(trouble)})
            return []
        return [str(one["id"]) for one in _records(answer.get("channels")) if isinstance(one.get("id"), str)]

    async def _all(self, places: Iterable[Place], search: Search) -> list[Json]:
        found = await asyncio.gather(*(self._one(place, search) for place in places))
        return [message for messages in found for message in messages]

    async def _one(self, place: Place, search: Search) -> list[Json]:
        try:
            return await self._history(place, search)
        except BotError as trouble:
            _LOG.warning("slack's history is not to be had", extra={"chat": place.chat, "why": str(trouble)})
            return []

    async def _history(self, place: Place, search: Search) -> list[Json]:
        """The newest that there are since then, in whatever order."""
        oldest = search.since.timestamp()
        arguments: dict[str, object] = {"channel": place.chat, "oldest": f"{oldest:.6f}", "limit": _PAGE}
        method = "conversations.history"
        if place.thread is not None:
            method, arguments = "conversations.replies", {**arguments, "ts": place.thread}
        found: list[Json] = []
        for _ in range(_MOST_PAGES):
            answer = await self._call(method, arguments)
            listed = _records(answer.get("messages"))
            found += [{**one, "channel": place.chat} for one in listed if _is_after(one, oldest)]
            more = answer.get("response_metadata")
            cursor = more.get("next_cursor") if isinstance(more, dict) else None
            if not isinstance(cursor, str) or not cursor or (place.thread is None and len(found) >= search.most):
                break  # a thread comes oldest first, so that its newest are on the last page
            arguments = {**arguments, "cursor": cursor}
        return sorted(found, key=lambda one: str(one["ts"]))[-search.most :]

    async def _call(self, method: str, arguments: Json) -> dict[str, object]:
        for attempt in range(_TRIES):
            try:
                async with self._calls:
                    return await self._line.call(method, arguments, telling=False)
            except FloodWait as wait:
                if attempt == _TRIES - 1:
                    raise
                await self._line.clock.sleep(wait.wait_s)
        return {}

    def _begun(self, raw: Iterable[Json]) -> list[Place]:
        """Threads that began meanwhile."""
        roots = [one for one in raw if one.get("reply_count")]
        return [Place(chat=str(one["channel"]), thread=str(one["ts"])) for one in roots]

    def _said(self, raw: Iterable[Json], names: Mapping[str, str]) -> Iterable[Message]:
        for one in raw:
            try:
                said = inbound.message(one, self._us, names, app=self._us.app)
            except Unreadable as problem:
                _LOG.warning("a message of slack's history is unreadable", extra={"why": str(problem)})
                continue
            if said is not None and (said.addressed or said.kind is not ChatKind.GROUP):
                yield said


def _unique(messages: Iterable[Message]) -> list[Message]:
    return list({(one.address.chat, one.message): one for one in messages}.values())


def _records(listed: object) -> list[Json]:
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _is_after(message: Json, oldest: float) -> bool:
    """The root of a thread comes with it, however old it is."""
    try:
        return inbound.moment(inbound.stamp(message, "ts")).timestamp() > oldest
    except Unreadable:
        return False
