"""From what Discord says of a message to an `Inbound`. Pure; no JSON makes it raise.

https://docs.discord.com/developers/resources/message. The same object comes over the gateway and out of a channel's
history, so both are read here, and both give the same ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from bots.discord.files import brought, handed, told
from bots.discord.mentions import Known, marks_of, names_us, readable
from bots.discord.places import FORUMS, OPENS_THREADS, Place, Places
from bots.discord.reading import made_at, one_line, snowflake, time
from bots.discord.sdk import discord
from core.fields import Json, Unreadable, get, objects, opt
from core.people.names import storable
from core.vocabulary import (
    Address,
    Attachment,
    BotName,
    ChatId,
    ChatKind,
    Edit,
    EventId,
    Malformed,
    Message,
    MessageId,
    Quote,
    Sender,
    ThreadId,
    UserId,
)

_SAID: Final = frozenset({discord.MessageType.default.value, discord.MessageType.reply.value})
"""What people say, and replies; the other types are the platform's own words (joins, pins, boosts) and answers to
commands: https://docs.discord.com/developers/resources/message#message-object-message-types."""
_FORWARD: Final = discord.MessageReferenceType.forward.value
_MOST_QUOTED: Final = 1_000
# A message has 2,000 characters at most without Nitro; who has more to say sends the rest in another.
_FULL_FROM: Final = 2_000 - 100


class Us(Struct, frozen=True, kw_only=True):
    """Who we are on Discord."""

    bot: BotName
    id: str
    name: str
    application: str


class Scene(Struct, frozen=True, kw_only=True):
    """Where something is said, and what is known around it."""

    place: Place
    places: Places
    auto_thread: bool = False

    def channel_name(self, channel: str) -> str | None:
        return self.places.channel_name(channel)

    def role_name(self, role: str) -> str | None:
        known = self.places.role(self.place.guild, role)
        return known.name or None if known is not None else None

    def is_ours(self, role: str, us: Us) -> bool:
        known = self.places.role(self.place.guild, role)
        return known is not None and known.of_bot == us.id


def channel_of(data: object) -> str | None:
    """Where a message stands, None if it does not say."""
    try:
        return snowflake(data, "channel_id") if isinstance(data, dict) else None
    except Unreadable:
        return None


def message(data: object, us: Us, scene: Scene) -> Message | Malformed | None:
    """What a new message means to us: None if nothing, `Malformed` if it can't be read."""
    if not isinstance(data, dict):
        return None
    try:
        return _message(data, us, scene)
    except Unreadable as problem:
        return _malformed(data, us, str(problem))


def edit(data: object, us: Us, scene: Scene) -> Edit | Malformed | None:
    """What a changed message means to us. Previews, pins and threads are told of as changes too: those are None."""
    if not isinstance(data, dict):
        return None
    try:
        if data.get("edited_timestamp") is None:
            return None
        said = _message(data, us, scene)
        if said is None:
            return None
        return Edit(
            event=EventId(f"{said.message}/{get(data, 'edited_timestamp', str)}"),
            message=said.message,
            address=said.address,
            sender=said.sender,
            text=said.text,
            edited_at=time(data, "edited_timestamp"),
        )
    except Unreadable as problem:
        return _malformed(data, us, str(problem), "/edited")


def address(us: Us, place: Place, message_id: str | None) -> tuple[Address, ChatKind]:
    """Where an answer to something that was said there goes. In a direct chat nothing needs to be pointed at."""
    reply_to = MessageId(message_id) if message_id is not None else None
    if place.guild is None:
        return Address(bot=us.bot, chat=ChatId(place.id)), ChatKind.DIRECT
    if place.is_thread and place.parent is not None:
        thread = Address(bot=us.bot, chat=ChatId(place.parent), thread=ThreadId(place.id), reply_to=reply_to)
        return thread, ChatKind.THREAD
    return Address(bot=us.bot, chat=ChatId(place.id), reply_to=reply_to), ChatKind.GROUP


def sender(author: Json, member: Json | None, *, webhook: bool = False) -> Sender:
    """Who spoke: the id tells, names are for people to read."""
    return Sender(
        user=UserId(snowflake(author, "id")),
        name=_name(author, member),
        is_bot=webhook or (opt(author, "bot", bool) or False),
    )


def quoted(earlier: Json, us: Us, scene: Scene) -> Quote:
    """What a message refers to, as it reads."""
    author = get(earlier, "author", dict)
    files = (f"[File: {file.name}]" for file in brought(earlier))
    shown = "\n".join(line for line in (*_reads(earlier, us, scene), *files) if line)
    own = author.get("id") == us.id
    return Quote(name=us.name if own else _name(author, None), text=shown[:_MOST_QUOTED], own=own)


