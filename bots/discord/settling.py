"""Whether a delivery is there already, when nobody heard what became of it.

Within its minutes the nonce tells that by itself. Later, and where an answer to a command took none along, it is what
stands there: a message of ours that says the same, and is no other delivery.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from bots.discord import outbound
from bots.discord.inquiries import Inquiries
from bots.discord.reading import made_at
from bots.discord.trouble import DeadChat, Refusal
from core.errors import BotError, BotRejected, NotSent, Unknown
from core.fields import Json, part, parts, words
from core.ports import Clock
from core.vocabulary import Delivery, Earlier, MessageId

_MOST_PAGES: Final = 10
_CLOCKS_DIFFER: Final = timedelta(minutes=5)
"""Discord's, which times its ids, and ours."""


class Settling:
    """`us` is the account that sends."""

    def __init__(self, inquiries: Inquiries, us: str, clock: Clock) -> None:
        self._inquiries = inquiries
        self._us = us
        self._clock = clock

    async def find(self, delivery: Delivery, channel: str) -> MessageId | None:
        """None: it is not there, or is sent once only if it is sent again. Raises `NotSent` where Discord does not say
        now, and `Unknown` where nobody can tell."""
        earlier = delivery.earlier
        if earlier is None:
            return None
        found, told = await self._look(delivery, earlier, channel)
        if found is not None or told or self._knows_the_nonce(earlier.since):
            return found
        raise Unknown("what stands there does not tell whether it arrived", for_good=True)

    def _knows_the_nonce(self, since: datetime) -> bool:
        return self._clock.now() - since < timedelta(seconds=outbound.NONCE_S)

    async def _look(self, delivery: Delivery, earlier: Earlier, channel: str) -> tuple[MessageId | None, bool]:
        """The delivery, and else whether it certainly is not there. Where nothing at all can be read, the bot may lack
        the right to read: then Discord gives nothing."""
        before: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._page(channel, before)
            if page is None:
                return None, True
            for one in page:
                if made_at(str(one["id"])) < earlier.since - _CLOCKS_DIFFER:
                    return None, True
                if self._is(one, delivery) and str(one["id"]) not in earlier.others:
                    return MessageId(str(one["id"])), True
            if not page:
                return None, before is not None or self._inquiries.places.guild_of(channel) is None
            before = str(page[-1]["id"])
        return None, False

    async def _page(self, channel: str, before: str | None) -> list[Json] | None:
        """The newest first. None where there is no such channel, or the bot is in it no more."""
        try:
            return await self._inquiries.said(channel, before)
        except (Refusal, DeadChat):
            return None
        except (NotSent, BotRejected):
            raise
        except BotError as trouble:
            raise NotSent(f"not known whether it was sent before: {trouble}") from None

    def _is(self, message: Json, delivery: Delivery) -> bool:
        """By its author, its words (Discord takes blanks away around them) and the sizes of its files."""
        author = part(message, "author") or {}
        files = [one.get("size") for one in parts(message, "attachments")]
        ours = author.get("id") == self._us and files == [file.size for file in delivery.files]
        return ours and words(message, "content").strip() == outbound.words(delivery).strip()
