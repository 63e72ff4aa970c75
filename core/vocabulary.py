"""The words that cross the border between a bot and the desk. This module imports nothing of ours.

Ids are opaque text: only the bot that made one looks inside it. Times are aware and in UTC.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal, NewType

from msgspec import Struct

BotName = NewType("BotName", str)
"""Unique in the configuration: the NAME of `[bots.NAME]`."""
ChatId = NewType("ChatId", str)
"""Unique within one platform account."""
ThreadId = NewType("ThreadId", str)
"""Unique within one chat."""
MessageId = NewType("MessageId", str)
"""Unique within one chat."""
EventId = NewType("EventId", str)
"""Unique within one platform account."""
UserId = NewType("UserId", str)
"""The platform's immutable id of a person, unique within platform and realm."""
RowId = NewType("RowId", int)
"""An inbox row; ascending in order of acceptance, unique in the store."""
TurnId = NewType("TurnId", str)
"""UUIDv7, unique everywhere."""
DeliveryId = NewType("DeliveryId", int)
"""One part of one reply; ascending in order of sending within a chat, unique in the store."""


class ChatKind(StrEnum):
    """With whom a chat is: one person, several, or a side talk of several. Policies, scopes and mentions go by it."""

    DIRECT = "direct"
    GROUP = "group"
    THREAD = "thread"


class Address(Struct, frozen=True, kw_only=True):
    """Where an answer goes."""

    bot: BotName
    chat: ChatId
    thread: ThreadId | None = None
    reply_to: MessageId | None = None


class Sender(Struct, frozen=True, kw_only=True):
    """Who spoke. `user` is None where the platform names a chat instead of a person (anonymous admin, channel)."""

    user: UserId | None
    name: str
    realm: str = ""
    is_bot: bool = False


class FileKind(StrEnum):
    """As what people see a file. `VOICE` is what somebody said, `AUDIO` anything else that is to be heard."""

    IMAGE = "image"
    VOICE = "voice"
    AUDIO = "audio"
    VIDEO = "video"
    FILE = "file"


class Attachment(Struct, frozen=True, kw_only=True):
    """A file that the platform holds. `ref` is what `CanFetch.fetch` needs, good for days and over restarts; `size` is
    in bytes where it is told; `name` and `media_type` are "" where they are not."""

    kind: FileKind
    ref: str
    name: str
    media_type: str
    size: int | None


class Quote(Struct, frozen=True, kw_only=True):
    """What a message refers to. `name`: who said that, "" where nobody is named. Of a message that was handed on
    (`forwarded`) the text is the message's own, and "" here. `own`: the bot itself said it."""

    name: str
    text: str = ""
    forwarded: bool = False
    own: bool = False


class ClientTool(Struct, frozen=True, kw_only=True):
    """A tool that a client brings along and carries out itself. `schema` is JSON Schema of its arguments, as JSON."""

    name: str
    description: str
    schema: str


class Message(Struct, frozen=True, kw_only=True):
    """Something a person said. Unique by (platform account, chat, message id)."""

    event: EventId
    message: MessageId
    address: Address
    kind: ChatKind
    sender: Sender
    text: str
    sent_at: datetime
    addressed: bool
    """In a direct chat, or our bot is mentioned or replied to, or the thread is the bot's own."""
    for_another: bool = False
    """Among others, it names another bot and not ours."""
    within: str = ""
    """What the chat is part of, where the platform has such (a server, a team): whoever lists that lists the chat."""
    conversation: str | None = None
    """Where the bot itself names the conversation: the session key's path below the bot's name, parts already
    percent-encoded. None: the key comes from chat, thread and sender."""
    attachments: tuple[Attachment, ...] = ()
    quote: Quote | None = None
    tools: tuple[ClientTool, ...] = ()
    """Offered to the agent for this message only."""
    more_likely: bool = False
    """The client may have split a longer text here (the text is as long as the platform lets one message be), or an
    album."""


class Edit(Struct, frozen=True, kw_only=True):
    """The text of an earlier message was replaced."""

    event: EventId
    message: MessageId
    address: Address
    sender: Sender
    text: str
    edited_at: datetime


class Press(Struct, frozen=True, kw_only=True):
    """A button was pressed. `data` is the button's. `handle` is what `AnswersPresses.answer` needs; it is good for
    moments and not stored."""

    event: EventId
    address: Address
    kind: ChatKind
    sender: Sender
    data: str
    pressed_at: datetime
    handle: str
    within: str = ""
    """As a message's."""


class Moved(Struct, frozen=True, kw_only=True):
    """A chat got another id; the old one is dead."""

    event: EventId
    address: Address
    to: ChatId


class Malformed(Struct, frozen=True, kw_only=True):
    """An event that could not be read. It is stored as refused, so that the stream moves on."""

    event: EventId
    address: Address
    reason: str


Inbound = Message | Edit | Press | Moved | Malformed


