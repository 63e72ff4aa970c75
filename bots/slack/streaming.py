"""Answers that grow in a thread of a direct chat: `chat.startStream`, `chat.appendStream`, `chat.stopStream`.

A stream only gains, so what is shown has to begin with what was streamed. Where it does not, where it is not known what
arrived, and where Slack ended the stream or takes none, the message is edited with all of its text (`outbound`). The
methods' pages are at https://docs.slack.dev/reference/methods/chat.startStream and beside it; that Slack ends a stream
after some five minutes is not on them (https://github.com/slackapi/python-slack-sdk/issues/1859). Nor are these:

- In a channel a stream has one recipient, and only that person sees it grow
  (https://github.com/agentconnect-md/agentconnect/issues/1494). There a message is edited, which all see.
- No stream can be told to show no previews (https://github.com/slackapi/node-slack-sdk/pull/2389), so that from its
  first link on a text is edited.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from bots.slack import markup, outbound, settling
from bots.slack.faults import StillStreams
from bots.slack.inbound import Account, is_own
from bots.slack.line import Line
from bots.slack.recent import Recent
from core.errors import ChatDead, FloodWait, NotSent, Rejected, Unknown
from core.fields import Json
from core.ports import Clock
from core.vocabulary import Address, Delivery, Earlier, MessageId

_REMEMBERED: Final = 4_096
_REFUSED_S: Final = 3_600.0
"""Where Slack refused a stream, none is tried for so long."""
_LONGEST_S: Final = 900.0
"""What is older is no stream any more; Slack ends them after a third of that."""

_Place = tuple[str, str]


@dataclass(slots=True)
class _Stream:
    """What was streamed, as Slack was told it. Not `sure`: something more may have arrived."""

    said: str
    sure: bool = True


class Streams:
    """What one process knows of its account's messages in threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._refused: Recent[str, float] = Recent(_REMEMBERED)
        self._open: Recent[_Place, _Stream] = Recent(_REMEMBERED)
        self._plain: Recent[_Place, None] = Recent(_REMEMBERED)

    def allowed(self, address: Address) -> bool:
        """Does Slack take streams there, as far as is known?"""
        refused_s = self._refused.get(address.chat)
        free = refused_s is None or self._clock.monotonic() - refused_s > _REFUSED_S
        return free and _may_stream(address)

    def refused(self, address: Address) -> None:
        self._refused.put(address.chat, self._clock.monotonic())

    def begun(self, place: _Place, said: str, *, sure: bool = True) -> None:
        self._plain.pop(place)
        self._open.put(place, _Stream(said, sure))

    def ended(self, place: _Place) -> None:
        """It is a message like others, and may be edited."""
        self._open.pop(place)
        self._plain.put(place, None)

    def open(self, place: _Place) -> _Stream | None:
        return self._open.get(place)

    def may_be_open(self, address: Address, message: MessageId) -> bool:
        """Was it perhaps begun by a process that is gone?"""
        if not _may_stream(address) or (address.chat, message) in self._plain:
            return False
        return self._clock.now().timestamp() - float(message) < _LONGEST_S


