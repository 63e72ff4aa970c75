"""An event as the inbox row that it becomes. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from core.desk import keys
from core.desk.client_tools import tools_text
from core.desk.coalesce import Ref, stopped_turn
from core.desk.commands.table import UNKNOWN, parse
from core.desk.offering import Tokens
from core.people.access import Access
from core.people.names import one_line, storable
from core.store.enclosures import enclosed_of
from core.store.inbox import Arrival, Lane
from core.vocabulary import Address, ChatKind, Inbound, Message, RowId


class Offer(Struct, frozen=True, kw_only=True):
    """One event on its way into the store. `code` makes a code if it turns out to be a stranger's, `person` the id of a
    person who is let in, `button` that of a button. `loops`: bots were heard too often in a row there."""

    inbound: Inbound
    account: str
    platform: str
    access: Access
    code: Callable[[], str]
    person: Callable[[], str]
    button: Tokens | None = None
    loops: bool = False


def message_key(address: Address, message: str) -> str:
    return f"m:{keys.encode(address.chat)}:{message}"


def bare_of(offer: Offer, event: str, address: Address, at: datetime) -> Arrival:
    return Arrival(
        account=offer.account,
        dedupe=f"e:{event}",
        message=None,
        address=address,
        kind=ChatKind.DIRECT,
        identity=None,
        name="",
        role="",
        text="",
        lane=Lane.NONE,
        command=None,
        more_likely=False,
        sent_at=at,
    )


def arrival_of(offer: Offer, message: Message, identity: str | None) -> Arrival:
    text = storable(message.text)
    handed_on = message.quote is not None and message.quote.forwarded  # somebody else's words command nothing
    lane, command = (
        (Lane.ORDERED, None) if handed_on else _lane(text, named=message.addressed or message.kind is ChatKind.DIRECT)
    )
    return Arrival(
        account=offer.account,
        dedupe=message_key(message.address, message.message),
        message=message.message,
        address=message.address,
        kind=message.kind,
        identity=identity,
        name=one_line(message.sender.name),
        role="",
        text=text,
        lane=lane,
        command=command,
        more_likely=message.more_likely,
        sent_at=message.sent_at,
        tools=tools_text(message.tools),
        enclosed=enclosed_of(message),
    )


def nameless(arrival: Arrival) -> Arrival:
    """What is kept of an event that is not for us: that it came, and where."""
    return replace(arrival, identity=None, name="")


def _lane(text: str, *, named: bool) -> tuple[Lane, str | None]:
    """An unknown command is named as such where it is for us by name or place; else it is left to the agent."""
    parsed = parse(text)
    if parsed is None:
        return Lane.ORDERED, None
    if parsed.command is not None:
        return parsed.command.lane, parsed.command.name
    return (Lane.INSTANT, UNKNOWN) if named else (Lane.ORDERED, None)


def ref_of(row: RowId, arrival: Arrival, now: datetime) -> Ref:
    return Ref(
        id=row,
        command=arrival.command,
        identity=arrival.identity or "",
        name=arrival.name,
        role=arrival.role,
        address=_reply_address(arrival),
        kind=arrival.kind,
        message=arrival.message,
        more_likely=arrival.more_likely,
        sent_at=arrival.sent_at,
        received_at=now,
        turn=stopped_turn(arrival.command, arrival.text),
        brings=bool(arrival.enclosed.files),
    )


def _reply_address(arrival: Arrival) -> Address:
    """An answer names the message that it answers; whether people see that is for the way out."""
    return replace(arrival.address, reply_to=arrival.message)
