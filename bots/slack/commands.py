"""Slash commands: what they are about, and where their answers go.

Slack does not tell in which thread somebody typed one. In a direct chat it is that chat's, or its latest thread's; in a
channel the one thread where the person talked with us, and where there are several the person is asked.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bots.slack import interactions, tokens, words
from bots.slack.inbound import Account
from bots.slack.interactions import WHICH, Choice, Command
from bots.slack.line import Line
from bots.slack.manifest import COMMAND
from bots.slack.markup import Block, mrkdwn_text, plain_text
from bots.slack.outbound import QUIET
from bots.slack.people import People
from bots.slack.recent import Recent
from core.errors import BotError, StoreError
from core.fields import Json
from core.ports import Desk, Haunt, Principal
from core.vocabulary import Address, ChatId, ChatKind, EventId, Message, MessageId, Receipt, ThreadId, Verdict

_LOOKED_AT: Final = 8
"""Threads of a channel that are looked at, the latest."""
_REMEMBERED: Final = 256
_HAUNTS: Final = 200
_URL_S: Final = 29 * 60.0
_URL_USES: Final = 5
"""A response URL works five times within half an hour:
https://docs.slack.dev/interactivity/handling-user-interaction#message_responses."""
_PRIVATE: Final = "private"
"""What the id of a message begins with whose answer one person sees; that person follows."""
_LABEL: Final = 70
_ANYWHERE: Final = frozenset({"help", "sessions", "version", "whoami"})
"""Commands that are about no conversation."""
_NO_WORD: Final = frozenset({"stranger", "blocked"})
Subject = Address | Sequence[tuple[Address, str]]
"""What a command is about; or several such with what is talked about there, or none."""


@dataclass(slots=True)
class ResponseUrl:
    """Where what answers a private command goes, so that one person sees it."""

    url: str
    at_s: float
    uses_left: int = _URL_USES