class Verdict(StrEnum):
    """What intake made of one inbound."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"
    REFUSED = "refused"


class Receipt(Struct, frozen=True, kw_only=True):
    """Given once the inbound is durable. `row` is the row that holds it, the first one's for a duplicate."""

    verdict: Verdict
    row: RowId
    reason: str = ""


class TextUnit(StrEnum):
    """In what a platform counts the length of a text."""

    UTF16 = "utf16"
    CODE_POINTS = "code_points"


class Pace(Struct, frozen=True, kw_only=True):
    """How often a chat may be written to: a bucket of `burst` that refills one every `interval_s` seconds."""

    interval_s: float
    burst: int


class Capabilities(Struct, frozen=True, kw_only=True):
    """How a platform differs. The core asks this and never a platform's name."""

    text_limit: int
    text_unit: TextUnit
    edit_interval_s: float | None = None
    """Least time between two edits in a direct chat; None where messages can't be edited."""
    direct_pace: Pace | None = None
    group_pace: Pace | None = None
    account_pace: Pace | None = None
    typing_interval_s: float | None = None
    """How long a typing sign lasts; None where there is none."""
    buttons: bool = False
    """Can deliveries have buttons?"""
    drafts: bool = False
    """Does `CanDraft.draft` show in direct chats what an answer is like so far?"""
    download_limit_bytes: int = 0
    """The most that `CanFetch.fetch` can give; 0: no files come in."""
    upload_limit_bytes: int = 0
    """The most that one file of a delivery may have; 0: none go out."""
    files_limit: int = 10
    """The most files that one delivery may have."""
    caption_limit: int = 0
    """The most text that a delivery with files may have, in `text_unit`."""
    idempotent_for_s: float = 0.0
    """For how long after its first try a delivery that is sent again is known to be there already, if it is; 0 is
    never."""


class Button(Struct, frozen=True, kw_only=True):
    """What is pressed under a message. `data`: up to 32 characters from A-Z, a-z and 0-9, unguessable. `label`: up to
    32 characters of plain text."""

    label: str
    data: str
    style: Literal["plain", "good", "bad"] = "plain"


class OutFile(Struct, frozen=True, kw_only=True):
    """A file to be sent; `path` is ours and stays until it is sent. `name` has no folder in it; `size` is in bytes."""

    kind: FileKind
    path: Path
    name: str
    media_type: str
    size: int


class Earlier(Struct, frozen=True, kw_only=True):
    """What is known of the earlier tries of a delivery. `since`: the first of them was not before that, by our clock.
    `others`: the messages that other deliveries made in that chat since some minutes before."""

    since: datetime
    others: frozenset[MessageId]


class Delivery(Struct, frozen=True, kw_only=True):
    """One part of one reply, as a bot sends it: one platform message. `text` is Markdown source that fits; with `files`
    it is their caption and may be blank. An edit replaces text and buttons, and leaves files as they are."""

    id: DeliveryId
    address: Address
    kind: ChatKind
    text: str
    buttons: tuple[Button, ...] = ()
    """Side by side, in this order."""
    files: tuple[OutFile, ...] = ()
    earlier: Earlier | None = None
    """It may be there already: it was handed to a bot before, and it is not certain that it did not arrive then."""
    answers: MessageId | None = None
    """What its reply answers, in each of its parts; `address.reply_to` points there in the first part alone, and among
    others only."""
    beginning: bool = False
    """It is the beginning of an answer that grows. What is sent under the same id later, where that can't be edited any
    more, is another message."""
    notice: bool = False
    """The desk itself says it: commands that it names may be spelled as people there type them."""
    alone: UserId | None = None
    """Among others only this person is to see it: there where the platform can do that, else in the direct chat.
    `Rejected` where neither can be."""
    growing: bool = False
    """More of the answer follows in edits, and `Streams.streams` wants to know that."""


class TextDelta(Struct, frozen=True, kw_only=True):
    """A piece of the answer, in order; all of them together are the answer."""

    text: str


class ThinkingDelta(Struct, frozen=True, kw_only=True):
    """A piece of what a model says to itself: shown to those who watch, never stored or delivered."""

    text: str


class CallOpened(Struct, frozen=True, kw_only=True):
    """A model called a tool, which starts now or once somebody allows it. `call` is unique in its turn; `arguments` is
    JSON. `read_only`: it changes nothing, so that it may run again after a crash."""

    call: str
    tool: str
    arguments: str
    read_only: bool = False


class CallClosed(Struct, frozen=True, kw_only=True):
    """The tool of `call` has ended; `result` is what the model is told."""

    call: str
    result: str
    failed: bool


class Outcome(StrEnum):
    """How a turn ended."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    SUSPENDED = "suspended"


class TurnEnded(Struct, frozen=True, kw_only=True):
    """The last event of a turn."""

    outcome: Outcome
    text: str
    """The whole closing text."""


TurnEvent = TextDelta | ThinkingDelta | CallOpened | CallClosed | TurnEnded
