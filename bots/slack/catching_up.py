"""What was said while nobody listened: read from the history of the places where people talk with us.

Slack tries for six minutes to hand something over, then no more. So at the start and after each gap every place is
asked for what was said there since, until Slack gives it or refuses that place for good; bounded in age by the desk and
in number by the configuration. What is found goes on place by place, and a place where somebody speaks just now comes
first. Nobody waits for ever: where Slack fails for two minutes, what was said there goes on without what came before
it, which is asked for all the same. How far back it goes is written down until all is stored, so that a process that
ends meanwhile leaves nothing behind. The desk drops what it has.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Final, TypeVar

from bots.slack.history import Found, History, Place
from bots.slack.intake import Intake
from core.backoff import Backoff
from core.errors import BotError, BotRejected, ChatDead, Rejected, StoreError
from core.ports import Clock, Desk, Haunt
from core.vocabulary import BotName, Message

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")
_OVERLAP: Final = timedelta(minutes=10)
"""Slack's own further attempts come within six minutes: https://docs.slack.dev/apis/events-api/#retries."""
MOST_HAUNTS: Final = 500
_MOST_OTHERS: Final = 500
"""Of each kind; in so many more people may have written who never did before."""
_AT_ONCE: Final = 4
_ROOM: Final = 200
"""No more is read while so much of it waits to be stored."""
_LONGEST_S: Final = 120.0
"""So long Slack may fail to give the past before that is told, and before nobody waits for it any more."""
_NOTE: Final = "behind since"


