"""From commands, buttons and shortcuts to what they mean (https://docs.slack.dev/reference/interaction-payloads). Pure;
no JSON makes it raise.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Final, ParamSpec, TypeVar

from msgspec import Struct

from bots.slack import inbound, tokens
from bots.slack.inbound import Account, ident
from bots.slack.markup import PRESS
from core.fields import Json, Unreadable, get, opt, part, parts
from core.people.names import storable
from core.vocabulary import (
    Address,
    Attachment,
    ChatId,
    EventId,
    MessageId,
    Press,
    Sender,
    ThreadId,
    UserId,
)

_P = ParamSpec("_P")
_T = TypeVar("_T")
RESUME: Final = "fdr:"
"""`action_id` of a button of the Home tab; a number follows, the session is its value."""
ASK: Final = "frontdesk_ask"
"""`callback_id` of the shortcut in a message's menu."""


class Command(Struct, frozen=True, kw_only=True):
    """A slash command: `text` as a command of the table, typed in the channel `chat`. `trigger` opens one form."""

    id: MessageId
    chat: str
    sender: Sender
    text: str
    response_url: str
    trigger: str = ""

    @property
    def name(self) -> str:
        return self.text.split(maxsplit=1)[0].removeprefix("/").lower()


class Choice(Struct, frozen=True, kw_only=True):
    """The press of a button of the bot's own, with its value."""

    id: MessageId
    value: str
    sender: Sender


class Asked(Struct, frozen=True, kw_only=True):
    """Somebody hands a message on: its author, "" if not to be had, and what is in it, if we can read any of it."""

    id: MessageId
    sender: Sender
    author: str
    text: str
    attachments: tuple[Attachment, ...]
    response_url: str


class Pressed(Struct, frozen=True, kw_only=True):
    """The press of a delivery's button, with what is needed to answer it."""

    press: Press
    response_url: str
    ts: str
    text: str
    blocks: tuple[Json, ...]


def or_none(read: Callable[_P, _T]) -> Callable[_P, _T | None]:
    """None for what can't be read."""

    @functools.wraps(read)
    def reading(*args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        try:
            return read(*args, **kwargs)
        except Unreadable:
            return None

    return reading


@or_none
def command(payload: Json, us: Account, names: Mapping[str, str]) -> Command:
    """A slash command. Without a word behind it, it asks for help. It comes with a name of whoever typed it."""
    named = {ident(payload, "user_id"): opt(payload, "user_name", str) or "", **names}
    typed = tokens.readable(opt(payload, "text", str) or "", names).strip()
    trigger = get(payload, "trigger_id", str)
    return Command(
        id=MessageId(f"command-{_digest(trigger)}"),
        chat=ident(payload, "channel_id"),
        sender=sender_of(ident(payload, "user_id"), us.team, us, named),
        text=storable(f"/{typed.removeprefix('/').strip() or 'help'}"),
        response_url=opt(payload, "response_url", str) or "",
        trigger=trigger,
    )


@or_none
def choice(payload: Json, us: Account, names: Mapping[str, str]) -> Choice:
    """The press of a button of our own."""
    action, sender = _action(payload), _presser(payload, us, names)
    at = inbound.stamp(action, "action_ts")
    return Choice(id=MessageId(f"choice-{sender.user}-{at}"), value=opt(action, "value", str) or "", sender=sender)


@or_none
def pressed(payload: Json, us: Account, names: Mapping[str, str]) -> Pressed:
    """The press of a delivery's button."""
    action, sender = _action(payload), _presser(payload, us, names)
    name, at = get(action, "action_id", str), inbound.stamp(action, "action_ts")
    container, said = get(payload, "container", dict), part(payload, "message") or {}
    chat, ts = ident(container, "channel_id"), inbound.stamp(container, "message_ts")
    root = next((inbound.stamp(one, "thread_ts") for one in (container, said) if one.get("thread_ts")), None)
    thread = None if root == ts else root
    address = Address(bot=us.bot, chat=ChatId(chat), thread=ThreadId(thread) if thread is not None else None)
    press = Press(
        event=EventId(f"press:{chat}:{ts}:{_digest(name)}:{sender.user}:{at}"),
        address=address,
        kind=inbound.kind_of(address),
        sender=sender,
        data=storable(name.removeprefix(PRESS)),
        pressed_at=inbound.moment(at),
        handle=f"{chat}:{ts}:{at}",
        within=us.team,
    )
    url, text = opt(payload, "response_url", str) or "", opt(said, "text", str) or ""
    return Pressed(press=press, response_url=url, ts=ts, text=text, blocks=tuple(parts(said, "blocks")))


@or_none
def asked(payload: Json, us: Account, names: Mapping[str, str]) -> Asked:
    """The shortcut in a message's menu."""
    said, sender = get(payload, "message", dict), _presser(payload, us, names)
    author = opt(said, "user", str) or ""
    text, attachments = inbound.whole(said, us, names)
    shown = us.name if author == us.user else names.get(author, "") or opt(said, "username", str) or ""
    at = inbound.stamp(payload, "action_ts")
    return Asked(
        id=MessageId(f"asked-{sender.user}-{at}"),
        sender=sender,
        author=storable(shown),
        text=text,
        attachments=attachments,
        response_url=opt(payload, "response_url", str) or "",
    )


def is_about_own(payload: Json, us: Account) -> bool:
    """Is it a button under our message, or anything in our view? Then it is ours, whoever uses it, and wherever."""
    said, view = part(payload, "message") or {}, part(payload, "view") or {}
    is_under = payload.get("type") == "block_actions" and said.get("user") == us.user
    return is_under or (bool(us.bot_id) and view.get("bot_id") == us.bot_id)


def people(payload: Json) -> set[str]:
    """The ids of those whose names are wanted to read it."""
    found = (payload.get("user_id"), (part(payload, "user") or {}).get("id"))
    more = inbound.people(part(payload, "message") or {}) if payload.get("type") == "message_action" else set()
    text = payload.get("text")
    mentioned = tokens.named_in(text) if isinstance(text, str) else set()
    return {one for one in found if isinstance(one, str)} | more | set(sorted(mentioned)[:30])


def _action(payload: Json) -> Json:
    return next(iter(parts(payload, "actions")), {})


def _presser(payload: Json, us: Account, names: Mapping[str, str]) -> Sender:
    user = get(payload, "user", dict)
    return sender_of(ident(user, "id"), opt(user, "team_id", str), us, names)


def sender_of(user: str, team: str | None, us: Account, names: Mapping[str, str]) -> Sender:
    return Sender(user=UserId(user), name=storable(names.get(user, "")), realm=inbound.realm(team, us))


def _digest(text: str) -> str:
    """What tells two apart without giving either away: a trigger opens things for some seconds."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]
