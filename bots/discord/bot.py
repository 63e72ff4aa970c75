"""One Discord account: log in, listen on the gateway, stop.

Events come raw over the gateway (`gateway`), are read (`inbound`, `interactions`) and stored in order (`intake`); what
was said while nobody listened is fetched (`catching_up`). What goes out is made in `outbound` and sent in `line`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeVar

from msgspec.structs import replace

from bots.discord import markup, menu, outbound
from bots.discord.catching_up import CatchingUp, Gap
from bots.discord.errands import together
from bots.discord.gateway import Ear, Seat, Shard, ShardsChanged, Turnstile
from bots.discord.http import PATIENCE, Gateway, Http, Patience, connected
from bots.discord.inbound import Us
from bots.discord.inquiries import Inquiries
from bots.discord.intake import Intake
from bots.discord.kept import Kept
from bots.discord.line import Line
from bots.discord.places import UPLOAD_BYTES, Places
from bots.discord.reading import one_line, snowflake
from bots.discord.replies import Replies
from bots.discord.settling import Settling
from bots.discord.threads import Threads
from bots.discord.trouble import MISSING_PERMISSIONS, DeadChat, Refusal, in_our_words
from bots.discord.voice import Voice
from config.bots import DiscordSettings
from core.backoff import Backoff
from core.errors import BotError, BotRejected, ChatDead, FloodWait, NotSent, Rejected, StoreError, ThreadGone, Unknown
from core.fields import Json, Unreadable, opt
from core.ports import Clock, Desk, Random
from core.vocabulary import Address, Attachment, BotName, Capabilities, ChatId, Delivery, MessageId, Press, UserId

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")

_WAIT_S: Final = (2.0, 60.0)
_MENU_WAIT_S: Final = (30.0, 600.0)
_SALT: Final = "nonce"
_SALT_CHARACTERS: Final = 24
_MESSAGES: Final = ("MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE")
_AWAY: Final = "not connected to Discord"
_SHARDS: Final = "shards"
_JUST_AS_MANY: Final = (
    "and recommends just as many: check api_base and gateway_url of this bot, or ask Discord's support"
)


class DiscordBot:
    """`ports.Bot` with `CanEdit`, `CanType`, `CanReact`, `CanFetch`, `LimitsUploads`, `AnswersPresses` and
    `KnowsAdmins`. It sends while `run` runs, else it raises `NotSent`."""

    platform: Final = "discord"

    def __init__(
        self, name: BotName, *, settings: DiscordSettings, clock: Clock, random: Random, patience: Patience = PATIENCE
    ) -> None:
        self._name = name
        self._settings = settings
        self._clock = clock
        self._random = random
        self._patience = patience
        self._line: Line | None = None
        self._begun: dict[int, float] = {}

    @property
    def name(self) -> BotName:
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        return outbound.CAPABILITIES if self._settings.stream else replace(outbound.CAPABILITIES, edit_interval_s=None)

    def parts(self, text: str) -> tuple[str, ...]:
        return markup.parts(text)

    async def run(self, desk: Desk) -> None:
        voice = Voice(self._name, desk.health)
        waits, refused = Backoff(self._clock, self._random), 0
        while True:
            try:
                async with connected(self._settings, self._clock, self._patience) as http:
                    await self._serve(desk, http, voice, waits)
            except ShardsChanged as change:
                again = bool(waits.failures) and change.shards == refused
                refused = change.shards
                voice.only(_SHARDS, f"{change} {_JUST_AS_MANY}" if again else str(change))
                await self._clock.sleep(waits.next_s(*_WAIT_S))
            except BotRejected:
                raise
            except (BotError, StoreError) as trouble:
                wait_s = trouble.wait_s if isinstance(trouble, FloodWait) else waits.next_s(*_WAIT_S)
                voice.trouble("login", _words(trouble))
                _LOG.warning("discord is waited for", extra={"bot": self._name, "wait_s": round(wait_s, 1)})
                await self._clock.sleep(wait_s)

    async def _serve(self, desk: Desk, http: Http, voice: Voice, waits: Backoff) -> None:
        """Until something fails that needs a new connection to the API, or the account is refused."""
        with in_our_words():
            us = _us(self._name, await http.login(self._settings.token.reveal()), await http.application())
            gateway = await http.gateway()
        salt = await self._salt(desk)
        voice.account(us.id)
        voice.well_again("login")
        places = Places()
        replies = Replies(http, us.application, Kept(desk, self._name), self._clock)
        await replies.load()
        inquiries = Inquiries(
            http,
            places,
            replies,
            Threads(http, places, each_question=self._settings.auto_thread),
            {one.name: one for one in desk.commands},
        )
        intake = Intake(us, desk, inquiries, voice, self._waits())
        catching_up = CatchingUp(us, http, desk, intake, inquiries)
        ear = _Ear(intake, catching_up, places, _Standing(voice, waits, gateway.shards))
        line = Line(http, inquiries, Settling(inquiries, us.id, self._clock), salt)
        self._line = line
        try:
            await together(
                line.watch(),
                intake.run(),
                catching_up.run(self._settings.catch_up, self._waits()),
                self._register(desk, http, us),
                *(shard.keep() for shard in self._shards(http, gateway, ear)),
            )
        finally:
            self._line = None

    def _shards(self, http: Http, gateway: Gateway, ear: Ear) -> list[Shard]:
        turnstile = Turnstile(http, gateway, self._clock, self._begun)
        seats = [Seat(number, gateway.shards, http, ear, self._patience) for number in range(gateway.shards)]
        return [Shard(seat, gateway.url, turnstile, self._waits()) for seat in seats]

    def _waits(self) -> Backoff:
        return Backoff(self._clock, self._random)

    async def _salt(self, desk: Desk) -> str:
        """What makes this desk's nonces differ from another's with the same account. Raises `StoreError`."""
        salt = await desk.recall(self._name, _SALT)
        if not salt:
            salt = self._random.token(_SALT_CHARACTERS)
            await desk.note(self._name, _SALT, salt)
        return salt

    async def _register(self, desk: Desk, http: Http, us: Us) -> None:
        """The command table, where Discord has another one."""
        waits = self._waits()
        wanted = menu.payload(desk.commands)
        while True:
            try:
                await _agree(http, wanted, us)
            except (Rejected, ChatDead) as refusal:
                _LOG.warning("discord takes no commands", extra={"bot": self._name, "why": str(refusal)})
                return
            except BotRejected:
                raise
            except BotError as trouble:
                wait_s = trouble.wait_s if isinstance(trouble, FloodWait) else waits.next_s(*_MENU_WAIT_S)
                await self._clock.sleep(wait_s)
            else:
                return

    # what the desk asks

    async def send(self, delivery: Delivery) -> MessageId:
        return await self._say(lambda line: line.send(delivery), delivery.address, files=bool(delivery.files))

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        await self._say(lambda line: line.edit(delivery, message), delivery.address)

    async def typing(self, address: Address) -> None:
        await self._say(lambda line: line.typing(address), address)

    async def react(self, address: Address, message: MessageId, emoji: str) -> None:
        await self._say(lambda line: line.react(address, message, emoji), address)

    async def answer(self, press: Press, text: str, *, over: bool) -> None:
        await self._say(lambda line: line.answer(press, text, over=over), press.address)

    async def is_admin(self, chat: ChatId, user: UserId) -> bool:
        return await self._say(lambda line: line.is_admin(chat, user), Address(bot=self._name, chat=chat))

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        if self._line is None:
            raise NotSent(_AWAY)
        try:
            async for piece in self._line.fetch(attachment):
                yield piece
        except (Refusal, DeadChat) as refusal:
            raise Rejected(str(refusal)) from None

    def upload_limit(self, address: Address) -> int:
        return self._line.upload_limit(address) if self._line is not None else UPLOAD_BYTES

    async def _say(self, act: Callable[[Line], Awaitable[_T]], address: Address, *, files: bool = False) -> _T:
        line = self._line
        if line is None:
            raise NotSent(_AWAY)
        try:
            return await act(line)
        except BotRejected as refusal:  # it ends `run`, where it says what to fix; the delivery can wait
            line.refuse(refusal)
            raise NotSent(str(refusal)) from None
        except (Refusal, DeadChat) as refusal:
            if line.may_leave(address, refusal):
                raise ThreadGone(str(refusal)) from None
            # A thread that is gone, or a channel without files, leaves the rest of the chat alive.
            fileless = files and refusal.code == MISSING_PERMISSIONS
            if isinstance(refusal, Refusal) or address.thread is not None or fileless:
                raise Rejected(str(refusal)) from None
            raise ChatDead(str(refusal)) from None


class _Ear(Ear):
    """Hands each event to whom it concerns."""

    def __init__(self, intake: Intake, catching_up: CatchingUp, places: Places, standing: _Standing) -> None:
        super().__init__(self._heard, (*_MESSAGES, *places.events))
        self._intake = intake
        self._catching_up = catching_up
        self._places = places
        self._standing = standing

    def _heard(self, event: str, data: object, shard: int) -> None:
        if event == "READY":
            self._catching_up.gap(Gap(shard=shard, count=self._standing.shards))
        elif event in _MESSAGES:
            self._intake.hear(event, data)
        elif event != "RESUMED":
            self._places.note(event, data)

    def up(self, shard: int) -> None:
        self._standing.up(shard)

    def down(self, shard: int, why: str, wait_s: float) -> None:
        self._standing.down(shard, why, wait_s)


class _Standing:
    """Which shards are up, and what is said of that."""

    def __init__(self, voice: Voice, waits: Backoff, shards: int) -> None:
        self.shards = shards
        self._voice = voice
        self._waits = waits
        self._up: set[int] = set()

    def up(self, shard: int) -> None:
        if shard not in self._up:
            self._up.add(shard)
            self._voice.well_again(_subject(shard))
            if len(self._up) == self.shards:
                self._voice.well_again(_SHARDS)
                self._waits.failures = 0
        if len(self._up) == self.shards:
            self._voice.heard()

    def down(self, shard: int, why: str, wait_s: float) -> None:
        self._up.discard(shard)
        self._voice.trouble(_subject(shard), f"{why}; tried again in {wait_s:.0f} s" if wait_s >= 1 else why)


def _subject(shard: int) -> str:
    return f"gateway {shard}"


def _words(trouble: BotError | StoreError) -> str:
    return "the store can't be read" if isinstance(trouble, StoreError) else str(trouble)


async def _agree(http: Http, wanted: list[dict[str, object]], us: Us) -> None:
    """Raises `BotError`."""
    path = "/applications/{application_id}/commands"
    with in_our_words():
        found = await http.call("GET", path, application_id=us.application)
        if not menu.is_registered(wanted, found):
            await http.call("PUT", path, wanted, application_id=us.application)


def _us(name: BotName, me: Json, application: Json) -> Us:
    try:
        called = one_line(opt(me, "global_name", str) or opt(me, "username", str) or "")
        return Us(bot=name, id=snowflake(me, "id"), name=called, application=snowflake(application, "id"))
    except Unreadable:
        raise Unknown("what answers there is not Discord: it does not say who this bot is") from None
