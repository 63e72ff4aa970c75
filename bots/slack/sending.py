"""The way out, for one `run`: which way a delivery goes, and whether it went there before."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from bots.slack import markup, outbound
from bots.slack.commands import Commands, Private, ResponseUrl, ephemeral
from bots.slack.files import Uploads
from bots.slack.interactions import Pressed
from bots.slack.line import Line
from bots.slack.people import People
from bots.slack.recent import Recent
from bots.slack.streaming import Streamer
from core.errors import BotError, BotRejected, ChatDead, NotSent, Rejected, SendError, Unknown
from core.fields import Json
from core.vocabulary import Address, ChatId, ChatKind, Delivery, Earlier, MessageId

_EPHEMERAL: Final = "ephemeral:"
"""How a message is called that Slack gives no id."""
_MOST_BUTTONS: Final = 512
_MOST_STATUSES: Final = 512


class Ways(Struct, frozen=True, kw_only=True):
    """How texts go out, and files."""

    texts: Streamer
    uploads: Uploads


class Sender:
    """Sends, edits and answers presses."""

    def __init__(self, line: Line, people: People, commands: Commands, ways: Ways) -> None:
        self._line = line
        self._people = people
        self._commands = commands
        self._texts = ways.texts
        self._uploads = ways.uploads
        self._buttons: Recent[tuple[str, str], Delivery | None] = Recent(_MOST_BUTTONS)
        """What stands above buttons that we sent; None once they are gone."""
        self._locks: Recent[tuple[str, str], asyncio.Lock] = Recent(_MOST_BUTTONS)
        self._doing: Recent[Address, str] = Recent(_MOST_STATUSES)
        self._shows: Recent[Address, None] = Recent(_MOST_STATUSES)
        """Where a status stands, as far as is known."""
        self._growing: Recent[tuple[str, str], None] = Recent(_MOST_STATUSES)
        """Messages that are not whole yet."""
        self._not_there: Recent[tuple[str, str], None] = Recent(_MOST_STATUSES)
        """Where Slack does not show to one person what they alone are to see."""

    async def send(self, delivery: Delivery) -> MessageId:
        """Send one part, unless it is there already. Raises `SendError`."""
        try:
            message = await self._send(delivery)
        except SendError:
            raise
        except BotError as trouble:  # of a refused account `run` says what to fix; the delivery can wait
            raise NotSent(str(trouble)) from None
        self._doing.pop(_place(delivery.address))
        self._shows.pop(_place(delivery.address))
        if delivery.beginning:
            self._growing.put((delivery.address.chat, message), None)
        return message

    async def _send(self, delivery: Delivery) -> MessageId:
        private = self._private(delivery)
        if private is not None:
            if await self._is_shown(delivery, private):
                return MessageId(f"{_EPHEMERAL}{delivery.id}")
            delivery = await self._in_direct_chat(delivery, private.user)
        delivery = self._spelled(delivery)
        if delivery.earlier is not None and (found := await self._sent_before(delivery, delivery.earlier)) is not None:
            return found
        if not delivery.files:
            return await self._send_text(delivery)
        return await (self._send_in_two(delivery) if _words_apart(delivery) else self._uploads.send(delivery))

    def _private(self, delivery: Delivery) -> Private | None:
        """Who alone is to see it, if it is for one person."""
        found = self._commands.private_answer(delivery.address.chat, delivery.answers)
        if found is not None or delivery.alone is None or delivery.kind is ChatKind.DIRECT:
            return found
        there = (delivery.address.chat, delivery.alone) not in self._not_there
        return Private(user=delivery.alone, shown_by=None, there=there)

    def _spelled(self, delivery: Delivery) -> Delivery:
        if not delivery.notice:
            return delivery
        in_thread = delivery.address.thread is not None
        return replace(delivery, text=self._commands.spelled(delivery.text, in_thread=in_thread))

    async def _sent_before(self, delivery: Delivery, earlier: Earlier) -> MessageId | None:
        whole = delivery.files and not _words_apart(delivery)
        return await (self._uploads if whole else self._texts).sent_before(delivery, earlier)

    async def _in_direct_chat(self, delivery: Delivery, user: str) -> Delivery:
        """What one person alone is to see and can't be shown so where it was asked. Raises `BotError`."""
        address = Address(bot=delivery.address.bot, chat=ChatId(await self._people.direct(user)))
        return replace(delivery, address=address, kind=ChatKind.DIRECT)

    async def _send_text(self, delivery: Delivery) -> MessageId:
        message = await self._texts.send(delivery)
        if delivery.buttons:
            self._buttons.put((delivery.address.chat, message), delivery)
        return message

    async def _send_in_two(self, delivery: Delivery) -> MessageId:
        """The words stand below the files."""
        earlier = delivery.earlier
        if earlier is None or await self._uploads.sent_before(delivery, earlier) is None:
            await self._uploads.send(replace(delivery, text=""))
        try:
            return await self._send_text(replace(delivery, files=(), text=delivery.text.strip() or "…"))
        except SendError as error:
            raise Unknown(f"the files are there, their words are not: {error}") from None

    async def _is_shown(self, delivery: Delivery, private: Private) -> bool:
        """Show it to one person where they asked. False where Slack does not take that, as with files. Raises
        `BotError`."""
        url, thread = private.shown_by, delivery.address.thread
        if delivery.files or not (url or private.there):
            return False
        if delivery.earlier is not None:
            raise Unknown("nobody can tell what one person was shown", for_good=True)
        if url is not None or str(thread) == delivery.answers:  # nobody sees it in a thread that nobody has answered in
            thread = None
        shown = self._spelled(replace(delivery, address=replace(delivery.address, thread=thread)))
        try:
            await (self._answer_at(url, shown) if url else outbound.show(self._line, shown, private.user))
        except (Rejected, ChatDead):
            if url is None:
                self._not_there.put((delivery.address.chat, private.user), None)
            else:
                url.uses_left = 0
            return False
        return True

    async def _answer_at(self, url: ResponseUrl, delivery: Delivery) -> None:
        url.uses_left -= 1
        shown = markup.blocks(delivery.text, delivery.buttons)
        answer = {**ephemeral(""), "text": markup.notification(delivery.text), "blocks": shown}
        await self._line.post(url.url, answer)

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        """Raises `SendError`."""
        if message.startswith(_EPHEMERAL):
            raise Rejected("Slack edits no message that one person sees")
        try:
            private = self._private(delivery)
            if private is not None:
                delivery = await self._in_direct_chat(delivery, private.user)
            delivery = self._spelled(delivery)
            place = delivery.address.chat, message
            async with self._lock(place):
                await self._texts.edit(delivery, await self._uploads.resolved(delivery.address, message))
                self._buttons.put(place, delivery if delivery.buttons else None)
            await self._clear_status(delivery, place)
        except SendError:
            raise
        except BotError as trouble:
            raise NotSent(str(trouble)) from None

    # presses

    async def answer(self, pressed: Pressed, text: str, *, over: bool) -> None:
        """Take the buttons away if they are over, and say a word to the one who pressed. Raises `BotError`."""
        if over:
            await self._take_buttons_away(pressed)
        if text.strip():
            said = ephemeral(text)
            thread = pressed.press.address.thread
            await self._line.post(pressed.response_url, {**said, **({"thread_ts": thread} if thread else {})})

    async def _take_buttons_away(self, pressed: Pressed) -> None:
        """Whatever the message says by now stays; an edit may be under way."""
        place = pressed.press.address.chat, pressed.ts
        async with self._lock(place):
            if place in self._buttons:
                shown = self._buttons.get(place)
                if shown is not None:
                    await outbound.edit(self._line, replace(shown, buttons=()), MessageId(pressed.ts))
                    self._buttons.put(place, None)
                return
            kept = [block for block in pressed.blocks if not _has_our_buttons(block)]
            if len(kept) == len(pressed.blocks) or not kept:
                return
            arguments = {"channel": place[0], "ts": place[1], "text": pressed.text, "blocks": kept, "parse": "none"}
            await self._line.call("chat.update", arguments, telling=False)

    def _lock(self, place: tuple[str, str]) -> asyncio.Lock:
        lock = self._locks.get(place)
        if lock is None:
            lock = asyncio.Lock()
            self._locks.put(place, lock)
        return lock

    # what is being done

    async def typing(self, address: Address) -> None:
        """Raises `BotError`."""
        self._shows.put(_place(address), None)
        await outbound.show_status(self._line, address, self._doing.get(_place(address)) or outbound.THINKING)

    async def working(self, address: Address, doing: str) -> None:
        """Raises `BotError`."""
        self._doing.put(_place(address), doing.strip())
        await self.typing(address)

    async def _clear_status(self, delivery: Delivery, place: tuple[str, str]) -> None:
        """Once what grew is whole. A message takes a status away, an edit or the end of a stream does not."""
        if delivery.beginning:
            self._growing.put(place, None)
            return
        where, grew = _place(delivery.address), place in self._growing
        self._growing.pop(place)
        if grew and where in self._shows:
            self._shows.pop(where)
            with suppress(BotError):  # it vanishes by itself
                await outbound.show_status(self._line, delivery.address, "")


def _place(address: Address) -> Address:
    return replace(address, reply_to=None)


def _words_apart(delivery: Delivery) -> bool:
    """What shares files has no buttons, and can't be told to show no previews."""
    return bool(delivery.buttons) or markup.unfurls(delivery.text)


def _has_our_buttons(block: Json) -> bool:
    elements = block.get("elements")
    listed = elements if isinstance(elements, list) else []
    names = (one.get("action_id") for one in listed if isinstance(one, dict))
    return any(isinstance(name, str) and name.startswith(markup.PRESS) for name in names)


def aside(error: BotError) -> SendError:
    """What a call that one can do without raises."""
    if isinstance(error, SendError):
        return error
    return Rejected(str(error)) if isinstance(error, BotRejected) else NotSent(str(error))
