"""Slack's history: what was said in a channel or in a thread of it, and which places there are."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from bots.slack import inbound
from bots.slack.gates import Gates, at_leisure
from bots.slack.inbound import Account
from bots.slack.people import People
from core.fields import Json, Unreadable, records
from core.vocabulary import Message

_LOG: Final = logging.getLogger(__name__)
_PAGE: Final = 200
"""No more at once is recommended: https://docs.slack.dev/reference/methods/conversations.history."""
_MOST_PAGES: Final = 50


class Place(Struct, frozen=True, kw_only=True):
    """A channel, or a thread in it."""

    chat: str
    thread: str | None = None


class Found(Struct, frozen=True, kw_only=True):
    """What was said to us, oldest first. `threads` of a channel went on since then, `still` did not."""

    said: Sequence[Message]
    threads: frozenset[str] = frozenset()
    still: frozenset[str] = frozenset()


class History:
    """For one `run`. `us` tells who we are by now. Everything raises what `Gates.call` does."""

    def __init__(self, gates: Gates, people: People, us: Callable[[], Account]) -> None:
        self._gates = gates
        self._people = people
        self._us = us

    async def introduce(self) -> None:
        """Does Slack still know us? Raises `BotRejected` if not, and the line knows it."""
        await self._gates.call("auth.test", {}, telling=True)

    async def places(self, kind: str, most: int) -> AsyncGenerator[str, None]:
        """The conversations of a kind (https://docs.slack.dev/reference/methods/users.conversations) that we are in,
        page by page."""
        arguments: dict[str, object] = {"types": kind, "exclude_archived": True, "limit": _PAGE}
        while most > 0:
            answer = await self._gates.call("users.conversations", arguments)
            listed = [str(one["id"]) for one in records(answer.get("channels")) if isinstance(one.get("id"), str)]
            for chat in listed[:most]:
                yield chat
            most -= len(listed)
            cursor = cursor_of(answer)
            if not cursor:
                return
            arguments = {**arguments, "cursor": cursor}

    async def since(self, place: Place, since: datetime, most: int, urgent: Callable[[], bool] = at_leisure) -> Found:
        """The newest `most` messages that there are after that moment."""
        read = self._thread if place.thread is not None else self._channel
        raw = await read(place, since.timestamp(), most, urgent)
        recent = sorted((one for one in raw if _is_after(one, since.timestamp())), key=lambda one: str(one["ts"]))
        spoken = [one for one in recent[-most:] if self._said(one, {}) is not None]
        people = {user for one in spoken for user in inbound.people(one)}
        names = await self._people.names(people)
        messages = (self._said(one, names, self._people.bots(people)) for one in spoken)
        said = tuple({one.message: one for one in messages if one is not None}.values())
        if place.thread is not None:
            return Found(said=said)
        threads = {thread: went_on for one in raw for thread, went_on in _threads(one, since.timestamp())}
        return Found(
            said=said,
            threads=frozenset(thread for thread, went_on in threads.items() if went_on),
            still=frozenset(thread for thread, went_on in threads.items() if not went_on),
        )

    async def _channel(self, place: Place, oldest: float, most: int, urgent: Callable[[], bool]) -> list[Json]:
        """The newest come first. Of a channel one page at least, since an older message of it may have got replies."""
        direct = place.chat.startswith("D")
        arguments: dict[str, object] = {"channel": place.chat, "limit": _PAGE}
        arguments |= {"oldest": f"{oldest:.6f}"} if direct else {}
        found: list[Json] = []
        async for page in self._pages("conversations.history", arguments, urgent):
            found += [{**one, "channel": place.chat} for one in page]
            if len(found) >= most or not all(_is_after(one, oldest) for one in page):
                break
        return found

    async def _thread(self, place: Place, oldest: float, most: int, urgent: Callable[[], bool]) -> list[Json]:
        """The oldest come first, so that the newest are on the last page. The first message always comes along."""
        arguments = {"channel": place.chat, "ts": place.thread, "oldest": f"{oldest:.6f}", "limit": _PAGE}
        found: list[Json] = []
        async for page in self._pages("conversations.replies", arguments, urgent):
            found = [*found, *({**one, "channel": place.chat} for one in page)][-most - _PAGE :]
        return found

    async def _pages(self, method: str, arguments: Json, urgent: Callable[[], bool]) -> AsyncIterator[list[Json]]:
        for _ in range(_MOST_PAGES):
            answer = await self._gates.call(method, arguments, urgent=urgent)
            yield records(answer.get("messages"))
            cursor = cursor_of(answer)
            if not cursor:
                return
            arguments = {**arguments, "cursor": cursor}

    def _said(self, one: Json, names: Mapping[str, str], bots: Collection[str] = frozenset()) -> Message | None:
        """What is said to us, as far as that is to be seen here."""
        us = self._us()
        try:
            said = inbound.message(one, us, names, bots, app=us.app)
        except Unreadable as problem:
            _LOG.warning("a message of slack's history is unreadable", extra={"why": str(problem)})
            return None
        return None if said is None or inbound.is_chatter(said) else said


def _threads(message: Json, oldest: float) -> Iterable[tuple[str, bool]]:
    """The thread that a message of a channel begins or belongs to, and whether something was said there since."""
    ts, root = message.get("ts"), message.get("thread_ts")
    if message.get("reply_count") and isinstance(ts, str):
        latest = message.get("latest_reply")
        yield ts, not isinstance(latest, str) or _is_after({"ts": latest}, oldest)
    elif isinstance(root, str) and root != ts and _is_after(message, oldest):
        yield root, True


def cursor_of(answer: Json) -> str:
    """Where the next page begins; "" if there is none."""
    more = answer.get("response_metadata")
    cursor = more.get("next_cursor") if isinstance(more, dict) else None
    return cursor if isinstance(cursor, str) else ""


def _is_after(message: Json, oldest: float) -> bool:
    try:
        return inbound.moment(inbound.stamp(message, "ts")).timestamp() > oldest
    except Unreadable:
        return False
