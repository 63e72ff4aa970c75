"""What is for us. Pure: what it must know of the store comes in with the call."""

from __future__ import annotations

from msgspec import Struct

from core.delivery.split import is_blank
from core.desk.commands.table import parse
from core.people.access import EVERY_GROUP, Access
from core.store.people import Role
from core.vocabulary import ChatId, ChatKind, Message


class Pass(Struct, frozen=True, kw_only=True):
    role: Role


class Drop(Struct, frozen=True, kw_only=True):
    """Ignored, for this reason."""

    reason: str


class Stranger(Struct, frozen=True, kw_only=True):
    """Not let in, and told at most a pairing code."""


Decision = Pass | Drop | Stranger


class Known(Struct, frozen=True, kw_only=True):
    """What the store knows: the sender's role, None for a stranger; whether the thread is one that we talk in; all ids
    that the chat had. `loops`: bots have been heard too often in a row."""

    role: Role | None
    ours: bool = False
    chats: frozenset[ChatId] = frozenset()
    loops: bool = False


def judge(message: Message, access: Access, known: Known) -> Decision:
    """A sender without a user id is never a person. In a group a command of ours needs no name: where there are several
    bots, platforms put the name into what people pick from a menu."""
    role = known.role
    if message.sender.is_bot and (not access.allow_bots or message.kind is ChatKind.DIRECT or not message.addressed):
        return Drop(reason="bot")
    if message.sender.is_bot and known.loops:
        return Drop(reason="bot_loop")
    if message.sender.user is None:
        return Drop(reason="not_a_person")
    if role is Role.BLOCKED:
        return Drop(reason="blocked")
    if is_blank(message.text) and not message.attachments:
        return Drop(reason="empty")
    return _direct(access, role) if message.kind is ChatKind.DIRECT else _group(message, access, known)


def _direct(access: Access, role: Role | None) -> Decision:
    if access.direct == "off":
        return Drop(reason="direct_off")
    if role is not None:
        return Pass(role=role)
    match access.direct:
        case "open":
            return Pass(role=Role.GUEST)
        case "pairing":
            return Stranger()
        case "allow":
            return Drop(reason="not_allowed")


def _group(message: Message, access: Access, known: Known) -> Decision:
    if not is_listed(message, access, known.chats):
        return Drop(reason="group_not_listed")
    if not message.addressed and (message.for_another or not (known.ours or _is_order(message))):
        return Drop(reason="not_addressed")
    return Pass(role=known.role or Role.GUEST)


def is_listed(message: Message, access: Access, chats: frozenset[ChatId] = frozenset()) -> bool:
    """Is the group one where the bot may answer? By its id, by one that it had before, or by what it is part of."""
    names = {message.address.chat, ChatId(message.within), EVERY_GROUP, *chats}
    return not access.groups.isdisjoint(names)


def _is_order(message: Message) -> bool:
    """A command, typed by the sender."""
    parsed = parse(message.text)
    handed_on = message.quote is not None and message.quote.forwarded
    return parsed is not None and parsed.command is not None and not handed_on