def _message(data: Json, us: Us, scene: Scene) -> Message | None:
    """None for what nobody said to us: our own words, the platform's, and what is empty."""
    author = get(data, "author", dict)
    if snowflake(author, "id") == us.id or opt(data, "type", int) not in _SAID:
        return None
    body = _body(data, us, scene)
    if not body.text and not body.files:
        return None
    message_id = snowflake(data, "id")
    to_us = _to_us(data, us, scene)
    where, kind = _address(us, scene, message_id, to_us=to_us)
    return Message(
        event=EventId(message_id),
        message=MessageId(message_id),
        address=where,
        kind=kind,
        sender=sender(author, opt(data, "member", dict), webhook=data.get("webhook_id") is not None),
        text=body.text,
        sent_at=made_at(message_id),
        addressed=to_us or kind is ChatKind.DIRECT,
        for_another=not to_us and _names_another(data, us),
        within=scene.place.guild or "",
        attachments=body.files,
        quote=body.quote,
        more_likely=len(opt(data, "content", str) or "") >= _FULL_FROM,
    )


def _address(us: Us, scene: Scene, message_id: str, *, to_us: bool) -> tuple[Address, ChatKind]:
    """With a thread for each question, the question's thread has the question's id, before it is there."""
    place = scene.place
    if scene.auto_thread and to_us and place.guild is not None and place.type in OPENS_THREADS:
        return Address(bot=us.bot, chat=ChatId(place.id), thread=ThreadId(message_id)), ChatKind.THREAD
    return address(us, place, message_id)


class _Body(Struct, frozen=True, kw_only=True):
    text: str
    files: tuple[Attachment, ...]
    quote: Quote | None


def _body(data: Json, us: Us, scene: Scene) -> _Body:
    """What is said, be it the message's own words or those of one that it hands on."""
    lines = (_title(data, scene), *_reads(data, us, scene))
    text = "\n".join(line for line in lines if line)
    return _Body(text=text, files=tuple(brought(data)), quote=_quote(data, us, scene))


def _reads(said: Json, us: Us, scene: Scene) -> Iterator[str]:
    """A message as people read it, with those that it hands on."""
    for one in handed(said):
        known = _known(one, us, scene)
        yield from (readable(part, known) for part in told(one))


def _title(data: Json, scene: Scene) -> str:
    """The first message of a post in a forum has the post's id; the title is part of what is said."""
    place = scene.place
    return place.name if place.is_thread and place.parent_type in FORUMS and data.get("id") == place.id else ""


def _quote(data: Json, us: Us, scene: Scene) -> Quote | None:
    reference = opt(data, "message_reference", dict) or {}
    if opt(reference, "type", int) == _FORWARD:
        channel = opt(reference, "channel_id", str)
        name = scene.channel_name(channel) if channel is not None else None
        return Quote(name=f"#{name}" if name else "", forwarded=True)
    earlier = opt(data, "referenced_message", dict)
    return quoted(earlier, us, scene) if earlier is not None else None


def _to_us(data: Json, us: Us, scene: Scene) -> bool:
    """Our bot is mentioned in the text or replied to. Discord's own list of mentions also has whom a reply pings."""
    earlier = opt(data, "referenced_message", dict)
    author = opt(earlier, "author", dict) if earlier is not None else None
    if author is not None and author.get("id") == us.id:
        return True
    return names_us(opt(data, "content", str) or "", _known(data, us, scene))


def _names_another(data: Json, us: Us) -> bool:
    """Another bot is mentioned, or replied to."""
    return any(user.get("bot") is True and user.get("id") != us.id for user in objects(data, "mentions"))


def _known(data: Json, us: Us, scene: Scene) -> Known:
    roles = [role for role in opt(data, "mention_roles", list) or () if isinstance(role, str)]
    return Known(
        users={**_users(data), us.id: us.name},
        names=scene,
        ours=marks_of(us.id, (role for role in roles if scene.is_ours(role, us))),
    )


def _users(data: Json) -> Mapping[str, str]:
    return {snowflake(user, "id"): _name(user, opt(user, "member", dict)) for user in objects(data, "mentions")}


def _name(user: Json, member: Json | None) -> str:
    nick = opt(member, "nick", str) if member is not None else None
    return one_line(nick or opt(user, "global_name", str) or opt(user, "username", str) or "")


def _malformed(data: Json, us: Us, reason: str, suffix: str = "") -> Malformed | None:
    """What has no id can't be stored once."""
    try:
        event = EventId(snowflake(data, "id") + suffix)
    except Unreadable:
        return None
    return Malformed(event=event, address=Address(bot=us.bot, chat=ChatId("")), reason=storable(reason))
