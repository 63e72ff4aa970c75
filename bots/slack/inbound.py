"""From an event (https://docs.slack.dev/reference/events) to an `Inbound`. Pure; no JSON makes it raise.

A message that mentions us comes as `message` and as `app_mention`, in either order: both give the same `Message`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from bots.slack import tokens, wording
from core.fields import Json, Unreadable, get, opt, part, parts
from core.people.names import storable
from core.vocabulary import (
    Address,
    Attachment,
    BotName,
    ChatId,
    ChatKind,
    Edit,
    EventId,
    FileKind,
    Inbound,
    Malformed,
    Message,
    MessageId,
    Moved,
    Quote,
    Sender,
    ThreadId,
    UserId,
)

# https://docs.slack.dev/reference/events/message#subtypes: what is left out are joins, topics, deletions and the like
_SAID: Final = frozenset({"", "file_share", "thread_broadcast", "me_message", "bot_message"})
SPOKEN: Final = ("message", "app_mention")
MOVED: Final = "channel_id_changed"
"""https://docs.slack.dev/reference/events/channel_id_changed"""
_DIRECT: Final = frozenset({"im", "app_home"})
_TS: Final = re.compile(r"\d{1,11}\.\d{1,6}", re.ASCII)
_ID: Final = re.compile(r"[A-Za-z0-9]{1,32}", re.ASCII)
_SLACKBOT: Final = "USLACKBOT"
_GONE: Final = frozenset({"tombstone", "hidden_by_limit"})
_QUOTED: Final = 1000
"""Characters of a quote, the rest is left."""
_MOST_PEOPLE: Final = 30


class Account(Struct, frozen=True, kw_only=True):
    """Who we are on Slack, as auth.test told it. `app` is "" until Slack names it."""

    bot: BotName
    team: str
    user: str
    bot_id: str
    name: str
    app: str = ""
    enterprise: str = ""
    """The organization that the workspace is in; "" for one that is in none."""

    @property
    def realm(self) -> str:
        """Of everybody who is ours: people are the same in all workspaces of an organization
        (https://docs.slack.dev/enterprise/developing-for-enterprise-orgs)."""
        return self.enterprise or self.team


def account(bot: BotName, told: Json) -> Account | None:
    """Who auth.test says that we are; None if it does not."""
    try:
        return Account(
            bot=bot,
            team=ident(told, "team_id"),
            user=ident(told, "user_id"),
            bot_id=opt(told, "bot_id", str) or "",
            name=opt(told, "user", str) or "",
            enterprise=an_id(told.get("enterprise_id")),
        )
    except Unreadable:
        return None


def event_of(payload: object) -> Json:
    """The event in what Slack hands over; empty if there is none."""
    event = payload.get("event") if isinstance(payload, dict) else None
    return event if isinstance(event, dict) else {}


def is_ours(payload: Json, us: Account) -> bool:
    """Whether it is for this installation, as far as it tells: one app may be in several workspaces, and a channel may
    be shared."""
    told = payload.get("team_id") or (part(payload, "team") or {}).get("id")
    return told in (us.team, None) or any(one.get("user_id") == us.user for one in parts(payload, "authorizations"))


def people(event: Json) -> set[str]:
    """The ids of those, people and channels, whose names are wanted to read this event; a bounded number."""
    said = event.get("message") if event.get("subtype") == "message_changed" else event
    if not isinstance(said, dict):
        return set()
    found = sorted(tokens.named_in(wording.words(said)))[:_MOST_PEOPLE]
    return {*found, *filter(None, [an_id(said.get("user"))])}


def read(
    payload: object, us: Account, names: Mapping[str, str], bots: Collection[str] = frozenset()
) -> Inbound | None:  # fmt: skip
    """What the event means to us: None if nothing, `Malformed` if it can't be read. `names` are people's, by id; `bots`
    are the ids of those that are none."""
    event = event_of(payload)
    if not isinstance(payload, dict) or event.get("type") not in (*SPOKEN, MOVED):
        return None
    try:
        if event.get("type") == MOVED:
            return _moved(event, us)
        if event.get("subtype") == "message_changed":
            return _edit(event, us, names)
        return message(event, us, names, bots, app=opt(payload, "api_app_id", str) or us.app)
    except Unreadable as problem:
        number = payload.get("event_id")
        if not isinstance(number, str) or not _ID.fullmatch(number):
            return None
        return Malformed(event=EventId(number), address=Address(bot=us.bot, chat=ChatId("")), reason=str(problem))


