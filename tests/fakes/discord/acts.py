"""What people, other bots and webhooks say. Every method is thread-safe and wakes who waits."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from tests.fakes.discord.drafts import content_type_of
from tests.fakes.discord.events import tell_of_typing
from tests.fakes.discord.marks import react, unreact
from tests.fakes.discord.mentions import REGULAR, mentioned
from tests.fakes.discord.messages import change, post, remove
from tests.fakes.discord.model import (
    HAS_SNAPSHOT,
    VOICE_MESSAGE,
    Attachment,
    Channel,
    JsonObject,
    Message,
    User,
    Version,
)
from tests.fakes.discord.places import Places
from tests.fakes.discord.platform import Room
from tests.fakes.discord.threads import open_thread
from tests.fakes.discord.wire import snapshot_json


class SayOptions(TypedDict, total=False):
    """`ping`: whether a reply notifies the one replied to (it does by default). `files`: names and contents.

    `forward`: the message goes on into this channel, as a snapshot. `extra` holds further fields of the object.
    """

    reply_to: Message
    ping: bool
    files: Sequence[tuple[str, bytes]]
    stickers: Sequence[str]
    forward: Message
    embeds: Sequence[JsonObject]
    nonce: str
    type: int
    extra: JsonObject


class Acts(Places):
    """What is said, changed, deleted, and marked."""

    def say(self, channel: Channel, user: User, text: str = "", **options: Unpack[SayOptions]) -> Message:
        """Somebody writes. Mentions are written as clients send them: <@id>, <@&id>, @everyone."""
        with self.platform.lock:
            room = self.platform.rooms[channel.id]
            replied = options.get("reply_to")
            allowed = replace(REGULAR, replied_user=options.get("ping", True))
            counted = mentioned(self.platform, room, user.id, [text], allowed, replied)
            version = Version(
                content=text,
                embeds=tuple(options.get("embeds", ())),
                attachments=tuple(self._file(name, content) for name, content in options.get("files", ())),
                at=self.platform.clock(),
            )
            message = Message(
                id=self.platform.new_id(),
                channel_id=room.id,
                guild_id=room.guild_id,
                author=self.platform.users[user.id],
                date=self.platform.date(),
                versions=(version,),
                type=options.get("type", 0 if replied is None else 19),
                mentions=counted,
                pinged=counted.pinged,
                nonce=options.get("nonce"),
                stickers=tuple(self._sticker(name) for name in options.get("stickers", ())),
                extra=options.get("extra", {}),
            )
            if room.thread is not None and room.thread.archived:
                self.unarchive(channel)
            return post(self.platform, self._pointing(message, options))

    def _pointing(self, message: Message, options: SayOptions) -> Message:
        """The message with what it replies to or forwards."""
        target = options.get("forward") or options.get("reply_to")
        if target is None:
            return message
        forward = "forward" in options
        reference: JsonObject = {"type": int(forward), "message_id": str(target.id)}
        reference["channel_id"] = str(target.channel_id)
        if target.guild_id is not None:
            reference["guild_id"] = str(target.guild_id)
        if not forward:
            return replace(message, reference=reference)
        known = self.platform.find_message(target.id) or target
        snapshots = (snapshot_json(self.platform, known),)
        return replace(message, reference=reference, snapshots=snapshots, flags=message.flags | HAS_SNAPSHOT)

    def say_aloud(self, channel: Channel, user: User, sound: bytes, *, seconds: float = 2.0) -> Message:
        """A voice message."""
        with self.platform.lock:
            extra: JsonObject = {"duration_secs": seconds, "waveform": "AAAA", "title": "Voice message"}
            attachment = replace(self._file("voice-message.ogg", sound), extra=extra)
            version = Version(content="", attachments=(attachment,), at=self.platform.clock())
            room = self.platform.rooms[channel.id]
            message = Message(
                id=self.platform.new_id(),
                channel_id=room.id,
                guild_id=room.guild_id,
                author=self.platform.users[user.id],
                date=self.platform.date(),
                versions=(version,),
                flags=VOICE_MESSAGE,
            )
            return post(self.platform, message)

    def say_by_webhook(self, channel: Channel, name: str, text: str) -> Message:
        """A webhook that is nobody's application."""
        with self.platform.lock:
            room = self.platform.rooms[channel.id]
            hook = User(id=self.platform.new_id(), username=name, is_bot=True)
            message = Message(
                id=self.platform.new_id(),
                channel_id=room.id,
                guild_id=room.guild_id,
                author=hook,
                date=self.platform.date(),
                versions=(Version(content=text, at=self.platform.clock()),),
                webhook_id=hook.id,
            )
            return post(self.platform, message)

    def post(self, forum: Channel, user: User, title: str, text: str) -> tuple[Channel, Message]:
        """A post in a forum: a thread and its first message, which has the thread's id."""
        with self.platform.lock:
            room = open_thread(self.platform, self.platform.rooms[forum.id], user.id, title)
            first = self._first(room, user, text)
            return self._handle(room), first

    def _first(self, room: Room, user: User, text: str) -> Message:
        counted = mentioned(self.platform, room, user.id, [text], REGULAR, None)
        message = Message(
            id=room.id,
            channel_id=room.id,
            guild_id=room.guild_id,
            author=self.platform.users[user.id],
            date=self.platform.date(),
            versions=(Version(content=text, at=self.platform.clock()),),
            mentions=counted,
            pinged=counted.pinged,
        )
        return post(self.platform, message)

    def edit(self, message: Message, text: str) -> Message:
        """The author changes what was said."""
        with self.platform.lock:
            found = self.platform.rooms[message.channel_id].messages[message.id]
            room = self.platform.rooms[found.channel_id]
            replied = room.messages.get(found.reply_to or 0)
            counted = mentioned(self.platform, room, found.author.id, [text], REGULAR, replied)
            version = replace(found.now, content=text, at=self.platform.clock())
            versions = (*found.versions, version)
            return change(
                self.platform, replace(found, versions=versions, edited=self.platform.date(), mentions=counted)
            )

    def unfurl(self, message: Message, embed: JsonObject) -> Message:
        """Discord adds a preview to a message: MESSAGE_UPDATE without an edit."""
        with self.platform.lock:
            found = self.platform.rooms[message.channel_id].messages[message.id]
            version = replace(found.now, embeds=(*found.now.embeds, embed))
            return change(self.platform, replace(found, versions=(*found.versions[:-1], version)))

    def delete(self, message: Message) -> None:
        with self.platform.lock:
            remove(self.platform, self.platform.rooms[message.channel_id].messages[message.id])

    def type_in(self, channel: Channel, user: User) -> None:
        """Somebody begins to write: TYPING_START."""
        with self.platform.lock:
            tell_of_typing(self.platform, self.platform.rooms[channel.id], user.id)

    def react(self, message: Message, user: User, emoji: str) -> None:
        with self.platform.lock:
            react(self.platform, self.platform.rooms[message.channel_id].messages[message.id], user.id, emoji)

    def unreact(self, message: Message, user: User, emoji: str) -> None:
        with self.platform.lock:
            unreact(self.platform, self.platform.rooms[message.channel_id].messages[message.id], user.id, emoji)

    def _file(self, name: str, content: bytes) -> Attachment:
        return Attachment(id=self.platform.new_id(), filename=name, content=content, content_type=content_type_of(name))

    def _sticker(self, name: str) -> JsonObject:
        return {"id": str(self.platform.new_id()), "name": name, "format_type": 1}
