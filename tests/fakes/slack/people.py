"""How tests make people act. Every method is thread-safe and wakes the server."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict, Unpack
from uuid import NAMESPACE_URL, uuid5

from tests.fakes.slack.chat import erase
from tests.fakes.slack.delivery import Delivery
from tests.fakes.slack.events import audience, tell, tell_change, tell_message
from tests.fakes.slack.fileroom import mimetype_of
from tests.fakes.slack.model import Channel, File, JsonObject, Message, Person, Said, Version
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Room
from tests.fakes.slack.text import MAX_TEXT, escaped, pinged_by, rich_text, typed


class SayOptions(TypedDict, total=False):
    """`thread` is the ts of the root (or what `say` returned for it); `broadcast` shows the reply in the channel too.

    `files` come with the message. `subtype` makes it one, such as "me_message". `literal`: nothing in the text is a
    token; it is escaped as a whole. `metadata` and `extra` are further fields of the message.
    """

    thread: str | Said | None
    broadcast: bool
    files: Sequence[File]
    subtype: str | None
    literal: bool
    metadata: JsonObject | None
    extra: JsonObject


class People:
    """The acts of people and of other bots."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    def say(self, channel: Channel | str, who: Person, text: str, **options: Unpack[SayOptions]) -> Said:
        """Somebody writes. In the text <@U..>, <#C..>, <!here>, <!subteam^S..>, @here and links are what they are for
        Slack; all else is escaped. A person who is not in the channel joins first, without an event."""
        with self.platform.lock:
            room = self.platform.rooms[_id(channel)]
            if room.channel.kind in {"im", "mpim"} and who.id not in room.members:
                raise ValueError(f"{who.name} is not in this direct conversation")
            room.members.add(who.id)
            message = self.platform.keep(room, self._message(room, who, text, options))
            for file in options.get("files", ()):
                self._share(file, room)
            return _said(message, tell_message(self.platform, room, message))

    def edit(self, channel: Channel | str, ts: str | Said, text: str) -> Said:
        """The author changes a message."""
        with self.platform.lock:
            room = self.platform.rooms[_id(channel)]
            before = room.messages[_ts(ts)]
            after = self.platform.revise(room, before, self._version(text, None, literal=False))
            after = replace(after, edited_ts=self.platform.new_ts())
            room.messages[after.ts] = after
            return _said(after, tell_change(self.platform, room, before, after))

    def unfurl(self, channel: Channel | str, ts: str | Said, url: str) -> Said:
        """Slack adds a preview to a message: message_changed, though nobody edited anything."""
        with self.platform.lock:
            room = self.platform.rooms[_id(channel)]
            before = room.messages[_ts(ts)]
            after = replace(before, attachments=({"id": 1, "from_url": url, "title": "Preview", "fallback": url},))
            room.messages[after.ts] = after
            return _said(after, tell_change(self.platform, room, before, after))

    def delete(self, channel: Channel | str, ts: str | Said) -> None:
        """The author, or an admin, deletes a message: message_deleted, or a tombstone if it has replies."""
        with self.platform.lock:
            room = self.platform.rooms[_id(channel)]
            erase(self.platform, room, room.messages[_ts(ts)])
            self.platform.changed()

    def join(self, channel: Channel | str, who: Person, *, inviter: Person | None = None) -> Said:
        """Somebody joins: a channel_join message and member_joined_channel."""
        with self.platform.lock:
            room = self.platform.rooms[_id(channel)]
            room.members.add(who.id)
            text = f"<@{who.id}> has joined the channel"
            version = Version(text=text, blocks=(), metadata=None, at=self.platform.clock())
            extra: JsonObject = {} if inviter is None else {"inviter": inviter.id}
            message = self.platform.keep(
                room,
                Message(
                    channel_id=room.channel.id,
                    ts="",
                    user_id=who.id,
                    team_id=who.team_id,
                    versions=(version,),
                    subtype="channel_join",
                    extra=extra,
                ),
            )
            told = [*tell_message(self.platform, room, message), *self._tell_joined(room, who, extra)]
            return _said(message, told)

    def _tell_joined(self, room: Room, who: Person, extra: JsonObject) -> list[Delivery]:
        event: JsonObject = {
            "type": "member_joined_channel",
            "user": who.id,
            "channel": room.channel.id,
            "channel_type": "C" if room.channel.kind == "channel" else "G",
            "team": who.team_id,
            **extra,
            "event_ts": self.platform.new_ts(),
        }
        scope = "channels:read" if room.channel.kind == "channel" else "groups:read"
        told = [tell(self.platform, one, event) for one in audience(self.platform, room) if scope in one.scopes]
        return [one for one in told if one is not None]

    def leave(self, channel: Channel | str, who: Person) -> None:
        """Somebody leaves (member_left_channel), or our bot is removed (channel_left, group_left)."""
        with self.platform.lock:
            room = self.platform.rooms[_id(channel)]
            public = room.channel.kind == "channel"
            for one in audience(self.platform, room):
                mine = one.bot.user_id == who.id
                event: JsonObject = {"channel": room.channel.id, "event_ts": self.platform.new_ts()}
                if mine:
                    event |= {"type": "channel_left" if public else "group_left", "actor_id": who.id}
                else:
                    kind = "C" if public else "G"
                    event |= {"type": "member_left_channel", "user": who.id, "channel_type": kind, "team": who.team_id}
                if ("channels:read" if public else "groups:read") in one.scopes:
                    tell(self.platform, one, event)
            room.members.discard(who.id)
            self.platform.changed()

    def share_outside(self, channel: Channel | str) -> Channel:
        """A private channel is shared with another organization (Slack Connect): it has another id for good, and all
        that was said in it (https://docs.slack.dev/reference/events/channel_id_changed)."""
        with self.platform.lock:
            room = self.platform.rooms.pop(_id(channel))
            if room.channel.kind != "group":
                raise ValueError("only a private channel's id changes")
            event: JsonObject = {
                "type": "channel_id_changed",
                "old_channel_id": room.channel.id,
                "new_channel_id": (new := self.platform.new_id("C")),
                "event_ts": self.platform.new_ts(),
            }
            room.channel = replace(room.channel, id=new)
            self.platform.rooms[new] = room
            for one in audience(self.platform, room):
                if "groups:read" in one.scopes:
                    tell(self.platform, one, event)
            self.platform.changed()
            return room.channel

    def archive(self, channel: Channel | str, *, archived: bool = True) -> None:
        with self.platform.lock:
            self.platform.rooms[_id(channel)].archived = archived
            self.platform.changed()

    def file(self, who: Person, name: str, content: bytes, *, mimetype: str | None = None) -> File:
        """A file to say something with. It can be downloaded once it is shared where the bot is."""
        with self.platform.lock:
            file = File(
                id=self.platform.new_id("F"),
                team_id=who.team_id,
                user_id=who.id,
                name=name,
                title=name,
                mimetype=mimetype or mimetype_of(name),
                content=content,
                created=int(self.platform.clock()),
            )
            self.platform.files[file.id] = file
            return file

    def _share(self, file: File, room: Room) -> None:
        known = self.platform.files[file.id]
        self.platform.files[file.id] = replace(known, channel_ids=(*known.channel_ids, room.channel.id))

    def _message(self, room: Room, who: Person, text: str, options: SayOptions) -> Message:
        thread = options.get("thread")
        broadcast = options.get("broadcast", False)
        files = options.get("files", ())
        subtype = options.get("subtype")
        if subtype is None and (files or broadcast):
            subtype = "file_share" if files else "thread_broadcast"
        ts = self.platform.new_ts()
        return Message(
            channel_id=room.channel.id,
            ts=ts,
            user_id=who.id,
            team_id=who.team_id,
            versions=(self._version(text, options.get("metadata"), literal=options.get("literal", False)),),
            thread_ts=None if thread is None else _ts(thread),
            broadcast=broadcast,
            subtype=subtype,
            file_ids=tuple(file.id for file in files),
            bot_id=who.bot_id,
            app_id=who.app_id,
            username=who.name if subtype == "bot_message" else None,
            client_msg_id=None if who.is_bot else str(uuid5(NAMESPACE_URL, ts)),
            extra=options.get("extra", {}),
        )

    def _version(self, text: str, metadata: JsonObject | None, *, literal: bool) -> Version:
        shown = escaped(text) if literal else typed(text, self.platform.channel_name)
        return Version(
            text=shown[:MAX_TEXT],
            blocks=(rich_text(shown, self.platform.new_id("b")[-5:]),) if shown else (),
            metadata=metadata,
            at=self.platform.clock(),
            pings=pinged_by(shown),
        )


def _id(channel: Channel | str) -> str:
    return channel if isinstance(channel, str) else channel.id


def _ts(said: str | Said) -> str:
    return said if isinstance(said, str) else said.ts


def _said(message: Message, told: list[Delivery]) -> Said:
    return Said(channel_id=message.channel_id, ts=message.ts, event_ids=tuple(one.event_id for one in told))
