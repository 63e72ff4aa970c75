"""The access table's Discord."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tests.crash.daemon import until
from tests.fakes.discord import Call, Channel, GatewayRules, Message, ThreadedDiscordServer, User
from tests.fakes.discord.acts import SayOptions
from tests.fakes.discord.interaction_state import AUTOCOMPLETE
from tests.fakes.discord.model import objects
from tests.fakes.telegram.images import png
from tests.wire.access_stage import Room, Saying, Stage, Who

_ASK: Final = "Ask about this"
_SOUND: Final = b"OggS" + bytes(60)


class DiscordStage(Stage):
    """A listed server and one that is not. What a thread is in is a channel of its own."""

    platform = "discord"

    def __init__(self, server: ThreadedDiscordServer) -> None:
        self.server = server
        self._users: dict[str, User] = {}
        self._channels: dict[str, Channel] = {}
        self._eve = server.person("eve")
        self._ours = server.guild("Ours", [self._eve])
        self._theirs = server.guild("Theirs")
        self.listed = [str(self._ours.id)]

    def table(self) -> dict[str, object]:
        server = self.server
        return {"token": server.token, "api_base": server.api_base, "gateway_url": server.gateway_url}

    def person(self, name: str, *, robot: bool = False) -> Who:
        user = self.server.person(name, is_bot=robot)
        self._users[str(user.id)] = user
        for guild in (self._ours, self._theirs):
            self.server.join(guild, user)
        return Who(id=str(user.id), identity=f"discord:{user.id}")

    def rename(self, who: Who, name: str) -> None:
        self._users[who.id] = self.server.rename(self._users[who.id], name.lower(), name)

    def room(self, place: str, who: Who, host: Who) -> Room:
        if place == "direct":
            channel = self.server.dm(self._users[who.id])
        else:
            guild = self._theirs if place == "unlisted" else self._ours
            channel = self.server.channel(guild, f"room-{len(self._channels)}")
        self._channels[str(channel.id)] = channel
        thread = ""
        if place in ("ours", "other"):
            opened = self.server.thread(channel, self._users[host.id])
            thread = str(opened.id)
            self._channels[thread] = opened
        return Room(chat=str(channel.id), thread=thread, group=place != "direct")

    def direct(self, who: Who) -> Room:
        channel = self.server.dm(self._users[who.id])
        self._channels[str(channel.id)] = channel
        return Room(chat=str(channel.id), group=False)

    def connected(self) -> bool:
        return self.server.connected() and bool(self.server.commands())

    def say(self, room: Room, who: Who, saying: Saying) -> str:
        channel, user = self._here(room), self._users[who.id]
        text = self._named(room, saying)
        if saying.thing == "voice":
            return str(self.server.say_aloud(channel, user, _SOUND).id)
        options: SayOptions = {}
        if saying.reply:
            options["reply_to"] = self.server.sent(channel)[-1]
        if saying.handed_on:
            told = self.server.say(self.server.dm(self._eve, self._deaf()), self._eve, text)
            options["forward"], text = told, ""
        if saying.thing == "photo":
            options["files"] = [("photo.png", png(90, 60))]
        elif saying.thing == "file":
            options["files"] = [("notes.txt", b"notes")]
        elif saying.thing == "sound":
            options["files"] = [("song.ogg", _SOUND)]
        elif saying.thing == "sticker":
            options["stickers"], text = [f"👍 {text}"], ""
        return str(self.server.say(channel, user, text, **options).id)

    def _deaf(self) -> User:
        """A bot that never connects: what is said to it reaches nobody."""
        if "deaf" not in self._users:
            self._users["deaf"] = self.server.account("deaf")
        return self._users["deaf"]

    def _here(self, room: Room) -> Channel:
        return self._channels[room.thread or room.chat]

    def _named(self, room: Room, saying: Saying) -> str:
        return f"<@{self.server.bot.id}> {saying.text}" if saying.named and room.group else saying.text

    def edit(self, room: Room, message: str, text: str) -> None:
        self.server.edit(self.server.message(int(message)), f"<@{self.server.bot.id}> {text}")

    def pick(self, room: Room, who: Who, command: str) -> None:
        self.server.command(self._users[who.id], self._here(room), command)

    def ask_about(self, room: Room, who: Who, message: str, question: str) -> None:
        asked = self.server.use_message_menu(self._users[who.id], self.server.message(int(message)), _ASK)
        until(lambda: asked.acknowledged, "the menu is answered")
        if asked.modal is not None:
            [row] = objects(asked.modal["components"])
            [field] = objects(row["components"])
            self.server.submit(asked, {str(field["custom_id"]): question})

    def look(self, room: Room, who: Who, what: str) -> None:
        command = what.rpartition("/")[2]
        [argument] = next(objects(one["options"]) for one in self.server.commands() if one["name"] == command)
        self.server.autocomplete(self._users[who.id], self._here(room), command, str(argument["name"]), "")

    def shown(self, room: Room, who: Who, what: str) -> Sequence[str] | None:
        place = self._here(room).id, int(who.id)
        found = [one for one in self.server.interactions if (one.channel_id, one.user_id) == place]
        looks = [one for one in found if one.type == AUTOCOMPLETE and one.acknowledged]
        return [str(choice["value"]) for choice in looks[-1].choices] if looks else None

    def button(self, room: Room, label: str, within: str = "") -> bool:
        return bool(self._with_button(room, label, within))

    def _with_button(self, room: Room, label: str, within: str) -> list[tuple[Message, str]]:
        said = [one for one in self.server.sent(self._here(room)) if within in one.content]
        return [(one, name) for one in said for name, shown in one.buttons.items() if shown == label]

    def press(self, room: Room, who: Who, label: str, within: str = "") -> None:
        message, name = self._with_button(room, label, within)[-1]
        self.server.press(self._users[who.id], message, name)

    def say_as_nobody(self, room: Room, manner: str, who: Who, text: str) -> None:
        name = self._users[who.id].username if manner == "impostor" else "Hook"
        self.server.say_by_webhook(self._here(room), name, self._named(room, Saying(text=text, named=True)))

    def come_and_go(self, room: Room, who: Who) -> None:
        guild = self._ours if self._here(room).guild_id == self._ours.id else self._theirs
        self.server.leave(guild, self._users[who.id])
        self.server.join(guild, self._users[who.id])

    def put_out_and_in(self, room: Room, who: Who) -> None:
        raise NotImplementedError

    def react(self, room: Room, who: Who) -> None:
        self.server.react(self.server.sent(self._here(room))[-1], self._users[who.id], "👍")

    def said(self, room: Room) -> Sequence[str]:
        names = {room.chat, room.thread} - {""}
        return [_shown(one) for name in sorted(names) for one in self.server.sent(int(name)) if _is_public(one)]

    def whispered(self, room: Room) -> Sequence[str]:
        names = {room.chat, room.thread} - {""}
        found = [one for name in sorted(names) for one in self.server.sent(int(name)) if one.ephemeral]
        return [_shown(one) for one in found if not one.deleted and _shown(one)]

    def fetched(self, room: Room) -> int:
        names = {room.chat, room.thread} - {""}
        return sum(any(f"/attachments/{name}/" in call.path for name in names) for call in self._downloads)

    @property
    def _downloads(self) -> Sequence[Call]:
        return self.server.calls_of("download")

    def signs(self, room: Room) -> int:
        return sum(str(one.channel_id) in (room.chat, room.thread) for one in self.server.typings)

    @property
    def problems(self) -> Sequence[object]:
        return self.server.problems


def _is_public(message: Message) -> bool:
    return not message.deleted and not message.ephemeral


def _shown(message: Message) -> str:
    return message.content or " ".join(one.filename for one in message.now.attachments)


@contextmanager
def discord() -> Iterator[DiscordStage]:
    with ThreadedDiscordServer(limits=None, gateway=GatewayRules(identify_every_s=0.0)) as server:
        yield DiscordStage(server)
