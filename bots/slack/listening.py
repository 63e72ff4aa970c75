"""The way in, for one `run`: who we are, what was missed, what arrives."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, TypeVar

from msgspec.structs import replace

from bots.slack import forms, inbound, interactions, siblings, words
from bots.slack.catching_up import MOST_HAUNTS, CatchingUp
from bots.slack.commands import Commands, ephemeral, refused
from bots.slack.completing import Completion
from bots.slack.gates import Gates, Presence
from bots.slack.history import History, Place
from bots.slack.http import Door
from bots.slack.inbound import Account
from bots.slack.intake import Intake, NotTaken
from bots.slack.interactions import Pressed
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
from core.fields import Json, part
from core.ports import Choice, Desk, Principal, Random
from core.vocabulary import (
    Address,
    BotName,
    ChatId,
    ChatKind,
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
Ack = Callable[..., Awaitable[object]]
"""Bolt's: takes what goes out with the acknowledgement."""
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
    """`sockets.Ear` and `siblings.Sibling`, with the listeners that Bolt calls (`app`). Lives as long as `listen`."""

    def __init__(self, settings: SlackSettings, line: Line, desk: Desk, random: Random, us: Account) -> None:
        from bots.slack import app  # whoever runs a bot has imported it on a thread

        self.us = us
        self._bolt = app.Bolt(self, line.web_client())
        secret = settings.signing_secret if settings.mode == "http" else None
        self.secret = secret.reveal() if secret is not None else ""
        self.people = People(line)
        self.commands = Commands(line, self.people, us, desk)
        self._welcome = Welcome(line, desk, self._asker)
        self.presses: Recent[str, Pressed] = Recent(_MOST_PRESSES)
        self._introduce = functools.partial(introduce, line, us.bot)
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
        await Sockets(self._line, self, self._random, self._introduce).listen(self._settings.connections)

    async def _serve(self, door: Door) -> None:
        """By HTTP nothing shows that Slack is there, so it is asked now and then."""
        door.take = lambda payload: self.spawn(self.take(payload))
        waits = Backoff(self._line.clock, self._random)
        try:
            self.connected("")
            while True:
                await self._line.clock.sleep(_LOOK_S)
                await patiently(self._introduce, self._line.clock, waits, self._voice.down)
                self._voice.up()
        finally:
            door.take = None

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

    async def _release_place(self, place: Place) -> None:
        """Nothing that was said there passes what was said before, if Slack gives that."""
        try:
            await self._missed.caught_up(place)
        finally:
            self._intake.release_place(place)

    async def _learn(self) -> None:
        self._completion.know(await self._desk.haunts(self.us.bot, MOST_HAUNTS))

    # what arrives

    async def take(self, payload: Json) -> Json | None:
        owner = siblings.whose(payload, self)
        if owner is None:
            _LOG.warning("slack hands over what is another workspace's", extra={"bot": self.us.bot})
            return None
        return await owner.answer(payload)

    async def answer(self, payload: Json) -> Json | None:
        return None if self._intake.is_full() else await self._bolt.take(payload)

    def spawn(self, work: Coroutine[object, object, _T]) -> asyncio.Task[_T]:
        """Something small that ends with us."""
        task = asyncio.create_task(work)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)
        return task

    # Bolt's listeners: `body` is the payload

    async def message(self, body: Json) -> None:
        """What is said, or a channel's move: reading begins at once, and it keeps its place in the order."""
        stored = self._intake.under_way(body)
        if stored is None:
            places = _places_of(inbound.event_of(body))
            self._wait_for_the_past(places)
            stored = self._intake.take(body, self.spawn(self._completion.read(body)), places)
        await asyncio.shield(stored)

    async def home_opened(self, body: Json) -> None:
        self.spawn(self._aside(self._welcome.opened(inbound.event_of(body))))

    async def assistant_opened(self, body: Json) -> None:
        self.spawn(self._aside(self._welcome.thread_started(inbound.event_of(body))))

    async def installation_changed(self) -> None:
        self.spawn(self._aside(self._introduce()))

    async def command(self, body: Json, ack: Ack) -> None:
        """What takes a moment to be understood holds nothing up."""
        meant = await self.commands.meant(body)
        receipt = await self._stored(meant.message)
        await ack(meant.answer or refused(receipt) or "")

    async def pressed(self, body: Json, ack: Ack) -> None:
        """A delivery's button."""
        until_s = self._line.soon_s()
        pressed = interactions.pressed(body, self.us, await self._names(body, until_s))
        if pressed is not None:
            self.presses.put(pressed.press.handle, pressed)
            sender = await self.people.at_home(pressed.press.sender, self.us, until_s)
            await self._stored(replace(pressed.press, sender=sender))
        await ack()

    async def resumed(self, body: Json, ack: Ack) -> None:
        """A button of the Home tab."""
        until_s = self._line.soon_s()
        choice = interactions.choice(body, self.us, await self._names(body, until_s))
        if choice is not None:
            await self._stored(await self._direct(choice.id, choice.sender, f"/resume {choice.value}", until_s))
        await ack()

    async def answered(self, body: Json, ack: Ack) -> None:
        """The form that asks for what a command lacks was sent. What can't be done is said in its place."""
        until_s = self._line.soon_s()
        answered = forms.answered(body, self.us, await self._names(body, until_s))
        if answered is None:
            await ack(response_action="update", view=forms.told(words.FORGOTTEN))
            return
        sender = await self.people.at_home(answered.sender, self.us, until_s)
        refusal = refused(await self._stored(self.commands.chosen(replace(answered, sender=sender))))
        await (ack(response_action="update", view=forms.told(words.NOT_HERE)) if refusal else ack())

    async def options(self, body: Json, ack: Ack) -> None:
        """What a command takes, while somebody looks for it."""
        answered, choices = forms.answered(body, self.us, {}), list[Choice]()
        if answered is not None:
            sender = await self.people.at_home(answered.sender, self.us, self._line.soon_s())
            choices += await self.commands.choices(replace(answered, sender=sender))
        await ack(options=forms.options(choices))

    async def asked(self, body: Json, ack: Ack) -> None:
        """The shortcut in a message's menu. Of strangers, too, though they are told nothing here."""
        until_s = self._line.soon_s()
        heard = await self._completion.hears(self._asker((part(body, "user") or {}).get("id")))
        asked = interactions.asked(body, self.us, await self._names(body, until_s) if heard else {})
        if asked is not None:
            said, why = None, words.NOTHING_IN_IT
            if asked.text or asked.attachments:
                said, why = await self._direct(asked.id, asked.sender, asked.text, until_s), words.NOT_NOW
            if said is not None:
                quote = Quote(name=asked.author, forwarded=True)
                whole = replace(said, quote=quote, attachments=asked.attachments)
                await self._stored(await self._completion.with_files(whole, until_s))
            elif heard:
                self.spawn(self._aside(self._line.post(asked.response_url, ephemeral(why))))
        await ack()

    # what it means

    def _wait_for_the_past(self, places: Sequence[Place]) -> None:
        """What is said somewhere waits until what was missed there is here. Raises `NotTaken` if too much does."""
        place = places[0] if places else None
        if place is None or not self._missed.is_behind(place):
            return
        if self._intake.holds_enough():
            self._missed.read_again(place)
            raise NotTaken
        if self._intake.hold_place(place):
            self.spawn(self._release_place(place))

    async def _stored(self, inbound: Inbound | None) -> Receipt | None:
        """Stored after all that came before it and is read. None: there is nothing to be stored, or it was already."""
        if inbound is None:
            return None
        read: asyncio.Future[Inbound | None] = asyncio.get_running_loop().create_future()
        read.set_result(inbound)
        return await self._intake.take({}, read)

    async def _names(self, body: Json, until_s: float) -> dict[str, str]:
        return await self.people.names(interactions.people(body), until_s - _FOR_MORE_S)

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

    def _asker(self, user: object) -> Principal:
        """In private."""
        known = inbound.an_id(user)
        address = Address(bot=self.us.bot, chat=ChatId(""))
        sender = Sender(user=UserId(known) if known else None, name="", realm=self.us.realm)
        return Principal(address=address, kind=ChatKind.DIRECT, sender=sender, within=self.us.team)

    async def _aside(self, work: Awaitable[object]) -> None:
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
