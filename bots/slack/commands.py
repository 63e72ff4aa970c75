"""Slash commands: what they are about, and where their answers go.

Slack does not tell in which thread somebody typed one. It is about the only conversation of that direct chat, or the
only thread of that channel in which the person talked with us; where there are several, or where not all could be
looked at, a form asks the person. It also offers what a command may be given, where that is missing.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from bots.slack import forms, interactions, tokens, words
from bots.slack.forms import Answered, Question
from bots.slack.history import cursor_of
from bots.slack.inbound import Account, kind_of
from bots.slack.interactions import Command
from bots.slack.line import Line
from bots.slack.manifest import COMMAND
from bots.slack.outbound import QUIET
from bots.slack.people import People
from bots.slack.recent import Recent
from core.errors import BotError, StoreError, ThreadGone
from core.fields import Json, records
from core.ports import Choice, CommandHelp, Desk, Haunt, Principal
from core.vocabulary import Address, ChatId, ChatKind, EventId, Message, MessageId, Receipt, ThreadId, Verdict

_LOOKED_AT: Final = 20
"""Conversations of one place that are looked at, the latest. Slack lets some 50 threads be read in a minute
(https://docs.slack.dev/apis/web-api/rate-limits)."""
_PAGE: Final = 200
_REMEMBERED: Final = 256
_HAUNTS: Final = 10_000
_URL_S: Final = 29 * 60.0
_URL_USES: Final = 5
"""A response URL works five times within half an hour:
https://docs.slack.dev/interactivity/handling-user-interaction#message_responses."""
_PRIVATE: Final = "private"
"""What the id of a message begins with whose answer one person sees; that person follows."""
_OPEN_S: Final = 0.7
"""A form is to be opened so soon after all was looked up: within three seconds of the command, like the acknowledgement
(https://docs.slack.dev/interactivity/handling-user-interaction#modal_responses)."""
_OPENING: Final = 1_000
"""So much of how a thread begins is kept, in characters, before names stand in it."""
_ANYWHERE: Final = frozenset({"help", "sessions", "version", "whoami"})
"""Commands that are about no conversation."""
_UNASKED: Final = _ANYWHERE | {"forget", "usage"}
"""These, and what is about a person more than about a conversation: nobody is asked which."""
_NO_WORD: Final = frozenset({"stranger", "stranger_waits", "blocked"})


class Found(Struct, frozen=True, kw_only=True):
    """The conversations that a command may be about, the latest first, each with what it is called. `all`: there is no
    other."""

    places: Sequence[tuple[Address, str]]
    all: bool


class Begun(Struct, frozen=True, kw_only=True):
    """How a thread begins, and who speaks there. `all`: so far as it goes."""

    text: str
    people: frozenset[str]
    all: bool


_GONE: Final = Begun(text="", people=frozenset(), all=True)
Haunts = Mapping[ThreadId | None, Haunt]
"""Of one chat, by thread, the latest first."""


@dataclass(slots=True)
class ResponseUrl:
    """Where what answers a private command goes, so that one person sees it."""

    url: str
    at_s: float
    uses_left: int = _URL_USES


class Private(Struct, frozen=True, kw_only=True):
    """Who alone sees an answer. `shown_by` None: Slack takes no (more) answers to the command, so that it goes to our
    direct chat, unless it may be shown to them `there`, where they asked."""

    user: str
    shown_by: ResponseUrl | None
    there: bool = False


class Meant(Struct, frozen=True, kw_only=True):
    """What a command comes to: a message, or words for the one who typed it; neither where a form asks for more."""

    message: Message | None = None
    answer: Json | None = None


class Commands:
    """For one `run`."""

    def __init__(self, line: Line, people: People, us: Account, desk: Desk) -> None:
        self._line = line
        self._people = people
        self._us = us
        self._desk = desk
        self._urls: Recent[tuple[str, str], ResponseUrl] = Recent(_REMEMBERED)
        self._begun: Recent[Haunt, Begun] = Recent(_REMEMBERED)
        """Good until something more is said there."""

    async def meant(self, payload: Json) -> Meant:
        """Looks around for a moment at most, and for nobody who would not be heard: what they typed is the desk's to
        refuse. Never raises."""
        command = interactions.command(payload, self._us, {})
        if command is None:
            return Meant()
        here, until_s = Address(bot=self._us.bot, chat=ChatId(command.chat)), self._line.soon_s()
        try:
            async with self._line.aside(until_s):
                here = await self._here(command)
                heard = await self._desk.hears(self._asker(command, here))
        except (BotError, StoreError, TimeoutError):
            return Meant(answer=ephemeral(words.NOT_NOW))
        if not heard:
            return Meant(message=self._message(command.id, here, command))
        names, place, lacking = await asyncio.gather(
            self._people.names(interactions.people(payload), until_s), self._where(command, here, until_s),
            self._is_lacking(command, here),
        )  # fmt: skip
        command = interactions.command(payload, self._us, names) or command
        if lacking and isinstance(place, Address):
            question = Question(chat=place.chat, thread=str(place.thread or ""), takes=True)
            return await self._ask(command, question, until_s)
        if isinstance(place, Found) and place.places and self._table_name(command) not in _UNASKED:
            threads = [(str(address.thread or ""), topic) for address, topic in place.places]
            chat = place.places[0][0].chat
            question = Question(chat=chat, threads=threads, all=place.all, takes=lacking)
            return await self._ask(command, question, until_s)
        return self._placed(command, here, place)

    async def _where(self, command: Command, here: Address, until_s: float) -> Address | Found | None:
        """What the command is about; None where that is not to be had in time, though it must be known."""
        name, direct = self._table_name(command), here.chat.startswith("D")
        if not direct and name in _ANYWHERE:
            return here
        try:
            async with self._line.aside(until_s):
                haunts = await self._desk.haunts(self._us.bot, _HAUNTS)
        except (StoreError, TimeoutError):
            return here if name in _UNASKED else None
        known: dict[ThreadId | None, Haunt] = {}
        for one in haunts:
            if one.address.chat == here.chat and (direct or one.address.thread is not None):
                known.setdefault(one.address.thread, one)
        if direct and name in _UNASKED:
            return replace(here, thread=next(iter(known), None))
        everything = len(haunts) < _HAUNTS and len(known) <= _LOOKED_AT
        if direct and everything and len(known) <= 1:
            return replace(here, thread=next(iter(known), None))
        if direct and not everything:
            known.setdefault(None, Haunt(address=here, kind=ChatKind.DIRECT, heard_at=self._line.clock.now()))
        looked_at = dict([*known.items()][:_LOOKED_AT])
        if direct:
            found = await self._of_chat(here, looked_at, until_s)
        else:
            found = await self._of_channel(command, here, looked_at, until_s)
        found = replace(found, all=found.all and everything)
        return found.places[0][0] if found.all and len(found.places) == 1 else found

    def _placed(self, command: Command, here: Address, place: Address | Found | None) -> Meant:
        if place is None:
            return Meant(answer=ephemeral(words.NOT_NOW))
        if not isinstance(place, Address):
            unasked = self._table_name(command) in _UNASKED
            if not unasked and not (place.all and self._is_private(command.name)):
                return Meant(answer=ephemeral(words.NONE_HERE if place.all else words.NOT_ALL))
            place = here
        return Meant(message=self._message(command.id, place, command))

    def chosen(self, answered: Answered) -> Message:
        """The command, with all that it lacked."""
        place, command = self._asked(answered)
        return self._message(answered.id, place, command)

    async def choices(self, answered: Answered) -> Sequence[Choice]:
        """What the command may be given, there, by whoever asks."""
        place, command = self._asked(answered)
        try:
            return await self._desk.complete(self._asker(command, place), self._table_name(command), answered.typed)
        except StoreError:
            return ()

    def _asked(self, answered: Answered) -> tuple[Address, Command]:
        thread = ThreadId(answered.thread) if answered.thread else None
        place = Address(bot=self._us.bot, chat=ChatId(answered.chat), thread=thread)
        command = Command(
            id=answered.id, chat=answered.chat, sender=answered.sender, text=answered.text,
            response_url=answered.response_url,
        )  # fmt: skip
        return place, command

    def private_answer(self, chat: ChatId, asked: MessageId | None) -> Private | None:
        """Who alone sees an answer to this message; None: it was no private command. A later process knows that too."""
        prefix, user, _ = [*(asked or "").split("-", 2), "", ""][:3]
        if prefix != _PRIVATE:
            return None
        found = self._urls.get((chat, asked or ""))
        if found is None or found.uses_left <= 0 or self._line.clock.monotonic() - found.at_s > _URL_S:
            return Private(user=user, shown_by=None)
        return Private(user=user, shown_by=found)

    # where it was typed

    async def _here(self, command: Command) -> Address:
        """The channel, or our direct chat: in one, it may be typed among two other people."""
        direct = command.chat.startswith("D")
        chat = await self._people.direct(str(command.sender.user)) if direct else command.chat
        return Address(bot=self._us.bot, chat=ChatId(chat))

    def _asker(self, command: Command, here: Address) -> Principal:
        return Principal(address=here, kind=kind_of(here), sender=command.sender, within=self._us.team)

    async def _of_chat(self, here: Address, haunts: Haunts, until_s: float) -> Found:
        """Those of a direct chat: all are the person's."""
        looked_at = {thread: one for thread, one in haunts.items() if thread is not None}
        begun = await asyncio.gather(*(self._beginning(one, 1, until_s) for one in looked_at.values()))
        topics = await self._topics(dict(zip(looked_at, begun, strict=True)), until_s)
        topics[None] = words.THE_CHAT
        places = [
            (replace(here, thread=thread), topics[thread] or words.A_THREAD.format(at=one.heard_at))
            for thread, one in haunts.items()
        ]
        return Found(places=places, all=True)

    async def _of_channel(self, command: Command, here: Address, haunts: Haunts, until_s: float) -> Found:
        """Those in which this person speaks."""
        begun = await asyncio.gather(*(self._beginning(one, _PAGE, until_s) for one in haunts.values()))
        read, user = dict(zip(haunts, begun, strict=True)), str(command.sender.user)
        theirs = {thread: one for thread, one in read.items() if one is not None and user in one.people}
        others = [one for thread, one in read.items() if thread not in theirs]
        topics = await self._topics(theirs, until_s)
        places = [(replace(here, thread=thread), topic or "…") for thread, topic in topics.items()]
        return Found(places=places, all=all(one is not None and one.all for one in others))

    async def _beginning(self, haunt: Haunt, most: int, until_s: float) -> Begun | None:
        """None if Slack does not tell in time."""
        if (known := self._begun.get(haunt)) is not None:
            return known
        arguments = {"channel": haunt.address.chat, "ts": haunt.address.thread, "limit": most}
        try:
            async with self._line.aside(until_s):
                answer = await self._line.call("conversations.replies", arguments, telling=False)
        except ThreadGone:
            return _GONE
        except (BotError, TimeoutError):
            return None
        said = records(answer.get("messages"))
        text = str(said[0].get("text") or "") if said else ""
        people = frozenset(str(one.get("user")) for one in said)
        begun = Begun(text=text[:_OPENING], people=people, all=not cursor_of(answer))
        self._begun.put(haunt, begun)
        return begun

    async def _topics(
        self, begun: Mapping[ThreadId | None, Begun | None], until_s: float
    ) -> dict[ThreadId | None, str]:
        """What those threads are called; "" where that is not known."""
        texts = {thread: one.text if one is not None else "" for thread, one in begun.items()}
        names = await self._people.names(set().union(*map(tokens.named_in, texts.values())), until_s)
        names = {**names, self._us.user: self._us.name}
        return {thread: tokens.readable(text, names).strip() for thread, text in texts.items()}

    async def _is_lacking(self, command: Command, here: Address) -> bool:
        """Is there something to choose from for what the command takes and was not given?"""
        known = self._of_table(command.name)
        if known is None or not known.completes or len(command.text.split()) > 1:
            return False
        try:
            return bool(await self._desk.complete(self._asker(command, here), known.name, ""))
        except StoreError:
            return False

    async def _ask(self, command: Command, question: Question, until_s: float) -> Meant:
        form = forms.view(command, question)
        if form is None:
            return Meant(answer=ephemeral(words.TOO_LONG))
        try:
            async with asyncio.timeout_at(until_s + _OPEN_S):
                await self._line.call("views.open", {"trigger_id": command.trigger, "view": form}, telling=False)
        except (BotError, TimeoutError):
            return Meant(answer=ephemeral(words.NOT_NOW))
        return Meant()

    # what it is then

    def _message(self, said: MessageId, place: Address, command: Command) -> Message:
        """What is no command of the table is said to us, as if it were written here."""
        known, direct = self._of_table(command.name), place.chat.startswith("D")
        if known is not None and known.private and not direct:
            said = MessageId(f"{_PRIVATE}-{command.sender.user}-{said}")
            if command.response_url:
                url = ResponseUrl(url=command.response_url, at_s=self._line.clock.monotonic())
                self._urls.put((place.chat, said), url)
        return Message(
            event=EventId(said),
            message=said,
            address=replace(place, reply_to=None if direct else said),
            kind=kind_of(place),
            sender=command.sender,
            text=command.text if known is not None else command.text.removeprefix("/"),
            sent_at=self._line.clock.now(),
            addressed=True,
            within=self._us.team,
        )

    def spelled(self, text: str, *, in_thread: bool) -> str:
        """With the commands in what the desk says as people here can type them: Slack takes no "/again", and in a
        thread none of an app's (https://docs.slack.dev/interactivity/implementing-slash-commands), but a mention."""
        names = "|".join(re.escape(one.name) for one in self._desk.commands)
        typed = f"@{self._us.name} /" if in_thread else f"{COMMAND} "
        return re.sub(rf"(?<![\w/.:])/(?=(?:{names})(?![\w/-]))", typed, text) if names else text

    def _is_private(self, name: str) -> bool:
        known = self._of_table(name)
        return known is not None and known.private

    def _of_table(self, name: str) -> CommandHelp | None:
        return next((one for one in self._desk.commands if name == one.name or name in one.aliases), None)

    def _table_name(self, command: Command) -> str:
        known = self._of_table(command.name)
        return known.name if known is not None else command.name


def refused(receipt: Receipt | None) -> Json | None:
    """What somebody is told whose command was not taken: strangers get their code, the blocked no word."""
    taken = receipt is None or receipt.verdict in (Verdict.ACCEPTED, Verdict.DUPLICATE)
    return None if taken or receipt is None or receipt.reason in _NO_WORD else ephemeral(words.NOT_HERE)


def ephemeral(text: str) -> Json:
    """A message that one person sees."""
    return {"response_type": "ephemeral", "replace_original": False, "text": tokens.escaped(text), **QUIET}