def _moved(event: Json, us: Account) -> Moved:
    """A private channel was shared with another organization, and has another id for good."""
    old, new = ident(event, "old_channel_id"), ident(event, "new_channel_id")
    return Moved(event=EventId(f"moved:{old}:{new}"), address=Address(bot=us.bot, chat=ChatId(old)), to=ChatId(new))


def message(
    event: Json, us: Account, names: Mapping[str, str], bots: Collection[str] = frozenset(), *, app: str = ""
) -> Message | None:  # fmt: skip
    """A message as an event brings it, or a method that lists them (then with `channel` put in). None: not said to us,
    or by us. Raises `Unreadable`."""
    if (opt(event, "subtype", str) or "") not in _SAID or is_own(event, us, app):
        return None
    place = _place(event, us)
    words, quote = _words(event, us, names)
    attachments, elsewhere = files(_all_files(event))
    text = "\n".join(part for part in (words, *elsewhere) if part)
    if not text.strip() and not attachments:
        return None
    return Message(
        event=EventId(f"{place.address.chat}:{place.message}"),
        message=place.message,
        address=place.address,
        kind=place.kind,
        sender=_sender(event, us, names),
        text=storable(text),
        sent_at=moment(place.message),
        addressed=place.kind is ChatKind.DIRECT or place.named,
        for_another=not place.named and not tokens.people_in(wording.words(event)).isdisjoint(bots),
        within=us.team,
        attachments=attachments,
        quote=quote,
    )


def is_chatter(said: Message) -> bool:
    """Is it said among people and not to us: outside of threads, without our name, and no command?"""
    return said.kind is ChatKind.GROUP and not said.addressed and not said.text.startswith("/")


def _edit(event: Json, us: Account, names: Mapping[str, str]) -> Edit | None:
    """None for what nobody edited: an unfurled link is a change too."""
    now, before = get(event, "message", dict), opt(event, "previous_message", dict) or {}
    edited = opt(now, "edited", dict)
    if edited is None or now.get("text") == before.get("text") or (opt(now, "subtype", str) or "") not in _SAID:
        return None
    within = {**now, "channel": event.get("channel"), "channel_type": event.get("channel_type")}
    if is_own(within, us, us.app):
        return None
    place = _place(within, us)
    words, _ = _words(within, us, names)
    at = stamp(edited, "ts")
    return Edit(
        event=EventId(f"{place.address.chat}:{place.message}:{at}"),
        message=place.message,
        address=place.address,
        sender=_sender(within, us, names),
        text=storable(words),
        edited_at=moment(at),
    )


# -- where ------------------------------------------------------------------------------------------------------------


class _Place(Struct, frozen=True, kw_only=True):
    message: MessageId
    address: Address
    kind: ChatKind
    named: bool


def _place(event: Json, us: Account) -> _Place:
    """A mention at the top of a channel begins a thread."""
    channel, ts = ident(event, "channel"), MessageId(stamp(event, "ts"))
    root = stamp(event, "thread_ts") if event.get("thread_ts") is not None else None
    thread = None if root == ts else root
    named = event.get("type") == "app_mention" or tokens.mentions(wording.words(event), us.user)
    told = opt(event, "channel_type", str)
    direct = told in _DIRECT if told else channel.startswith("D")
    if not direct and thread is None and named:
        thread = ts
    kind = ChatKind.DIRECT if direct else ChatKind.THREAD if thread is not None else ChatKind.GROUP
    address = Address(
        bot=us.bot,
        chat=ChatId(channel),
        thread=ThreadId(thread) if thread is not None else None,
        reply_to=None if direct else ts,
    )
    return _Place(message=ts, address=address, kind=kind, named=named)


def kind_of(place: Address) -> ChatKind:
    """As its ids tell: where no event does."""
    if place.chat.startswith("D"):
        return ChatKind.DIRECT
    return ChatKind.GROUP if place.thread is None else ChatKind.THREAD


# -- who --------------------------------------------------------------------------------------------------------------


def is_own(event: Json, us: Account, app: str) -> bool:
    """Whether we said it, in this workspace or in another that shares the channel."""
    profile = opt(event, "bot_profile", dict) or {}
    ids = (event.get("app_id"), profile.get("app_id"))
    by_us = event.get("user") == us.user or (bool(us.bot_id) and event.get("bot_id") == us.bot_id)
    return by_us or (bool(app) and app in ids)


def _sender(event: Json, us: Account, names: Mapping[str, str]) -> Sender:
    user = ident(event, "user") if event.get("user") is not None else None
    profile = opt(event, "bot_profile", dict) or {}
    is_bot = event.get("bot_id") is not None or event.get("subtype") == "bot_message" or user == _SLACKBOT
    name = (names.get(user, "") if user else "") or opt(event, "username", str) or opt(profile, "name", str) or ""
    team = opt(event, "user_team", str) or opt(event, "team", str)
    return Sender(user=UserId(user) if user else None, name=storable(name), realm=realm(team, us), is_bot=is_bot)