class Streamer:
    """The way out of texts, for one `run`: as streams where they grow and Slack takes that."""

    def __init__(self, line: Line, us: Account, streams: Streams) -> None:
        self._line = line
        self._us = us
        self._streams = streams

    async def send(self, delivery: Delivery) -> MessageId:
        """Send a text as a new message. Raises `BotError`."""
        if delivery.growing and not delivery.buttons and self._takes(delivery):
            message = await self._begin(delivery)
            if message is not None:
                return message
        message = await outbound.send(self._line, delivery)
        self._streams.ended((delivery.address.chat, message))
        return message

    def _takes(self, delivery: Delivery) -> bool:
        return self._streams.allowed(delivery.address) and not markup.unfurls(delivery.text)

    async def _begin(self, delivery: Delivery) -> MessageId | None:
        """None where Slack takes no stream."""
        address, said = delivery.address, beginning(delivery.text)
        arguments = {"channel": address.chat, "thread_ts": address.thread, "markdown_text": said}
        try:
            answer = await self._line.call("chat.startStream", arguments, telling=False)
        except FloodWait:  # 20 a minute for all channels together; a message has another limit
            return None
        except (Rejected, ChatDead):
            self._streams.refused(address)
            return None
        message = outbound.message_id(answer)
        self._streams.begun((address.chat, message), said)
        return message

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        """Let a message say this, and have these buttons. Raises `BotError`."""
        place = delivery.address.chat, message
        stream = self._streams.open(place)
        if stream is not None and stream.sure and await self._gain(place, stream, delivery):
            return
        if stream is not None or (not delivery.files and self._streams.may_be_open(delivery.address, message)):
            await self._stop(place)
        try:
            await outbound.edit(self._line, delivery, message)
        except StillStreams:
            self._streams.begun(place, "", sure=False)
            raise

    async def _gain(self, place: _Place, stream: _Stream, delivery: Delivery) -> bool:
        """Append what is new, and end the stream with the last of it. False where that can't be."""
        more = delivery.growing and not delivery.buttons
        shown = beginning(delivery.text) if more else markup.defused(delivery.text)
        if more and stream.said.startswith(shown):
            return True  # nothing new, or nothing of which it is certain yet what it becomes
        if not shown.startswith(stream.said) or markup.unfurls(delivery.text):
            return False
        new = shown[len(stream.said) :] or None
        arguments: dict[str, object] = {"channel": place[0], "ts": place[1], "markdown_text": new}
        if not more:
            buttons = markup.actions(delivery.buttons) or None
            arguments |= {"blocks": buttons, "metadata": outbound.metadata(delivery)}
        try:
            await self._line.call("chat.appendStream" if more else "chat.stopStream", arguments, telling=False)
        except Unknown:
            stream.sure = False
            raise
        except (Rejected, ChatDead):  # Slack has ended it, or takes nothing more of it
            return False
        stream.said = shown
        if not more:
            self._streams.ended(place)
        return True

    async def _stop(self, place: _Place) -> None:
        """End a stream as it is. Raises `NotSent`."""
        try:
            with suppress(Rejected, ChatDead):  # it was none, or is none any more
                await self._line.call("chat.stopStream", {"channel": place[0], "ts": place[1]}, telling=False)
        except Unknown as trouble:  # it may be repeated
            raise NotSent(str(trouble)) from None
        self._streams.ended(place)

    # over restarts

    async def sent_before(self, delivery: Delivery, earlier: Earlier) -> MessageId | None:
        """The message, if an earlier try sent or began it. A stream carries no metadata until it is stopped: it is the
        message of ours that no other delivery made. Raises `BotError` where that is not known."""
        holds, streams = settling.holds(delivery), list[MessageId]()

        def matches(message: Json) -> bool:
            if holds(message):
                return True
            ts = MessageId(str(message["ts"]))
            if delivery.beginning and ts not in earlier.others and self._is_stream(delivery.address, message):
                streams.append(ts)
            return False

        found = await settling.find(self._line, delivery.address, matches, settling.since(delivery, earlier))
        return found or max(streams, key=float, default=None)

    def _is_stream(self, address: Address, message: Json) -> bool:
        """Is it ours, and does it carry no delivery? Then it was begun as a stream, and not by this process."""
        return (
            _may_stream(address)
            and is_own(message, self._us, self._us.app)
            and message["ts"] != address.thread
            and self._streams.open((address.chat, str(message["ts"]))) is None
            and not message.get("metadata")
            and not message.get("files")
        )


def beginning(source: str) -> str:
    """What of a text that grows can be shown: of it that stays as it is, if there is anything to see in that."""
    stays = markup.defused(source[: markup.settled(source)])
    return stays if stays.strip() else markup.defused(source)


def _may_stream(address: Address) -> bool:
    return address.thread is not None and address.chat.startswith("D")
