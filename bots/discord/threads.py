"""A thread for each question: https://docs.discord.com/developers/resources/channel#start-thread-from-message.

A thread that starts from a message has that message's id, so that a conversation has its address before its thread is
there. It is made when the first answer needs it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from bots.discord.http import Http
from bots.discord.places import OPENS_THREADS, Places
from bots.discord.reading import one_line
from bots.discord.trouble import THREAD_THERE, code_of, in_our_words
from core.errors import BotError, NotSent, Rejected
from core.fields import Unreadable, opt
from core.vocabulary import Address, Message

_MOST_NAME: Final = 100
_MOST_KEPT: Final = 1_000
_NAMELESS: Final = "Thread"
_ARCHIVED_AFTER_MIN: Final = 1_440


class Threads:
    """The threads that this bot makes."""

    def __init__(self, line: Http, places: Places, *, each_question: bool) -> None:
        self.each_question = each_question
        self._line = line
        self._places = places
        self._names: OrderedDict[str, str] = OrderedDict()
        self._there: OrderedDict[str, None] = OrderedDict()

    def foresee(self, message: Message) -> None:
        """A question came that may get a thread."""
        begins = str(message.address.thread) == str(message.message)
        if begins and self._places.get(message.message) is None:
            self._names[message.message] = message.text
            while len(self._names) > _MOST_KEPT:
                self._names.popitem(last=False)

    def is_there(self, address: Address) -> bool:
        """As far as is known."""
        thread = address.thread
        return thread is None or thread in self._there or self._places.get(thread) is not None

    def may_begin(self, address: Address) -> bool:
        """May the thread be one that is still to be made? Those of a forum are there before anything is said."""
        around = self._places.get(address.chat)
        return not self.is_there(address) and (around is None or around.type in OPENS_THREADS)

    def is_question(self, address: Address) -> bool:
        """Whether the thread is to begin with a question that came in this run."""
        return (address.thread or "") in self._names

    async def make(self, address: Address) -> None:
        """See to it that the thread is there. Raises `BotError`; where no thread can be made of that id, `Rejected`."""
        if address.thread is None:
            return
        body = {"name": await self._name(address), "auto_archive_duration": _ARCHIVED_AFTER_MIN}
        try:
            with in_our_words():
                await self._line.call(
                    "POST",
                    "/channels/{channel_id}/messages/{message_id}/threads",
                    body,
                    channel_id=address.chat,
                    message_id=address.thread,
                )
        except BotError as trouble:
            if code_of(trouble) != THREAD_THERE:
                raise
        self._there[address.thread] = None
        self._names.pop(address.thread, None)
        while len(self._there) > _MOST_KEPT:
            self._there.popitem(last=False)

    async def _name(self, address: Address) -> str:
        """The beginning of the question."""
        text = self._names.get(address.thread or "")
        if text is None:
            text = await self._asked(address)
        line = one_line(text)
        return (line if len(line) <= _MOST_NAME else f"{line[: _MOST_NAME - 1]}…") or _NAMELESS

    async def _asked(self, address: Address) -> str:
        """After a restart the question is asked for."""
        try:
            with in_our_words():
                told = await self._line.call(
                    "GET",
                    "/channels/{channel_id}/messages/{message_id}",
                    channel_id=address.chat,
                    message_id=address.thread or "",
                )
            return (opt(told, "content", str) or "") if isinstance(told, dict) else ""
        except (Rejected, Unreadable):
            return ""
        except NotSent:
            raise
        except BotError:
            return ""