def realm(team: str | None, us: Account) -> str:
    """Somebody's, as far as what is said of their team tells; `People.at_home` knows the rest."""
    return us.realm if team in (us.team, us.enterprise) else an_id(team) or us.realm


# -- what -------------------------------------------------------------------------------------------------------------


def whole(said: Json, us: Account, names: Mapping[str, str]) -> tuple[str, tuple[Attachment, ...]]:
    """All that is in a message, said to whomever: words and files, also of what was handed on with it. Raises
    `Unreadable`."""
    words = tokens.readable(wording.everything(said), {**names, us.user: us.name}).strip()
    attachments, elsewhere = files(_all_files(said))
    return storable("\n".join(part for part in (words, *elsewhere) if part)), attachments


def _words(event: Json, us: Account, names: Mapping[str, str]) -> tuple[str, Quote | None]:
    """The text without our name around it, and what was handed on with it."""
    known = {**names, us.user: us.name} if us.name else names
    opt(event, "text", str)
    own = tokens.readable(tokens.without_mention(wording.words(event), us.user), known).strip()
    shared = _shared(event)
    if shared is None:
        return own, None
    name = storable(opt(shared, "author_name", str) or "")
    handed_on = tokens.readable(wording.handed_on(shared), known).strip()
    if own:
        return own, Quote(name=name, text=storable(handed_on[:_QUOTED]))
    return handed_on, Quote(name=name, forwarded=True)


def _shared(event: Json) -> Json | None:
    """The message that is handed on with it."""
    return next((one for one in _records(event, "attachments") if one.get("is_share") is True), None)


def _all_files(said: Json) -> Sequence[Json]:
    return [*_records(said, "files"), *_records(_shared(said) or {}, "files")]


def files(listed: Iterable[Json]) -> tuple[tuple[Attachment, ...], list[str]]:
    """What can be fetched, and in words what can't: files that are kept elsewhere. Raises `Unreadable`."""
    attachments, elsewhere = [], []
    for file in listed:
        name = storable(opt(file, "name", str) or opt(file, "title", str) or "")
        if opt(file, "mode", str) in _GONE:
            continue
        if file.get("is_external") is True:
            address = opt(file, "url_private", str) or ""
            elsewhere.append(storable(f"[File: {' '.join(part for part in (name, address) if part)}]"))
            continue
        attachments.append(_attachment(file, name))
    return tuple(attachments), elsewhere


def _attachment(file: Json, name: str) -> Attachment:
    media_type, size = opt(file, "mimetype", str) or "", opt(file, "size", int)
    return Attachment(
        kind=_kind(media_type, file.get("subtype")),
        ref=ident(file, "id"),
        name=name,
        media_type=storable(media_type),
        size=size if size is not None and size >= 0 else None,
    )


def _kind(media_type: str, subtype: object) -> FileKind:
    """`slack_audio` and `slack_video` are clips recorded in Slack: https://docs.slack.dev/reference/objects/file-object."""
    match media_type.partition("/")[0]:
        case "image":
            return FileKind.IMAGE
        case "audio":
            return FileKind.VOICE if subtype == "slack_audio" else FileKind.AUDIO
        case "video":
            return FileKind.VOICE if subtype == "slack_audio" else FileKind.VIDEO
        case _:
            return FileKind.FILE


def _records(event: Json, key: str) -> Sequence[Json]:
    return [one for one in opt(event, key, list) or () if isinstance(one, dict)]


# -- reading ----------------------------------------------------------------------------------------------------------


def ident(record: Json, key: str) -> str:
    """One of Slack's ids. Raises `Unreadable`."""
    value = get(record, key, str)
    if not _ID.fullmatch(value):
        raise Unreadable(f"{key} is no id")
    return value


def an_id(value: object) -> str:
    """The id, or "" for what is none."""
    return value if isinstance(value, str) and _ID.fullmatch(value) else ""


def stamp(record: Json, key: str) -> str:
    """The timestamp that is a message's id. Raises `Unreadable`."""
    value = get(record, key, str)
    if not _TS.fullmatch(value):
        raise Unreadable(f"{key} is no timestamp")
    return value


def moment(ts: str) -> datetime:
    """When; the id of a message is the time of its sending in seconds."""
    seconds, _, fraction = ts.partition(".")
    return datetime.fromtimestamp(int(seconds), UTC).replace(microsecond=int(fraction.ljust(6, "0")))
