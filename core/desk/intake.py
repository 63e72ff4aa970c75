"""Intake: a batch of events becomes durable rows with receipts, in one commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from core.delivery.split import is_blank
from core.desk import gate, keys
from core.desk.client_tools import tools_text
from core.desk.coalesce import Ref, ref_of
from core.desk.commands.table import UNKNOWN, parse
from core.desk.gate import Decision, Drop, Pass, Stranger
from core.desk.house import House
from core.people.access import Access, identity_of
from core.people.names import one_line, storable
from core.service.notices import Notices
from core.store import conversations, deliveries, inbox, people
from core.store.conversations import ConversationId
from core.store.deliveries import Posted
from core.store.inbox import Arrival, Fate, Lane
from core.store.people import Known, Pairing
from core.store.sql import Tx
from core.vocabulary import (
    Address,
    BotName,
    ChatKind,
    Edit,
    Inbound,
    Malformed,
    Message,
    Moved,
    Press,
    Receipt,
    RowId,
    Verdict,
)

PAIRING_LIFE = timedelta(hours=1)
MOST_PAIRINGS = 200
"""Codes that wait at once; more strangers than that are not answered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """One event on its way into the store. `code` makes a code if it turns out to be a stranger's."""

    inbound: Inbound
    account: str
    platform: str
    access: Access
    code: Callable[[], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """A row that waits for somebody."""

    ref: Ref
    lane: Lane
    conversation: ConversationId | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """`strangers`: (name, code) of those who were given a code just now."""

    receipts: tuple[Receipt, ...]
    strangers: tuple[tuple[str, str], ...]
    taken: tuple[Taken, ...]
    posted: tuple[Posted, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What intake goes by."""

    limit: int
    person_scope: bool
    user_scope: bool


class Intake:
    """One batch; filled by `accept` as the unit goes through it."""

    def __init__(self, tx: Tx, terms: Terms, notices: Notices, now: datetime) -> None:
        self._tx = tx
        self._terms = terms
        self._notices = notices
        self._now = now
        self._waiting: dict[ConversationId, int] = {}
        self.taken: list[Taken] = []
        self.posted: list[Posted] = []
        self.strangers: list[tuple[str, str]] = []

    def receive(self, offer: Offer) -> Receipt:
        match offer.inbound:
            case Message() as message:
                return self._message(offer, message)
            case Edit() as edit:
                return self._edit(offer, edit)
            case Press() as press:
                return self._drop(_bare(offer, press.event, press.address, press.pressed_at), Fate.REFUSED, "press")
            case Moved() as moved:
                return self._drop(_bare(offer, moved.event, moved.address, self._now), Fate.REFUSED, "moved")
            case Malformed(event=event, address=address, reason=reason):
                why = f"malformed: {storable(reason)[:200]}"
                return self._drop(_bare(offer, event, address, self._now), Fate.REFUSED, why)
            case _:
                assert_never(offer.inbound)

    # messages

    def _message(self, offer: Offer, message: Message) -> Receipt:
        identity = identity_of(offer.platform, message.sender)
        decision, known = _judge(self._tx, offer, message, identity)
        arrival = _arrival(offer, message, identity)
        match decision:
            case Drop(reason=reason):
                return self._drop(arrival, Fate.IGNORED, reason)
            case Stranger():
                return self._stranger(offer, message, arrival)
            case Pass(role=granted):
                person = known.person if known is not None and self._terms.person_scope else None
                return self._pass(replace(arrival, role=granted), message, person)
            case _:
                assert_never(decision)

    def _pass(self, arrival: Arrival, message: Message, person: str | None) -> Receipt:
        key = keys.key_of(
            message.address,
            message.kind,
            user=message.sender.user,
            path=message.conversation,
            person_id=person,
            group_scope="user" if self._terms.user_scope else "chat",
        )
        conversation = conversations.find(self._tx, key)
        if arrival.lane is not Lane.INSTANT and conversation is None:
            conversation = conversations.ensure(self._tx, key, message.address, message.kind, self._now)
        if conversation is not None and arrival.lane is Lane.ORDERED and self._full(conversation):
            return self._refuse_full(arrival)
        row = inbox.arrive(self._tx, arrival, conversation, self._now)
        if row is None:
            return self._duplicate(arrival)
        if conversation in self._waiting:
            self._waiting[conversation] += arrival.lane is not Lane.INSTANT
        self.taken.append(Taken(ref=_ref(row, arrival, self._now), lane=arrival.lane, conversation=conversation))
        return Receipt(verdict=Verdict.ACCEPTED, row=row)

    def _full(self, conversation: ConversationId) -> bool:
        if conversation not in self._waiting:
            self._waiting[conversation] = inbox.waiting_in(self._tx, conversation, self._terms.limit)
        return self._waiting[conversation] >= self._terms.limit

    def _refuse_full(self, arrival: Arrival) -> Receipt:
        receipt = self._drop(arrival, Fate.REFUSED, "full")
        if receipt.verdict is Verdict.REFUSED:
            self._say(arrival, self._notices.say("mailbox_full"))
        return receipt

    def _stranger(self, offer: Offer, message: Message, arrival: Arrival) -> Receipt:
        """Kept: that somebody asked. Said: a code, once while it is good."""
        receipt = self._drop(arrival, Fate.REFUSED, "stranger")
        room = people.waiting_count(self._tx, self._now) < MOST_PAIRINGS
        if receipt.verdict is Verdict.REFUSED and room and arrival.identity is not None:
            pairing = Pairing(
                code=offer.code(),
                identity=arrival.identity,
                name=arrival.name,
                bot=message.address.bot,
                chat=message.address.chat,
                kind=message.kind,
                expires_at=self._now + PAIRING_LIFE,
            )
            if people.offer(self._tx, pairing, self._now):
                self.strangers.append((pairing.name, pairing.code))
                self._say(arrival, self._notices.say("pairing", code=pairing.code))
        return receipt

    def _say(self, arrival: Arrival, text: str) -> None:
        self.posted.append(deliveries.say(self._tx, arrival.address, arrival.kind, text, self._now))

    # the rest

    def _edit(self, offer: Offer, edit: Edit) -> Receipt:
        """A message that still waits gets its new text, whole; anything later is too late."""
        identity = identity_of(offer.platform, edit.sender)
        bare = _bare(offer, edit.event, edit.address, edit.edited_at)
        receipt = self._drop(bare, Fate.IGNORED, "edit")
        text = storable(edit.text)
        if receipt.verdict is Verdict.IGNORED and identity is not None and not is_blank(text):
            dedupe = _message_key(edit.address, edit.message)
            inbox.edit(self._tx, offer.account, dedupe, identity, text)
        return receipt

    def _drop(self, arrival: Arrival, fate: Fate, why: str) -> Receipt:
        row = inbox.drop(self._tx, replace(arrival, lane=Lane.NONE, command=None), fate, why, self._now)
        if row is None:
            return self._duplicate(arrival)
        verdict = Verdict.REFUSED if fate is Fate.REFUSED else Verdict.IGNORED
        return Receipt(verdict=verdict, row=row, reason=why)

    def _duplicate(self, arrival: Arrival) -> Receipt:
        """It was stored before. If it still waits it is offered once more, since the commit that stored it may have
        been one whose success nobody heard of; who has it already takes no notice."""
        kept = inbox.same(self._tx, arrival.account, arrival.dedupe)
        if kept is None:
            raise LookupError(f"{arrival.dedupe} is neither new nor stored")
        row = inbox.pending(self._tx, kept.id) if kept.state == "pending" else None
        if row is not None:
            self.taken.append(Taken(ref=ref_of(row), lane=row.lane, conversation=row.conversation))
        return Receipt(verdict=Verdict.DUPLICATE, row=kept.id)


def _judge(tx: Tx, offer: Offer, message: Message, identity: str | None) -> tuple[Decision, Known | None]:
    """What the gate says, with the one look-up that it needs."""
    known = people.known(tx, identity) if identity is not None and not offer.access.local else None
    role = offer.access.role(identity, known.role if known else None) if identity is not None else None
    return gate.judge(message, offer.access, role), known


def welcome(tx: Tx, offer: Offer) -> bool:
    """Is it a message that would be answered? Only reads."""
    message = offer.inbound
    if not isinstance(message, Message):
        return False
    decision, _ = _judge(tx, offer, message, identity_of(offer.platform, message.sender))
    return isinstance(decision, Pass)


def _message_key(address: Address, message: str) -> str:
    return f"m:{keys.encode(address.chat)}:{message}"


def _bare(offer: Offer, event: str, address: Address, at: datetime) -> Arrival:
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


def _arrival(offer: Offer, message: Message, identity: str | None) -> Arrival:
    text = storable(message.text)
    lane, command = _lane(text, message.kind)
    return Arrival(
        account=offer.account,
        dedupe=_message_key(message.address, message.message),
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
    )


def _lane(text: str, kind: ChatKind) -> tuple[Lane, str | None]:
    """An unknown command is named as such in direct chats; in groups it is left to the agent."""
    parsed = parse(text)
    if parsed is None:
        return Lane.ORDERED, None
    if parsed.command is not None:
        return parsed.command.lane, parsed.command.name
    return (Lane.INSTANT, UNKNOWN) if kind is ChatKind.DIRECT else (Lane.ORDERED, None)


def _ref(row: RowId, arrival: Arrival, now: datetime) -> Ref:
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
    )


def _reply_address(arrival: Arrival) -> Address:
    """Among others, an answer names the message that it answers."""
    return replace(arrival.address, reply_to=None if arrival.kind is ChatKind.DIRECT else arrival.message)


def accept(tx: Tx, offers: Sequence[Offer], terms: Terms, notices: Notices, now: datetime) -> Accepted:
    """Store a batch in order. One transaction; a second run with the same events stores nothing new."""
    intake = Intake(tx, terms, notices, now)
    receipts = tuple(intake.receive(offer) for offer in offers)
    return Accepted(
        receipts=receipts,
        strangers=tuple(intake.strangers),
        taken=tuple(intake.taken),
        posted=tuple(intake.posted),
    )


def offer(house: House, inbound: Inbound, account: str) -> Offer:
    """An event with what its bot's configuration says of it."""
    bot = house.bots.get(BotName(inbound.address.bot))
    return Offer(
        inbound=inbound,
        account=account,
        platform=bot.platform if bot is not None else inbound.address.bot,
        access=house.access.of(inbound.address.bot),
        code=lambda: house.random.token(8),
    )


def terms(house: House) -> Terms:
    rules = house.rules
    return Terms(limit=rules.limit, person_scope=rules.person_scope, user_scope=rules.user_scope)