@dataclass(frozen=True, kw_only=True, slots=True)
class Private:
    """Who alone sees an answer. `shown_by` None: Slack takes no (more) answers to the command, so that it goes to our
    direct chat, unless it may be shown to them `there`, where they asked."""

    user: str
    shown_by: ResponseUrl | None
    there: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Meant:
    """What a command comes to: a message, or words for the one who typed it."""

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
        self._asked: Recent[str, Command] = Recent(_REMEMBERED)

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
        names, place = await asyncio.gather(
            self._people.names(interactions.people(payload), until_s), self._where(command, here, until_s)
        )
        return self._placed(interactions.command(payload, self._us, names) or command, here, place)

    async def _where(self, command: Command, here: Address, until_s: float) -> Subject | None:
        """What the command is about; None where that is not to be had in time, though it must be known."""
        if not here.chat.startswith("D") and command.name in _ANYWHERE:
            return here
        try:
            async with self._line.aside(until_s):
                return await self._place(command, here)
        except (BotError, StoreError, TimeoutError):
            return here if here.chat.startswith("D") or self._is_private(command.name) else None

    def _placed(self, command: Command, here: Address, place: Subject | None) -> Meant:
        if place is None:
            return Meant(answer=ephemeral(words.NOT_NOW))
        if not isinstance(place, Address):
            if len(place) > 1:
                return Meant(answer=self._ask(command, place))
            if not self._is_private(command.name):
                return Meant(answer=ephemeral(words.NONE_HERE))
            place = here
        return Meant(message=self._message(command.id, place, command))

    def chosen(self, choice: Choice) -> Message | None:
        """The command for the thread that was chosen; None if it is not known any more."""
        command = self._asked.pop(choice.block)
        if command is None or command.sender.user != choice.sender.user:
            return None
        place = Address(bot=self._us.bot, chat=ChatId(command.chat), thread=ThreadId(choice.value))
        return self._message(choice.id, place, replace(command, response_url=choice.response_url))

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
        kind = ChatKind.DIRECT if here.chat.startswith("D") else ChatKind.GROUP
        return Principal(address=here, kind=kind, sender=command.sender, within=self._us.team)

    async def _place(self, command: Command, here: Address) -> Subject:
        haunts = await self._desk.haunts(self._us.bot, _HAUNTS)
        if here.chat.startswith("D"):
            latest = next((one.address for one in haunts if one.address.chat == here.chat), None)
            return replace(here, thread=latest.thread if latest is not None else None)
        threads = [one for one in haunts if one.address.chat == here.chat and one.address.thread is not None]
        looked_at = await asyncio.gather(*(self._topic(one, str(command.sender.user)) for one in threads[:_LOOKED_AT]))
        found = [(one.address, topic) for one, topic in zip(threads, looked_at, strict=False) if topic is not None]
        return found[0][0] if len(found) == 1 else found

    async def _topic(self, haunt: Haunt, user: str) -> str | None:
        """How the thread begins; None if this person is not in it."""
        arguments = {"channel": haunt.address.chat, "ts": haunt.address.thread, "limit": 100}
        answer = await self._line.call("conversations.replies", arguments, telling=False)
        listed = answer.get("messages")
        said = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        if not any(one.get("user") == user for one in said):
            return None
        text = str(said[0].get("text") or "")
        names = await self._people.names(tokens.named_in(text))
        return tokens.readable(text, {**names, self._us.user: self._us.name}).strip() or "…"

    def _ask(self, command: Command, places: Sequence[tuple[Address, str]]) -> Json:
        self._asked.put(command.id, command)
        buttons: list[Block] = [
            {
                "type": "button",
                "action_id": f"{WHICH}{number}",
                "value": str(address.thread),
                "text": plain_text(topic[:_LABEL]),
            }
            for number, (address, topic) in enumerate(places)
        ]
        question: Block = {"type": "section", "text": mrkdwn_text(f"{words.WHICH} `{tokens.escaped(command.name)}`")}
        return ephemeral(words.WHICH, [question, {"type": "actions", "block_id": command.id, "elements": buttons}])

    # what it is then

    def _message(self, said: MessageId, place: Address, command: Command) -> Message:
        direct = place.chat.startswith("D")
        kind = ChatKind.DIRECT if direct else ChatKind.GROUP if place.thread is None else ChatKind.THREAD
        if not direct and self._is_private(command.name):
            said = MessageId(f"{_PRIVATE}-{command.sender.user}-{said}")
            if command.response_url:
                url = ResponseUrl(url=command.response_url, at_s=self._line.clock.monotonic())
                self._urls.put((place.chat, said), url)
        return Message(
            event=EventId(said),
            message=said,
            address=replace(place, reply_to=None if direct else said),
            kind=kind,
            sender=command.sender,
            text=command.text if self._is_known(command.name) else command.text.removeprefix("/"),
            sent_at=self._line.clock.now(),
            addressed=True,
            within=self._us.team,
        )

    def _is_known(self, name: str) -> bool:
        """What is no command is said to us, as if it were written here."""
        return any(name == one.name or name in one.aliases for one in self._desk.commands)

    def spelled(self, text: str, *, in_thread: bool) -> str:
        """With the commands in what the desk says as people here can type them: Slack takes no "/again", and in a
        thread none of an app's (https://docs.slack.dev/interactivity/implementing-slash-commands), but a mention."""
        names = "|".join(re.escape(one.name) for one in self._desk.commands)
        typed = f"@{self._us.name} /" if in_thread else f"{COMMAND} "
        return re.sub(rf"(?<![\w/.:])/(?=(?:{names})(?![\w/-]))", typed, text) if names else text

    def _is_private(self, name: str) -> bool:
        return any(one.private for one in self._desk.commands if one.name == name)


def refused(receipt: Receipt | None) -> Json | None:
    """What somebody is told whose command was not taken: strangers get their code, the blocked no word."""
    taken = receipt is None or receipt.verdict in (Verdict.ACCEPTED, Verdict.DUPLICATE)
    return None if taken or receipt is None or receipt.reason in _NO_WORD else ephemeral(words.NOT_HERE)


def ephemeral(text: str, blocks: Sequence[Block] = ()) -> Json:
    """A message that one person sees."""
    shown = {"response_type": "ephemeral", "replace_original": False, "text": tokens.escaped(text), **QUIET}
    return {**shown, "blocks": list(blocks)} if blocks else shown
