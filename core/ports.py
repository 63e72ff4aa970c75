"""What the parts ask of each other. Each Protocol belongs to the one who calls it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from core.vocabulary import (
    Address,
    Attachment,
    BotName,
    Capabilities,
    ChatId,
    ChatKind,
    Delivery,
    Inbound,
    MessageId,
    Press,
    Receipt,
    RowId,
    Sender,
    TurnEvent,
    UserId,
)

AsgiMessage = Mapping[str, object]
AsgiReceive = Callable[[], Awaitable[AsgiMessage]]
AsgiSend = Callable[[AsgiMessage], Awaitable[None]]
AsgiApp = Callable[[AsgiMessage, AsgiReceive, AsgiSend], Awaitable[None]]


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, aware, in UTC. It may jump."""

    def monotonic(self) -> float:
        """Seconds that only grow; for waits and intervals."""

    async def sleep(self, seconds: float) -> None:
        """Wait; 0 or less yields once."""


class Random(Protocol):
    def uuid7(self) -> str:
        """A UUID version 7 (RFC 9562) as 36 characters; ascending within the process."""

    def token(self, characters: int) -> str:
        """Unguessable, from letters and digits that people don't confuse."""

    def uniform(self, low: float, high: float) -> float:
        """For jitter; not for secrets."""


class Bot(Protocol):
    """One configured account on one platform. All calls come from the main loop."""

    @property
    def name(self) -> BotName:
        """As configured; never changes."""

    @property
    def platform(self) -> str:
        """How identities and configuration spell the platform; never changes."""

    @property
    def capabilities(self) -> Capabilities:
        """Asked before each use, since they may change with whoever is connected."""

    async def run(self, desk: Desk) -> None:
        """Connect and listen until cancelled. Each batch of events goes through `desk.receive`, and only after it
        returned is the platform told that they arrived. Network trouble is the bot's own to sit out.

        Raises `BotRejected` when the platform refuses the account.
        """

    def parts(self, text: str) -> tuple[str, ...]:
        """Split Markdown source so that each part is one message within the platform's limits; blank parts are left
        out. Pure and safe on any thread."""

    async def send(self, delivery: Delivery) -> MessageId:
        """Send one part; the id is the platform's. Called for one chat at a time. Raises `SendError`."""


@runtime_checkable
class CanEdit(Protocol):
    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        """Replace a sent message's text; the same text again is no error. Raises `SendError`."""


@runtime_checkable
class Streams(Protocol):
    def streams(self, address: Address) -> bool:
        """Does an answer that grows there only gain, until it is told that it has ended? Then its deliveries are
        `growing`, they hold no line of what is being done (`ShowsWork` shows that), and a last edit that is not
        `growing` follows, also if it says nothing new. Asked before each delivery, and never for those with buttons."""


@runtime_checkable
class CanType(Protocol):
    async def typing(self, address: Address) -> None:
        """Show that an answer is being made. Raises `SendError`; never retried."""


@runtime_checkable
class ShowsWork(Protocol):
    def shows_work(self, address: Address) -> bool:
        """Is it shown there? Else a message says it."""

    async def working(self, address: Address, doing: str) -> None:
        """Show in a few plain words what an answer is waiting for; "" for nothing in particular. It stands until the
        next call, or until something is sent there. Raises `SendError`; never retried."""


@runtime_checkable
class HasTitles(Protocol):
    async def entitle(self, address: Address, title: str) -> None:
        """Name what is talked about there, where the platform shows such a name: called with a conversation's first
        message, and when somebody renames or resumes it there. Raises `SendError`; never retried."""


@runtime_checkable
class CanReact(Protocol):
    async def react(self, address: Address, message: MessageId, emoji: str) -> None:
        """Put one reaction on a person's message. Raises `SendError`; never retried."""


@runtime_checkable
class CanDraft(Protocol):
    async def draft(self, address: Address, text: str) -> None:
        """Show text that vanishes by itself. Raises `SendError`; never retried."""


@runtime_checkable
class CanFetch(Protocol):
    def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """The file's bytes in pieces. Raises `BotError`."""


@runtime_checkable
class LimitsUploads(Protocol):
    def upload_limit(self, address: Address) -> int:
        """Bytes that one file may have there, where that differs from chat to chat."""


class CommandHelp(Struct, frozen=True, kw_only=True):
    """One command, for a platform's menu. `argument`: what it takes, as in "text" or "n|title|id", "" for nothing; with
    `needs_argument` it does nothing without one. `private`: what it answers is for the one who asked. `completes`:
    `Desk.complete` knows what its argument may be. `aliases`: what else it may be called."""

    name: str
    summary: str
    argument: str = ""
    needs_argument: bool = False
    private: bool = False
    completes: bool = False
    aliases: Sequence[str] = ()


@runtime_checkable
class AnswersPresses(Protocol):
    async def answer(self, press: Press, text: str, *, over: bool) -> None:
        """End the button's waiting sign, with a word for the one who pressed. `over`: the buttons of its message do
        nothing any more and are taken away. Raises `SendError`; never retried."""


@runtime_checkable
class KnowsAdmins(Protocol):
    async def is_admin(self, chat: ChatId, user: UserId) -> bool:
        """Does this person run the chat? Raises `BotError`; the caller keeps the answer for minutes."""


@runtime_checkable
class ServesHttp(Protocol):
    @property
    def asgi(self) -> Mapping[str, AsgiApp]:
        """Path prefix -> application, mounted on the one listener."""


