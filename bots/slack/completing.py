"""From an event to what the desk gets, with all that is looked up for that. For one `run`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from math import inf
from typing import Final

from msgspec.structs import replace

from bots.slack import files, inbound, threads
from bots.slack.inbound import Account
from bots.slack.line import Line
from bots.slack.people import People
from bots.slack.recent import Recent
from core.errors import BotError, StoreError
from core.fields import Json
from core.ports import Desk, Haunt, Principal
from core.vocabulary import ChatKind, Edit, Inbound, Message, MessageId

_LOG: Final = logging.getLogger(__name__)
_MOST_THREADS: Final = 4_096


class Completion:
    """`us` tells who we are by now."""

    def __init__(self, line: Line, people: People, desk: Desk, us: Callable[[], Account]) -> None:
        self._line = line
        self._people = people
        self._desk = desk
        self._us = us
        self._known: Recent[tuple[str, str], MessageId] = Recent(_MOST_THREADS)
        """Threads that are no news to us, with the message that first named us there, "" if that was long ago. Slack
        hands it over twice, and whichever is read first may be the one that counts."""

    def know(self, haunts: Sequence[Haunt]) -> None:
        for haunt in haunts:
            if haunt.address.thread is not None:
                self._known.put((haunt.address.chat, haunt.address.thread), MessageId(""))

    async def read(self, payload: Json) -> Inbound | None:
        """Of what the desk would drop nothing is looked up. Never raises."""
        us = self._us()
        said = inbound.read(payload, us, {})
        if not isinstance(said, Message | Edit) or (isinstance(said, Message) and inbound.is_chatter(said)):
            return said
        said = replace(said, sender=await self._people.at_home(said.sender, us))
        asker = Principal(address=said.address, kind=ChatKind.GROUP, sender=said.sender, within=us.team)
        direct = said.address.chat.startswith("D")  # whoever lets a stranger in is to see a name
        if not direct and not await self.hears(asker):
            return said
        people = inbound.people(inbound.event_of(payload))
        names = await self._people.names(people)
        named = inbound.read(payload, us, names, self._people.bots(people))
        if isinstance(named, Edit):
            return replace(named, sender=await self._people.at_home(named.sender, us))
        return await self.completed(named) if isinstance(named, Message) else named

    async def hears(self, asker: Principal, *, unsure: bool = True) -> bool:
        """`unsure`: what is so where the store can't say; a name may be looked up in vain."""
        try:
            return await self._desk.hears(asker)
        except StoreError:
            return unsure

    async def completed(self, said: Message) -> Message:
        """With who it is from, how its thread began, and what its files are. Never raises."""
        sender = self._people.as_known(await self._people.at_home(said.sender, self._us()))
        said = await self._with_beginning(replace(said, sender=sender))
        return await self.with_files(said)

    async def _with_beginning(self, said: Message) -> Message:
        """Whoever mentions us in a thread for the first time means what is said there."""
        thread = said.address.thread
        if said.kind is not ChatKind.THREAD or thread is None or not said.addressed:
            return said
        place = said.address.chat, thread
        first = self._known.get(place)
        if first is None:
            self._known.put(place, said.message)
        if first not in (None, said.message) or str(thread) == said.message or said.quote is not None:
            return said
        try:
            found = await threads.beginning(self._line, self._people, self._us(), said)
        except (BotError, TimeoutError) as trouble:
            _LOG.info("slack does not tell how a thread began", extra={"bot": self._us().bot, "why": str(trouble)})
            self._known.pop(place)  # the next time, perhaps
            return replace(said, quote=threads.UNKNOWN)
        if found is None:
            return said
        return replace(said, quote=found.quote, attachments=(*said.attachments, *found.attachments))

    async def with_files(self, said: Message, until_s: float = inf) -> Message:
        """Of files that another organization shares an event names the id alone
        (https://docs.slack.dev/apis/slack-connect). For whoever is heard; what Slack does not tell, stays."""
        asker = Principal(address=said.address, kind=said.kind, sender=said.sender, within=said.within)
        told = all(file.name or file.media_type for file in said.attachments)
        if told or not await self.hears(asker, unsure=False):
            return said
        try:
            async with self._line.aside(until_s):
                found = await asyncio.gather(*(files.told(self._line, file) for file in said.attachments))
        except TimeoutError:
            return said
        attachments = tuple(file for some, _ in found for file in some)
        text = "\n".join(part for part in (said.text, *(line for _, lines in found for line in lines)) if part)
        return replace(said, attachments=attachments, text=text)
