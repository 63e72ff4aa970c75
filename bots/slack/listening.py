"""The way in, for one `run`: who we are, what was missed, what arrives."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar

from bots.slack import inbound, interactions, siblings, words
from bots.slack.catching_up import MOST_HAUNTS, CatchingUp
from bots.slack.commands import Commands, ephemeral, refused
from bots.slack.completing import Completion
from bots.slack.envelopes import Envelope
from bots.slack.gates import Gates, Presence
from bots.slack.history import History, Place
from bots.slack.http import Door
from bots.slack.inbound import Account
from bots.slack.intake import Intake, Reading
from bots.slack.interactions import RESUME, Asked, Choice, Pressed
from bots.slack.line import Line
from bots.slack.people import People
from bots.slack.recent import Recent
from bots.slack.sockets import Sockets
from bots.slack.voice import Voice
from bots.slack.waits import patiently
from bots.slack.welcome import Welcome
from config.bots import SlackSettings
from core.backoff import Backoff
from core.errors import BotError, StoreError, Unknown
from core.fields import Json
from core.ports import Desk, Principal, Random
from core.vocabulary import (
    Address,
    BotName,
    ChatId,
    ChatKind,
    Edit,
    EventId,
    Inbound,
    Message,
    MessageId,
    Quote,
    Receipt,
    Sender,
    UserId,
)

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")
_HELD_S: Final = 2.0
"""What arrives waits so long for all of the past, in real seconds, and Slack waits for us; and then for that of its own
place alone."""
_NOTICE_S: Final = 1.0
"""When a call breaks off because the connection is lost, the sockets show it within so many real seconds."""
_LOOK_S: Final = 300.0
"""How often it is asked whether the token still holds, where no socket tells."""
_MISSING: Final = "Slack does not give all that was said while nobody listened; it is asked again"
_FOR_MORE_S: Final = 1.0
"""Of the time for a press that is left when a name is looked up that one can do without."""
_MOST_PRESSES: Final = 256


class Listener:
    """`sockets.Ear` and `siblings.Sibling`. Lives as long as its `listen`."""

    def __init__(self, settings: SlackSettings, line: Line, desk: Desk, random: Random, us: Account) -> None:
        self.us = us
        secret = settings.signing_secret if settings.mode == "http" else None
        self.secret = secret.reveal() if secret is not None else ""
        self.people = People(line)
        self.commands = Commands(line, self.people, us, desk)
        self._welcome = Welcome(line, desk, self._asker)
        self.presses: Recent[str, Pressed] = Recent(_MOST_PRESSES)
        self._settings = settings
        self._line = line
        self._desk = desk
        self._random = random
        self._voice = Voice(us.bot, desk.health)
        self._intake = Intake(desk, self._voice, line.clock, Backoff(line.clock, random))
        self._intake.on_room = self._catch_up
        self._presence = Presence(_NOTICE_S)
        history = History(Gates(line, random, self._presence), self.people, lambda: self.us)
        waits = Backoff(line.clock, random)
        self._missed = CatchingUp(us.bot, desk, self._intake, history, line.clock, waits)
        self._completion = Completion(line, self.people, desk, lambda: self.us)
        self._missed.on_haunts = self._completion.know
        self._missed.on_missing = lambda missing: self._voice.missing(_MISSING if missing else "")
        self._missed.completed = self._completion.completed
        self._spawned: set[asyncio.Task[object]] = set()
        self._away_since: datetime | None = None
        self._away = True
        self._held: set[Place] = set()

    async def listen(self, door: Door | None) -> None:
        """Until cancelled. Raises `BotRejected`."""
        self._intake.hold(self._settings.catch_up > 0)
        try:
            with siblings.listening(self):
                await self._listen(door)
        except ExceptionGroup as faults:
            raise faults.exceptions[0] from None
        finally:
            for task in self._spawned:
                task.cancel()
            await asyncio.gather(*self._spawned, return_exceptions=True)

    async def _listen(self, door: Door | None) -> None:
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self._watch_refusal())
            parts.create_task(self._intake.run())
            if self._settings.catch_up > 0:
                parts.create_task(self._missed.run(self._settings.catch_up, self._settings.groups))
            parts.create_task(self._serve(door) if door is not None else self._listen_to_sockets())

    async def _watch_refusal(self) -> None:
        await asyncio.shield(self._line.refused)

    async def _listen_to_sockets(self) -> None:
        look = functools.partial(introduce, self._line, self.us.bot)
        await Sockets(self._line, self, self._random, look).listen(self._settings.connections)

    async def _serve(self, door: Door) -> None:
        """By HTTP nothing shows that Slack is there, so it is asked now and then."""
        door.hear = self.hear
        waits = Backoff(self._line.clock, self._random)
        try:
            self.connected("")
            while True:
                await self._line.clock.sleep(_LOOK_S)
                look = functools.partial(introduce, self._line, self.us.bot)
                await patiently(look, self._line.clock, waits, self._voice.down)
                self._voice.up()
        finally:
            door.hear = None

    # being there or not

    def connected(self, app: str) -> None:
        if app and app != self.us.app:
            self.us = replace(self.us, app=app)
        self._voice.up()
        self._presence.came()
        if self._away:
            self._away = False
            self._catch_up(self._away_since)

    def cut_off(self, detail: str) -> None:
        self._voice.down(detail)
        self._presence.went()
        if not self._away:
            self._away, self._away_since = True, self._line.clock.now()
            self._intake.hold(self._settings.catch_up > 0)

    def _catch_up(self, since: datetime | None) -> None:
        if self._settings.catch_up > 0:
            self._missed.gap(since)
            self.spawn(self._hold_for_a_moment())
        else:
            self.spawn(self._aside(self._learn()))

    async def _hold_for_a_moment(self) -> None:
        """What was missed comes first, and in one order, if it is to be had soon."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_HELD_S):
                await self._missed.done()
        self._intake.hold(False)

    async def _hold_place(self, place: Place) -> None:
        """Nothing that was said there passes what was said before, if Slack gives that."""
        try:
            await self._missed.caught_up(place)
        finally:
            self._held.discard(place)
            self._intake.hold_place(place, False)

    async def _learn(self) -> None:
        self._completion.know(await self._desk.haunts(self.us.bot, MOST_HAUNTS))

    # what arrives

    def hear(self, envelope: Envelope) -> None:
        """Reading begins at once; what is an event keeps its place in the order."""
        owner = siblings.whose(envelope, self)
        if owner is None:
            _LOG.warning("slack hands over what is another workspace's", extra={"bot": self.us.bot})
        elif owner is not self:
            owner.hear(envelope)
        elif not self._intake.has(envelope):
            self._hear(envelope)

    def _hear(self, envelope: Envelope) -> None:
        if envelope.kind != "event":
            self.spawn(self._read_in_passing(envelope))
            return
        places = _places_of(inbound.event_of(envelope.payload))
        place = places[0] if places else None
        if place is not None and self._missed.is_behind(place):
            if self._intake.holds_enough():
                self._missed.read_again(place)
                return
            if place not in self._held:
                self._held.add(place)
                self._intake.hold_place(place, True)
                self.spawn(self._hold_place(place))
        self._intake.hear(envelope, self.spawn(self._read_event(envelope.payload)), places)

    async def _read_in_passing(self, envelope: Envelope) -> None:
        """What takes a moment to be understood holds nothing up."""
        read = self._read_command if envelope.kind == "command" else self._read_interaction
        done: asyncio.Future[Reading] = asyncio.get_running_loop().create_future()
        done.set_result(await read(envelope.payload))
        self._intake.hear(envelope, done)

    def spawn(self, work: Coroutine[object, object, _T]) -> asyncio.Task[_T]:
        """Something small that ends with us."""
        task = asyncio.create_task(work)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)
        return task

    async def _read_event(self, payload: Json) -> Reading:
        event = inbound.event_of(payload)
        match event.get("type"):
            case "app_home_opened":
                self.spawn(self._aside(self._welcome.opened(event)))
            case "assistant_thread_started":
                self.spawn(self._aside(self._welcome.thread_started(event)))
            case "app_uninstalled" | "tokens_revoked":
                self.spawn(self._aside(self._look_again()))
            case "channel_id_changed":
                return Reading(inbound=inbound.read(payload, self.us, {}))
            case "message" | "app_mention":
                return Reading(inbound=await self._read_said(payload))
            case _:
                pass
        return Reading()

    async def _read_said(self, payload: Json) -> Inbound | None:
        """Of what the desk would drop nothing is looked up."""
        said = inbound.read(payload, self.us, {})
        if not isinstance(said, Message | Edit) or (isinstance(said, Message) and inbound.is_chatter(said)):
            return said
        said = replace(said, sender=await self.people.at_home(said.sender, self.us))
        if not await self._may_be_heard(said):
            return said
        people = inbound.people(inbound.event_of(payload))
        names = await self.people.names(people)
        named = inbound.read(payload, self.us, names, self.people.bots(people))
        if isinstance(named, Edit):
            return replace(named, sender=await self.people.at_home(named.sender, self.us))
        return await self._completion.completed(named) if isinstance(named, Message) else named

    async def _may_be_heard(self, said: Message | Edit) -> bool:
        """In private also of strangers: whoever lets them in is to see a name."""
        if said.address.chat.startswith("D"):
            return True
        asker = Principal(address=said.address, kind=ChatKind.GROUP, sender=said.sender, within=self.us.team)
        return await self._hears(asker)

    async def _read_command(self, payload: Json) -> Reading:
        if "ssl_check" in payload:  # Slack looks whether somebody is there
            return Reading()
        meant = await self.commands.meant(payload)
        return Reading(inbound=meant.message, answer=lambda receipt: meant.answer or refused(receipt))

    async def _read_interaction(self, payload: Json) -> Reading:
        until_s = self._line.soon_s()
        handed_on = payload.get("type") == "message_action"
        user = payload.get("user")
        who = str(user.get("id") or "") if isinstance(user, dict) else ""
        known = not handed_on or await self._hears(self._asker(who))
        names = await self.people.names(interactions.people(payload), until_s - _FOR_MORE_S) if known else {}
        match interactions.interaction(payload, self.us, names):
            case Pressed() as pressed:
                self.presses.put(pressed.press.handle, pressed)
                sender = await self.people.at_home(pressed.press.sender, self.us, until_s)
                return Reading(inbound=replace(pressed.press, sender=sender))
            case Choice() as choice if choice.action.startswith(RESUME):
                resume = f"/resume {choice.value}"
                return Reading(inbound=await self._direct(choice.id, choice.sender, resume, until_s))
            case Choice() as choice:
                return self._choose(choice)
            case Asked() as asked:
                return await self._ask(asked, until_s, heard=known)
            case _:
                return Reading()

    async def _ask(self, asked: Asked, until_s: float, *, heard: bool) -> Reading:
        """Strangers, too, though they are told nothing here."""
        said, why = None, words.NOTHING_IN_IT
        if asked.text or asked.attachments:
            said, why = await self._direct(asked.id, asked.sender, asked.text, until_s), words.NOT_NOW
        if said is None:
            if heard:
                self.spawn(self._aside(self._line.post(asked.response_url, ephemeral(why))))
            return Reading()
        whole = replace(said, quote=Quote(name=asked.author, forwarded=True), attachments=asked.attachments)
        return Reading(inbound=await self._completion.with_files(whole, until_s))

    def _choose(self, choice: Choice) -> Reading:
        said = self.commands.chosen(choice)
        if said is None:
            self.spawn(self._aside(self._line.post(choice.response_url, ephemeral(words.FORGOTTEN))))
            return Reading()

        def over(receipt: Receipt | None) -> Json | None:
            words_for = refused(receipt)
            self.spawn(self._aside(self._line.post(choice.response_url, words_for or {"delete_original": True})))
            return None

        return Reading(inbound=said, answer=over)

    async def _direct(self, said: MessageId, sender: Sender, text: str, until_s: float) -> Message | None:
        """As if the person had written it to us; None where that is not possible now."""
        try:
            async with self._line.aside(until_s):
                chat = await self.people.direct(str(sender.user))
        except (BotError, TimeoutError) as trouble:
            why = str(trouble) or "no answer in time"
            _LOG.warning("slack names no direct chat", extra={"bot": self.us.bot, "why": why})
            return None
        return Message(
            event=EventId(said), message=said, address=Address(bot=self.us.bot, chat=ChatId(chat)),
            kind=ChatKind.DIRECT, sender=await self.people.at_home(sender, self.us, until_s), text=text,
            sent_at=self._line.clock.now(), addressed=True, within=self.us.team,
        )  # fmt: skip

    # who asks

    async def _hears(self, asker: Principal) -> bool:
        """Also where the store can't say: a name may be looked up in vain."""
        try:
            return await self._desk.hears(asker)
        except StoreError:
            return True

    def _asker(self, user: str) -> Principal:
        """In private."""
        known = inbound.an_id(user)
        address = Address(bot=self.us.bot, chat=ChatId(""))
        sender = Sender(user=UserId(known) if known else None, name="", realm=self.us.realm)
        return Principal(address=address, kind=ChatKind.DIRECT, sender=sender, within=self.us.team)

    async def _look_again(self) -> None:
        await introduce(self._line, self.us.bot)

    async def _aside(self, work: Awaitable[None]) -> None:
        """What nobody misses if it fails."""
        try:
            await work
        except (BotError, StoreError) as trouble:
            _LOG.warning("slack was not shown something", extra={"bot": self.us.bot, "why": str(trouble)})


def _places_of(event: Json) -> Sequence[Place]:
    """Where a message stands, and the thread that it may begin; none for what is no message."""
    said = event.get("message") if event.get("subtype") == "message_changed" else event
    chat, message = event.get("channel"), said if isinstance(said, dict) else {}
    if not isinstance(chat, str) or event.get("type") not in inbound.SPOKEN:
        return ()
    ts, root = message.get("ts"), message.get("thread_ts")
    if isinstance(root, str) and root != ts:
        return (Place(chat=chat, thread=root),)
    begun = (Place(chat=chat, thread=ts),) if isinstance(ts, str) else ()
    return (Place(chat=chat), *begun)


async def introduce(line: Line, bot: BotName) -> Account:
    """Ask Slack who we are. Raises `BotError`."""
    us = inbound.account(bot, await line.call("auth.test", {}))
    if us is None:
        raise Unknown("Slack does not say who this bot is")
    return us