class Principal(Struct, frozen=True, kw_only=True):
    """On whose behalf something is read: a person, in a chat. `address` may name no chat ("") where the platform asks
    outside of one. `within`: as of a message."""

    address: Address
    kind: ChatKind
    sender: Sender
    within: str = ""


class Choice(Struct, frozen=True, kw_only=True):
    """What the argument of a command may be. `value` is what is typed, `label` what people read, plain text."""

    value: str
    label: str


class Haunt(Struct, frozen=True, kw_only=True):
    """Where people talk with a bot. `heard_at`: when something that was said there was last stored."""

    address: Address
    kind: ChatKind
    heard_at: datetime


class Health(Protocol):
    """Where a bot says how it is doing; any thread of the main loop."""

    def account(self, bot: BotName, account: str) -> None:
        """The platform's own id for this account, as the platform told it."""

    def up(self, bot: BotName) -> None:
        """The platform answered just now."""

    def degraded(self, bot: BotName, detail: str) -> None:
        """It does not work at the moment, and the bot goes on trying. `detail` says what to do, without secrets."""


class Desk(Protocol):
    """All that a bot sees of the core."""

    async def receive(self, batch: Sequence[Inbound]) -> tuple[Receipt, ...]:
        """Make a batch durable, in order; one receipt each. A bot awaits one batch before it offers the next.

        Raises `StoreError` when nothing was stored; the bot then tells the platform nothing and tries again.
        """

    def follow(self, row: RowId) -> AsyncIterator[TurnEvent]:
        """The live events of the turn that answers this row, from now on, ending with `TurnEnded`."""

    async def settled(self, row: RowId) -> None:
        """Return once the row has its fate and all that was queued for its chat has been handed to the bot."""

    @property
    def commands(self) -> Sequence[CommandHelp]:
        """The command table, for menus."""

    async def complete(self, principal: Principal, command: str, typed: str) -> Sequence[Choice]:
        """What the argument of a command may be for this person, best first, up to 25; nothing for strangers. Raises
        `StoreError`."""

    async def hears(self, principal: Principal) -> bool:
        """Would a command of this person be heard there? Who would not be is told nothing that `receive` does not have
        said. Raises `StoreError`."""

    async def haunts(self, bot: BotName, most: int) -> Sequence[Haunt]:
        """Where people last talked with this bot, the latest first: what a platform that redelivers nothing is asked
        for after a gap. Raises `StoreError`."""

    @property
    def oldest(self) -> datetime:
        """What was sent before then is not acted on any more."""

    async def recall(self, bot: BotName, name: str) -> str | None:
        """What the bot last wrote down under this name. Raises `StoreError`."""

    async def note(self, bot: BotName, name: str, value: str) -> None:
        """Write something down that the bot needs over restarts (a digest of what it registered): a few kilobytes at
        most, and nothing that people said. Raises `StoreError`."""

    @property
    def health(self) -> Health:
        """Where the bot says how it is doing."""

    def arrived(self, bot: BotName, chat: ChatId, kind: ChatKind) -> None:
        """Somebody can be reached again in this chat: rest of the outbox goes out."""


# -- an account, looked at without a desk ------------------------------------------------------------------------------


State = Literal["ok", "warning", "fault"]
Blamed = Literal["config", "world"]
"""Of a fault: the configuration or the machine is wrong, or somebody out there fails, maybe only just now."""


class Finding(Struct, frozen=True, kw_only=True):
    """What somebody found who looked whether all is well, in one line each."""

    what: str
    """What was looked at, as the config or a person calls it."""
    state: State
    detail: str
    do: str = ""
    """What to do about it; "" where there is nothing to do."""
    blames: Blamed = "config"


class Writer(Struct, frozen=True, kw_only=True):
    """Somebody who wrote to an account."""

    identity: str
    """As the config spells it: platform, realm if any, user id."""
    name: str
    text: str


class Probe(Protocol):
    """Looks at one configured account: the platform is asked, and nothing is taken from it or changed there."""

    async def introduce(self) -> str:
        """What people call the account on the platform, as in "@name". Raises `BotRejected` where the platform refuses
        the secrets, another `BotError` where nothing can be said."""

    async def writers(self) -> Sequence[Writer]:
        """Whoever has lately written to the account in private and was not answered yet, each once, the last one first;
        if nobody has, it waits a few seconds for somebody. What they wrote stays there for the desk, where the platform
        keeps anything. Raises `BotError`."""

    async def findings(self, *, alone: bool) -> Sequence[Finding]:
        """All that can be found out, in a fixed order, each question within about ten seconds; what is about an option
        of `[bots.NAME]` is called "[bots.NAME] OPTION". `alone`: no desk of ours receives this account's events, so
        that it may be tried whether somebody else does."""


class SecretWanted(Struct, frozen=True, kw_only=True):
    """One secret that an account needs: the option of `[bots.NAME]`, and what to call it where it is asked for."""

    option: str
    title: str
    source: str
    """Where people get it."""


class Questions(Struct, frozen=True, kw_only=True):
    """What is asked to set up an account on a platform. Everything else has its default."""

    platform: str
    """As the config spells it."""
    title: str
    secrets: Sequence[SecretWanted]
    """In the order in which they are asked for."""
    own_id: str
    """How a person finds the id that the platform knows them by."""
    offer: Sequence[str]
    """Options of `[bots.NAME]` that people change first."""
    paper: Callable[[str, Sequence[CommandHelp], str], str] | None = None
    """What is pasted on the platform's site to set the account up: (shown name, commands, address) -> text. Pure.
    `address`: where the platform reaches the bot, "" if the bot calls the platform. None where there is nothing to
    paste."""
    paste_at: str = ""
    """Where it is pasted: an address, and the clicks from there."""
