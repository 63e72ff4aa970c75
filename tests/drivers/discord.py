"""People on Discord's test server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Generic, TypeVar

from config.bots import DiscordSettings
from config.secret import Secret
from core.vocabulary import BotName
from tests.clock import ShiftedClock
from tests.drivers.driver import Button, Driver, Hits, Person, Place, Saying, Shown, Stored
from tests.fakes.discord import Channel, DiscordServer, GatewayRules, Message, ThreadedDiscordServer, User
from tests.fakes.discord.acts import SayOptions
from tests.fakes.discord.drafts import MOST_CONTENT
from tests.fakes.discord.interaction_state import AUTOCOMPLETE
from tests.fakes.discord.model import VOICE_MESSAGE, objects

S = TypeVar("S", DiscordServer, ThreadedDiscordServer)

NAME: Final = BotName("discord")
_ASK: Final = "Ask about this"


def discord_server(clock: Callable[[], float] | None = None) -> ThreadedDiscordServer:
    """A process that was killed may identify again at once."""
    rules = GatewayRules(identify_every_s=0.0)
    if clock is None:
        return ThreadedDiscordServer(gateway=rules)
    return ThreadedDiscordServer(gateway=rules, wall_clock=clock)


def settings_for(server: DiscordServer | ThreadedDiscordServer, **more: object) -> DiscordSettings:
    """Of a bot in the test's own process."""
    account = {"name": NAME, "token": Secret(server.token), "api_base": server.api_base}
    return DiscordSettings.model_validate({**account, **more}, strict=False)