class CatchingUp:
    """For one `run`."""

    def __init__(
        self, bot: BotName, desk: Desk, intake: Intake, history: History, clock: Clock, waits: Backoff
    ) -> None:
        self._bot = bot
        self._desk = desk
        self._intake = intake
        self._history = history
        self._clock = clock
        self._waits = waits
        self.on_haunts: Callable[[Sequence[Haunt]], None] = lambda haunts: None
        """The desk told where people talk with us."""
        self.completed: Callable[[Message], Awaitable[Message]] | None = None
        """A message with what is to be looked up for it."""
        self.on_missing: Callable[[bool], None] = lambda missing: None
        """Whether Slack has failed to give some of the past for long."""
        self._gaps: list[datetime | None] = []
        self._since: datetime | None = None
        self._most = 0
        self._due: dict[Place, None] = {}
        self._wanted: dict[Place, None] = {}
        """Where something was just said; whoever said it first is to be waited for first."""
        self._under_way: list[Place] = []
        self._left: dict[Place, list[Message]] = {}
        self._read: set[Place] = set()
        self._put_off: set[Place] = set()
        self._overdue: set[Place] = set()
        """Where nobody waits for the past any more."""
        self._unlisted = False
        self._everywhere = False
        self._planned = True
        self._listed = True
        self._refused = False
        self._rounds = 0
        self._planned_at = clock.now()
        self._gap = asyncio.Event()
        self._moved = asyncio.Event()

    def gap(self, since: datetime | None) -> None:
        """Nothing was heard from then until now; None: since something was last heard at all."""
        self._gaps.append(since)
        self._rounds += 1
        self._planned = self._listed = False
        self._read.clear()
        self._put_off.clear()
        self._overdue.clear()
        self._gap.set()
        self._move()

    async def run(self, most: int, groups: Sequence[str]) -> None:
        """Until cancelled. `most` messages in each place; `groups`: channels where we may be mentioned, or a team."""
        self._most = most
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self._work(self._next_wanted))
            for _ in range(_AT_ONCE):
                parts.create_task(self._work(self._next))
            while True:
                await self._gap.wait()
                self._gap.clear()
                await self._plan(groups)
                await self._until(lambda: self._gap.is_set() or not (self._due or self._under_way))
                await self._end()

    async def done(self) -> None:
        """Once all is read."""
        await self._until(lambda: self._listed and not (self._due or self._under_way))

    # what comes meanwhile

    def is_behind(self, place: Place) -> bool:
        """May something have been said there that is still to be read?"""
        chat = Place(chat=place.chat)
        waited_for = {chat, place} - self._overdue
        return any(map(self._is_open, waited_for)) or (chat in waited_for and self._may_be_new(chat))

    async def caught_up(self, place: Place) -> None:
        """Once all is read there, or Slack refused it for good, or does not give it for long; it is read next."""
        chat = Place(chat=place.chat)
        self._wanted.update({chat: None, place: None})
        self._move()
        rounds, until_s = -1, 0.0
        try:
            while self.is_behind(place):
                if rounds != self._rounds:
                    rounds, until_s = self._rounds, self._clock.monotonic() + _LONGEST_S
                elif self._clock.monotonic() >= until_s:
                    _LOG.warning("slack's history is not waited for any longer", extra={"chat": place.chat})
                    self._overdue.update((chat, place))
                    return
                if self._planned and self._may_be_new(chat):
                    self._add(chat)
                await self._moving()
        finally:
            self._wanted.pop(chat, None)
            self._wanted.pop(place, None)

    def read_again(self, place: Place) -> None:
        """Something was just said there that nobody keeps: what is under way may not find it."""
        self._due.setdefault(place)
        self._move()

    def _is_open(self, place: Place) -> bool:
        return place in self._due or place in self._under_way

    def _may_be_new(self, chat: Place) -> bool:
        """May it be a place of which it is not known yet that something is to be read there?"""
        if self._listed or chat in self._read or self._is_open(chat):
            return False
        return not self._planned or self._everywhere or chat.chat.startswith("D")

    # where

    async def _plan(self, groups: Sequence[str]) -> None:
        """What is known is read while the rest is listed."""
        self._planned_at = self._clock.now()
        haunts = await self._stored(lambda: self._desk.haunts(self._bot, MOST_HAUNTS))
        if len(haunts) == MOST_HAUNTS:
            _LOG.warning("in older conversations nobody looks for what was missed", extra={"newest": MOST_HAUNTS})
        noted = await self._stored(lambda: self._desk.recall(self._bot, _NOTE))
        gaps, self._gaps = self._gaps, []
        heard = max((haunt.heard_at for haunt in haunts), default=None)
        starts = [at - _OVERLAP for at in (gap or heard for gap in gaps) if at is not None]
        starts += [datetime.fromisoformat(noted)] if noted else []
        since = self._since = max(min(starts, default=self._desk.oldest), self._desk.oldest)
        await self._stored(lambda: self._desk.note(self._bot, _NOTE, since.isoformat()))
        self.on_haunts(haunts)
        places = [Place(chat=one.address.chat, thread=one.address.thread) for one in haunts]
        teams = [group for group in groups if group.startswith("T")]
        self._everywhere = bool(teams)
        for place in [*(Place(chat=one.chat) for one in places), *(Place(chat=one) for one in groups), *places]:
            if place.chat not in teams:
                self._add(place)
        self._planned = not self._gap.is_set()
        self._move()
        for kind in ("im", *(("public_channel", "private_channel", "mpim") if teams else ())):
            await self._list(kind)
        self._listed = not self._gap.is_set()
        self._move()

    async def _list(self, kind: str) -> None:
        """What Slack does not tell of at once is asked for again, from the beginning."""
        while True:
            try:
                await self._add_all(kind)
            except (Rejected, ChatDead) as refusal:
                self._refused = True
                _LOG.warning("slack does not tell of its conversations", extra={"kind": kind, "why": str(refusal)})
                self._tell(unlisted=False)
                return
            except BotError as trouble:
                _LOG.warning("slack's conversations are asked for again", extra={"kind": kind, "why": str(trouble)})
                self._tell(unlisted=True)
                if self._gap.is_set():
                    return
            else:
                self._tell(unlisted=False)
                return

    async def _add_all(self, kind: str) -> None:
        async with aclosing(self._history.places(kind, _MOST_OTHERS)) as pages:
            async for chat in pages:
                self._add(Place(chat=chat))

    def _add(self, place: Place) -> None:
        if place not in self._read and place not in self._under_way:
            self._due.setdefault(place)
            self._move()

    # reading

    async def _work(self, next_one: Callable[[], Place | None]) -> None:
        while True:
            await self._until(lambda: next_one() is not None)
            await self._intake.kept(_ROOM)
            place = next_one()
            if place is None:
                continue
            del self._due[place]
            self._under_way.append(place)
            try:
                await self._look_into(place)
            finally:
                self._under_way.remove(place)
                self._tell(unlisted=self._unlisted)
                self._move()

    def _next(self) -> Place | None:
        return self._next_wanted() or self._first(self._due)

    def _next_wanted(self) -> Place | None:
        return self._first(place for place in self._wanted if place in self._due and place not in self._put_off)

    def _first(self, places: Iterable[Place]) -> Place | None:
        """A thread comes after its channel, which may tell that nothing was said there, if that is to be had."""
        if self._since is None:
            return None
        for place in places:
            chat = Place(chat=place.chat)
            waits = place in self._under_way or chat in self._under_way
            if not waits and (place == chat or chat not in self._due or chat in self._put_off):
                return place
        return None

    async def _look_into(self, place: Place) -> None:
        """A place that is not to be had now waits behind the others."""
        rounds, oldest = self._rounds, self._desk.oldest
        if self._planned_at <= oldest:  # what was missed is not acted on any more
            self._has_read(place)
            return
        try:
            since = max(self._since or oldest, oldest)
            found = await self._history.since(place, since, self._most, lambda: place in self._wanted)
        except (Rejected, ChatDead) as refusal:
            self._refused = self._refused or isinstance(refusal, Rejected)
            _LOG.warning("slack's history is not to be had", extra={"chat": place.chat, "why": str(refusal)})
            found = Found(said=self._left.get(place, ()))
        except BotError as trouble:
            _LOG.warning("slack's history is asked for again", extra={"chat": place.chat, "why": str(trouble)})
            self._due[place] = None
            self._put_off.add(place)
            return
        self._left.pop(place, None)
        await self._hand_on(place, found)
        if rounds == self._rounds:
            self._has_read(place)
        else:
            self._due.setdefault(place)

    def _has_read(self, place: Place) -> None:
        self._read.add(place)
        self._put_off.discard(place)
        self._overdue.discard(place)

    def _tell(self, *, unlisted: bool) -> None:
        self._unlisted = unlisted
        late = (self._clock.now() - self._planned_at).total_seconds() >= _LONGEST_S
        self.on_missing(late and (unlisted or bool(self._put_off)))

    async def _hand_on(self, place: Place, found: Found) -> None:
        """What begins a thread, or is shown beside it, goes on with what else was said there."""
        threads = {one: thread for thread in found.threads if (one := _in(place, thread)) not in self._read}
        now: list[Message] = []
        for message in found.said:
            one = _in(place, message.address.thread)
            (self._left.setdefault(one, []) if one in threads and one != place else now).append(message)
        for one in threads:
            self._add(one)
        for thread in found.still:
            self._due.pop(_in(place, thread), None)
            self._has_read(_in(place, thread))
        self._intake.offer([await self.completed(one) for one in now] if self.completed is not None else now)

    async def _end(self) -> None:
        """All is read, unless more was missed meanwhile. A token that Slack refuses says nothing of any place."""
        if not self._gap.is_set():
            await self._intake.kept(0)
        if self._gap.is_set() or (self._refused and not await self._is_known()):
            return
        await self._stored(lambda: self._desk.note(self._bot, _NOTE, ""))
        if not self._gap.is_set():
            self._since = None
            self._left.clear()
            self._move()
            _LOG.info("caught up", extra={"bot": self._bot, "places": len(self._read)})

    async def _is_known(self) -> bool:
        while True:
            try:
                await self._history.introduce()
            except BotRejected:
                return False
            except BotError as trouble:
                _LOG.warning("slack is asked again who we are", extra={"why": str(trouble)})
            else:
                return True

    # waiting

    async def _stored(self, step: Callable[[], Awaitable[_T]]) -> _T:
        """What the store does not do at once it does later; its trouble is told by itself."""
        while True:
            try:
                done = await step()
            except StoreError as trouble:
                _LOG.warning("slack's history waits for the store", extra={"why": type(trouble).__name__})
                await self._clock.sleep(self._waits.next_s())
            else:
                self._waits.worked()
                return done

    def _move(self) -> None:
        self._moved.set()

    async def _moving(self) -> None:
        self._moved.clear()
        await self._moved.wait()

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._moving()


def _in(place: Place, thread: str | None) -> Place:
    return Place(chat=place.chat, thread=thread)