class DiscordDriver(Driver, Generic[S]):
    """Everybody is in two guilds: one that is listed, as a whole or by its channels, and one that is not."""

    name = NAME
    keeps_messages = False
    full_chars = MOST_CONTENT

    server: S

    def __init__(self, server: S, more: str = "", shifted: ShiftedClock | None = None) -> None:
        super().__init__(more, shifted)
        self.server = server
        self.guild = server.guild("Team")
        self._unlisted = server.guild("Theirs")
        self._users: dict[str, User] = {}
        self._channels: dict[str, Channel] = {}
        self._eve = server.person("eve")
        self._elsewhere: Channel | None = None

    def user(self, who: Person) -> User:
        return self._users[who.id]

    def channel(self, place: Place) -> Channel:
        """A thread is a channel."""
        return self._channels[place.thread or place.chat]

    @property
    def account(self) -> Mapping[str, object]:
        server = self.server
        return {"token": server.token, "api_base": server.api_base, "gateway_url": server.gateway_url}

    @property
    def account_id(self) -> str:
        return str(self.server.bot.id)

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.server.token,)

    # who is there, and where

    def person(self, name: str, *, robot: bool = False) -> Person:
        return self.joined(self.server.person(name.lower(), is_bot=robot))

    def joined(self, user: User) -> Person:
        """Whoever shares a guild with the bot can be written to."""
        self._users[str(user.id)] = user
        for guild in (self.guild, self._unlisted):
            self.server.join(guild, user)
        return Person(id=str(user.id), identity=f"discord:{user.id}")

    def rename(self, who: Person, name: str) -> None:
        self._users[who.id] = self.server.rename(self._users[who.id], name.lower(), name)

    def mention(self, who: Person | None = None) -> str:
        return f"<@{self.server.bot.id if who is None else who.id}>"

    def direct(self, who: Person) -> Place:
        return self._place(self.server.dm(self._users[who.id]))

    def group(self, people: Sequence[Person], *, listed: bool = True) -> Place:
        guild = self.guild if listed else self._unlisted
        place = self._place(self.server.channel(guild, f"room-{next(self._numbers)}"))
        self.listed += [place.chat] if listed else []
        return place

    def thread(self, people: Sequence[Person], *, root: str | None = " ") -> Place:
        place = self.group(people)
        thread = self.server.thread(self.channel(place), self._users[people[0].id])
        self._channels[str(thread.id)] = thread
        return replace(place, thread=str(thread.id))

    def list_guild(self) -> None:
        """All channels of the listed guild are, by one id."""
        self.listed = [str(self.guild.id)]

    def _place(self, channel: Channel) -> Place:
        self._channels[str(channel.id)] = channel
        return Place(chat=str(channel.id), group=channel.guild_id is not None)

    # what people do

    def say(self, place: Place, who: Person, saying: Saying) -> str:
        if saying.apart:
            self._move_clock()
        channel, user = self.channel(place), self.user(who)
        if saying.voice:
            return str(self.server.say_aloud(channel, user, saying.voice).id)
        text, options = self._named(place, saying), SayOptions()
        if saying.reply:
            options["reply_to"] = self.server.sent(channel)[-1]
        if saying.forwarded:
            options["forward"], text = self._said_elsewhere(text), ""
        if saying.files:
            options["files"] = list(saying.files.items())
        if saying.thing == "sticker":
            options["stickers"], text = [f"👍 {text}"], ""
        return str(self.server.say(channel, user, text, **options).id)

    def _said_elsewhere(self, text: str) -> Message:
        """To a bot that never connects, so that it reaches nobody."""
        if self._elsewhere is None:
            self._elsewhere = self.server.dm(self._eve, self.server.account("deaf"))
        return self.server.say(self._elsewhere, self._eve, text)

    def _named(self, place: Place, saying: Saying) -> str:
        return f"{self.mention()} {saying.text}" if saying.named and place.group else saying.text

    def say_as_nobody(self, place: Place, manner: str, who: Person, text: str) -> None:
        name = self.user(who).username if manner == "impostor" else "Hook"
        self.server.say_by_webhook(self.channel(place), name, self._named(place, Saying(text=text, named=True)))

    def tell_again(self, place: Place, message: str) -> None:
        self.server.tell_again(self.server.message(int(message)))

    def edit(self, place: Place, message: str, text: str) -> None:
        self.server.edit(self.server.message(int(message)), text)

    def press(self, place: Place, who: Person, button: Button) -> None:
        self.server.press(self.user(who), int(button.message), button.data, check=False)

    def forged(self, place: Place, button: Button) -> Button:
        return replace(button, message=self.shown(place)[-1].id)

    def pick(self, place: Place, who: Person, command: str) -> None:
        self.server.command(self.user(who), self.channel(place), command)

    def ask_about(self, place: Place, who: Person, message: str, question: str) -> None:
        asked = self.server.use_message_menu(self.user(who), self.server.message(int(message)), _ASK)
        self.until(lambda: asked.acknowledged, timeout_s=60.0)
        if asked.modal is not None:
            [row] = objects(asked.modal["components"])
            [entry] = objects(row["components"])
            self.server.submit(asked, {str(entry["custom_id"]): question})

    def look(self, place: Place, who: Person, what: str) -> None:
        [argument] = next(objects(one["options"]) for one in self.server.commands() if one["name"] == what)
        self.server.autocomplete(self.user(who), self.channel(place), what, str(argument["name"]), "")

    def react(self, place: Place, who: Person) -> None:
        self.server.react(self.server.sent(self.channel(place))[-1], self.user(who), "👍")

    def come_and_go(self, place: Place, who: Person) -> None:
        guild = self.guild if self.channel(place).guild_id == self.guild.id else self._unlisted
        self.server.leave(guild, self.user(who))
        self.server.join(guild, self.user(who))

    # what people see

    def shown(self, place: Place) -> list[Shown]:
        return [_shown(one) for one in self._sent(place) if not one.ephemeral]

    def _sent(self, place: Place) -> list[Message]:
        rooms = {place.chat, place.thread} - {""}
        found = [one for room in rooms for one in self.server.sent(int(room)) if not one.deleted]
        return sorted(found, key=lambda one: one.id)

    def told(self, place: Place, who: Person) -> list[str]:
        rooms = (place.chat, place.thread)
        return [one.content for one in self.server.whispers(self.user(who)) if str(one.channel_id) in rooms]

    def whispered(self, place: Place) -> list[str]:
        return [one.content for one in self._sent(place) if one.ephemeral and one.content]

    def choices(self, place: Place, who: Person, what: str) -> Sequence[str] | None:
        here = self.channel(place).id, int(who.id)
        found = [one for one in self.server.interactions if (one.channel_id, one.user_id) == here]
        looks = [one for one in found if one.type == AUTOCOMPLETE and one.acknowledged]
        return [str(choice["value"]) for choice in looks[-1].choices] if looks else None

    def seconds_of(self, place: Place, message: str) -> float:
        """https://docs.discord.com/developers/reference#snowflakes: milliseconds, 22 bits up."""
        return (int(message) >> 22) / 1000

    # what the bot did

    def connected(self) -> bool:
        return self.server.connected() and bool(self.server.commands())

    def handed_over(self, said: Stored, stored: Callable[[], Stored]) -> bool:
        """Nothing is handed over twice, so that what counts is what was stored."""
        return set(said) <= set(stored())

    @property
    def presses_waiting(self) -> int:
        return len(self.server.unacknowledged)

    def fetched(self, place: Place) -> int:
        rooms = {place.chat, place.thread} - {""}
        downloads = self.server.calls_of("download")
        return sum(any(f"/attachments/{room}/" in call.path for room in rooms) for call in downloads)

    @property
    def uploads(self) -> int:
        return sum("attachments" in call.body for call in self.server.calls_of("create_message"))

    def signs(self, place: Place) -> int:
        return sum(str(one.channel_id) in (place.chat, place.thread) for one in self.server.typings)

    @property
    def violations(self) -> tuple[object, ...]:
        return self.server.problems

    # what goes wrong

    def flood(self, place: Place, seconds: int, *, edits: bool = False, after: int = 0) -> None:
        route, channel = "edit_message" if edits else "create_message", self.channel(place).id
        self.server.limit(route, float(seconds), scope="shared", channel_id=channel, after=after)

    def refuse_next(self) -> None:
        self.server.answer_error("create_message", 400, 50035, "Invalid Form Body")

    def close(self, place: Place, who: Person) -> None:
        self.server.close_door(self.user(who))

    def drop_next(self, *, applied: bool) -> Sequence[Hits]:
        return [self.server.drop("create_message", applied=applied)]

    def fail(self) -> None:
        self.server.answer("*", 503, b"upstream connect error", count=None)

    def lose_files(self, place: Place) -> None:
        for one in self.server.messages(self.channel(place)):
            if one.author != self.server.bot:
                self.server.delete(one)

    def revoke(self) -> None:
        self.server.revoke(self.server.bot)

    def mend(self, place: Place, who: Person) -> None:
        self.server.clear_faults()
        self.server.open_door(self.user(who))


def _shown(message: Message) -> Shown:
    return Shown(
        id=str(message.id),
        thread="",
        text=message.content,
        files=tuple((file.filename, file.content) for file in message.now.attachments),
        buttons=tuple(
            Button(label=label, message=str(message.id), data=data) for data, label in message.buttons.items()
        ),
        spoken=bool(message.flags & VOICE_MESSAGE),
    )
