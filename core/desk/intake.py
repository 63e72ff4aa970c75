"""Intake: a batch of events becomes durable rows with receipts, in one commit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from core.delivery.split import is_blank
from core.desk import gate, keys, moving, offering, pressing
from core.desk.arrivals import Offer, arrival_of, bare_of, message_key, nameless, ref_of
from core.desk.coalesce import Ref
from core.desk.coalesce import ref_of as stored_ref
from core.desk.commands.table import argument
from core.desk.gate import Decision, Drop, Pass, Stranger
from core.desk.house import House
from core.desk.offering import Choice, Offered
from core.desk.pressing import Pressed, Presser
from core.desk.quota import IntakeQuotas
from core.people import pairing as pairing_
from core.people.access import ConsentBy, identity_of
from core.people.names import one_line, storable
from core.service.notices import Notices
from core.store import buttons, consents, conversations, deliveries, inbox, moves, owners, people
from core.store.buttons import Action
from core.store.consents import ConsentId, ConsentState
from core.store.conversations import ConversationId
from core.store.deliveries import Posted
from core.store.inbox import Arrival, Fate, Lane
from core.store.people import Known, Pairing, Role
from core.store.sql import Tx
from core.tally import Limit
from core.vocabulary import (
    BotName,
    ChatId,
    ChatKind,
    Edit,
    Inbound,
    Malformed,
    Message,
    Moved,
    Press,
    Receipt,
    Verdict,
)

PAIRING_LIFE = timedelta(hours=1)
MOST_ASKED = 10
"""Strangers of whom owners are asked in their chats, of one bot and within an hour; of more, one in a while."""
MOST_PAIRINGS = 200
"""Codes of one bot that wait at once; for the next one the oldest goes."""


class Taken(Struct, frozen=True, kw_only=True):
    """A row that waits for somebody."""

    ref: Ref
    lane: Lane
    conversation: ConversationId | None


class Accepted(Struct, frozen=True, kw_only=True):
    """`strangers`: those who were given a code just now."""

    receipts: tuple[Receipt, ...]
    strangers: tuple[Pairing, ...]
    taken: tuple[Taken, ...]
    posted: tuple[Posted, ...]
    pressed: tuple[Pressed, ...]
    limits: tuple[Limit, ...] = ()


class Terms(Struct, frozen=True, kw_only=True):
    """What intake goes by."""

    limit: int
    person_scope: bool
    user_scope: bool
    has_owners: bool
    conversations_per_hour: int
    """That one guest may begin."""
    quotas: IntakeQuotas
    now_s: float
    """Monotonic."""
    consent_by: ConsentBy = "let_in"


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
        self.strangers: list[Pairing] = []
        self.pressed: list[Pressed] = []
        self.limits: list[Limit] = []

    def receive(self, offer: Offer) -> Receipt:
        match offer.inbound:
            case Message() as message:
                return self._message(offer, message)
            case Edit() as edit:
                return self._edit(offer, edit)
            case Press() as press:
                return self._press(offer, press)
            case Moved() as moved:
                return self._moved(offer, moved)
            case Malformed(event=event, address=address, reason=reason):
                why = f"malformed: {storable(reason)[:200]}"
                return self._drop(bare_of(offer, event, address, self._now), Fate.REFUSED, why)
            case _:
                assert_never(offer.inbound)

    # messages

    def _message(self, offer: Offer, message: Message) -> Receipt:
        identity = identity_of(offer.platform, message.sender)
        decision, known = _judge(self._tx, offer, message, identity, user_scope=self._terms.user_scope)
        arrival = arrival_of(offer, message, identity)
        match decision:
            case Drop(reason=reason):
                return self._drop(nameless(arrival), Fate.IGNORED, reason)
            case Stranger():
                return self._stranger(offer, message, arrival)
            case Pass(role=granted):
                person = known.person if known is not None and self._terms.person_scope else None
                return self._pass(replace(arrival, role=granted), message, person)
            case _:
                assert_never(decision)

    def _pass(self, arrival: Arrival, message: Message, person: str | None) -> Receipt:
        key = _key(message, person, user_scope=self._terms.user_scope)
        conversation = self._asked_elsewhere(arrival) or conversations.find(self._tx, key)
        if arrival.lane is not Lane.INSTANT and conversation is None:
            if not self._may_begin(arrival):
                return self._refuse_conversation(arrival)
            conversation = conversations.ensure(self._tx, key, message.address, message.kind, self._now)
        if conversation is not None and arrival.lane is Lane.ORDERED and self._full(conversation):
            return self._refuse_full(arrival)
        row = inbox.arrive(self._tx, arrival, conversation, self._now)
        if row is None:
            return self._duplicate(arrival)
        if conversation in self._waiting:
            self._waiting[conversation] += arrival.lane is not Lane.INSTANT
        self.taken.append(Taken(ref=ref_of(row, arrival, self._now), lane=arrival.lane, conversation=conversation))
        return Receipt(verdict=Verdict.ACCEPTED, row=row)

    def _asked_elsewhere(self, arrival: Arrival) -> ConversationId | None:
        """The conversation of a call that an owner answers by its id."""
        if arrival.command not in ("approve", "deny") or arrival.role != Role.OWNER:
            return None
        named = consents.get(self._tx, ConsentId(argument(arrival.text).strip().upper()))
        return named.conversation if named is not None and named.state is ConsentState.OPEN else None

    def _may_begin(self, arrival: Arrival) -> bool:
        """Another conversation."""
        terms, whose = self._terms, arrival.identity or ""
        return arrival.role != Role.GUEST or terms.quotas.conversations.take(
            whose, terms.conversations_per_hour, terms.now_s, arrival.dedupe
        )

    def _refuse_conversation(self, arrival: Arrival) -> Receipt:
        """The sender hears so once, however often they try."""
        terms, whose = self._terms, arrival.identity or ""
        receipt = self._drop(arrival, Fate.REFUSED, "conversations_per_hour")
        if receipt.verdict is Verdict.REFUSED:
            self.limits.append("conversations_per_hour")
            if terms.quotas.told.take(whose, 1, terms.now_s, arrival.dedupe):
                self._say(arrival, self._notices.say("conversations_many", count=terms.conversations_per_hour))
        return receipt

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
        identity = arrival.identity
        waits = identity is not None and people.has_code(self._tx, identity, self._now)
        receipt = self._drop(arrival, Fate.REFUSED, "stranger_waits" if waits else "stranger")
        if receipt.verdict is Verdict.REFUSED and identity is not None and not waits:
            pairing = Pairing(
                code=offer.code(),
                identity=identity,
                name=arrival.name,
                bot=message.address.bot,
                chat=message.address.chat,
                kind=message.kind,
                expires_at=self._now + PAIRING_LIFE,
            )
            self._make_room(pairing.bot)
            people.offer(self._tx, pairing, self._now)
            self.strangers.append(pairing)
            self._say(arrival, self._notices.say("pairing", code=pairing.code))
            self._tell_owners(offer, pairing, arrival.dedupe)
        return receipt

    def _make_room(self, bot: BotName) -> None:
        """Whoever came first has had the most time to be let in, and may ask again."""
        if people.waiting_count(self._tx, bot, self._now) >= MOST_PAIRINGS:
            people.drop_oldest(self._tx, bot, self._now)
            self.limits.append("pairing_codes")

    def _tell_owners(self, offer: Offer, pairing: Pairing, key: str) -> None:
        """Owners whom this bot can reach are asked right there. Of a crowd they hear once how large it is, and are
        asked of one from time to time, so that nobody can keep all others out by sending many."""
        quotas, bot, now_s = self._terms.quotas, pairing.bot, self._terms.now_s
        sampled = quotas.sampled.take(bot, 1, now_s, key)
        if quotas.asked.take(bot, MOST_ASKED, now_s, key) or sampled:
            self._ask_owners(offer, pairing)
        elif quotas.crowds.take(bot, 1, now_s, key):
            count = people.waiting_count(self._tx, bot, self._now)
            for _, address in owners.places(self._tx, bot, offer.access.owners):
                told = self._notices.say("strangers_wait", count=count)
                self.posted.append(deliveries.say(self._tx, address, ChatKind.DIRECT, told, self._now))

    def _ask_owners(self, offer: Offer, pairing: Pairing) -> None:
        for identity, address in owners.places(self._tx, pairing.bot, offer.access.owners):
            offered = Offered(
                question=f"pairing:{pairing.code}", address=address, identity=identity, conversation=None,
                expires_at=pairing.expires_at,
            )  # fmt: skip
            choice = Choice(label="let_in", action=Action.LET_IN, target=pairing.code, style="good")
            told = self._notices.say("stranger_waits", name=pairing.name, identity=pairing.identity, code=pairing.code)
            parcel = deliveries.notice(address, ChatKind.DIRECT, told)
            made = offering.make(offered, [choice], offer.button, self._notices)
            shown = replace(parcel, buttons=offering.keep(self._tx, made))
            self.posted.append(deliveries.post(self._tx, shown, self._now))

    # buttons

    def _press(self, offer: Offer, press: Press) -> Receipt:
        """A good one becomes the command that it stands for, in the conversation that it belongs to."""
        identity = identity_of(offer.platform, press.sender)
        bare = replace(
            bare_of(offer, press.event, press.address, press.pressed_at), kind=press.kind, identity=identity,
            name=one_line(press.sender.name),
        )  # fmt: skip
        decision, _ = _judge(
            self._tx, offer, pressing.as_message(press), identity, user_scope=self._terms.user_scope
        )  # fmt: skip
        presser = found = None
        if isinstance(decision, Pass) and identity is not None:
            presser = Presser(identity=identity, role=decision.role, consent_by=self._terms.consent_by)
            found = pressing.meaning(self._tx, press, presser, self._now)
        if not isinstance(decision, Pass) or found is None or not buttons.use(self._tx, found.question, self._now):
            return self._press_refused(press, bare if isinstance(decision, Pass) else nameless(bare), presser)
        self.pressed.append(Pressed(press=press, said="pressed", over=True))
        order = pressing.ordered(found)
        if order is None:
            return self._let_in(offer, replace(bare, role=decision.role), found.target)
        arrival = replace(
            bare, text=order.text, lane=order.lane, command=order.command, role=decision.role
        )  # fmt: skip
        row = inbox.arrive(self._tx, arrival, found.conversation, self._now)
        if row is None:
            return self._duplicate(arrival)
        self.taken.append(
            Taken(ref=ref_of(row, arrival, self._now), lane=arrival.lane, conversation=found.conversation)
        )  # fmt: skip
        return Receipt(verdict=Verdict.ACCEPTED, row=row)

    def _press_refused(self, press: Press, bare: Arrival, presser: Presser | None) -> Receipt:
        """It is over, or for somebody else."""
        whose = pressing.whose(self._tx, press, presser, self._now)
        receipt = self._drop(bare, Fate.REFUSED, "expired")
        kept = inbox.kept(self._tx, receipt.row) if receipt.verdict is Verdict.DUPLICATE else None
        done = kept is not None and kept.fate != Fate.REFUSED
        said = "pressed" if done else whose or "press_expired"
        self.pressed.append(Pressed(press=press, said=said, over=whose is None))
        return receipt

    def _let_in(self, offer: Offer, arrival: Arrival, code: str) -> Receipt:
        """An owner lets a stranger in."""
        done = pairing_.approve(
            self._tx, code, offer.person(), self._now, welcome=self._notices.say("paired"),
            has_owners=self._terms.has_owners,
        )  # fmt: skip
        if done is None:
            self.pressed[-1] = replace(self.pressed[-1], said="press_expired")
            return self._drop(arrival, Fate.REFUSED, "expired")
        self.posted.append(done.posted)
        return self._drop(arrival, Fate.ANSWERED, "let_in")

    def _moved(self, offer: Offer, moved: Moved) -> Receipt:
        receipt = self._drop(bare_of(offer, moved.event, moved.address, self._now), Fate.ANSWERED, "moved")
        if receipt.verdict is not Verdict.DUPLICATE:
            moving.move(self._tx, moved, self._now)
        return receipt

    def _say(self, arrival: Arrival, text: str) -> None:
        self.posted.append(deliveries.say(self._tx, arrival.address, arrival.kind, text, self._now))

    # the rest

    def _edit(self, offer: Offer, edit: Edit) -> Receipt:
        """A message that still waits gets its new text, whole; anything later is too late."""
        identity = identity_of(offer.platform, edit.sender)
        bare = bare_of(offer, edit.event, edit.address, edit.edited_at)
        receipt = self._drop(bare, Fate.IGNORED, "edit")
        text = storable(edit.text)
        if receipt.verdict is Verdict.IGNORED and identity is not None and not is_blank(text):
            dedupe = message_key(edit.address, edit.message)
            inbox.edit(self._tx, offer.account, dedupe, identity, text)
        return receipt

    def _drop(self, arrival: Arrival, fate: Fate, why: str) -> Receipt:
        row = inbox.drop(self._tx, replace(arrival, lane=Lane.NONE, command=None), fate, why, self._now)
        if row is None:
            return self._duplicate(arrival)
        verdict = {Fate.REFUSED: Verdict.REFUSED, Fate.ANSWERED: Verdict.ACCEPTED}.get(fate, Verdict.IGNORED)
        return Receipt(verdict=verdict, row=row, reason=why)

    def _duplicate(self, arrival: Arrival) -> Receipt:
        """It was stored before. If it still waits it is offered once more, since the commit that stored it may have
        been one whose success nobody heard of; who has it already takes no notice."""
        kept = inbox.same(self._tx, arrival.account, arrival.dedupe)
        if kept is None:
            raise LookupError(f"{arrival.dedupe} is neither new nor stored")
        row = inbox.pending(self._tx, kept.id) if kept.state == "pending" else None
        if row is not None:
            self.taken.append(Taken(ref=stored_ref(row), lane=row.lane, conversation=row.conversation))
        return Receipt(verdict=Verdict.DUPLICATE, row=kept.id)


def _judge(
    tx: Tx, offer: Offer, message: Message, identity: str | None, *, user_scope: bool
) -> tuple[Decision, Known | None]:
    """What the gate says, with the few look-ups that it needs."""
    access = offer.access
    known = people.known(tx, identity) if identity is not None and not access.local else None
    chats: frozenset[ChatId] = frozenset()
    if message.kind is not ChatKind.DIRECT and access.groups and not gate.is_listed(message, access):
        chats = moves.names_of(tx, message.address.bot, message.address.chat)
    silent = message.kind is ChatKind.THREAD and not message.addressed
    knowledge = gate.Known(
        role=access.role(identity, known.role if known else None) if identity is not None else None,
        ours=silent and _talks_there(tx, _key(message, None, user_scope=user_scope)),
        chats=chats,
        loops=offer.loops,
    )
    return gate.judge(message, access, knowledge), known


def _talks_there(tx: Tx, key: str) -> bool:
    """Has somebody talked with us there, or is about to be answered? Commands alone don't make a thread ours."""
    found = conversations.find(tx, key)
    return found is not None and (conversations.get(tx, found).session is not None or inbox.talk_waits(tx, found))


def _key(message: Message, person: str | None, *, user_scope: bool) -> str:
    return keys.key_of(
        message.address,
        message.kind,
        user=message.sender.user,
        path=message.conversation,
        person_id=person,
        group_scope="user" if user_scope else "chat",
    )


class Standing(Struct, frozen=True, kw_only=True):
    """As whom, and in which conversation, somebody is heard; None where nobody has talked yet."""

    identity: str
    role: Role
    conversation: ConversationId | None


def standing(tx: Tx, offer: Offer, terms: Terms) -> Standing | None:
    """Of the sender of a message; None if it would not be answered. Only reads."""
    message = offer.inbound
    if not isinstance(message, Message):
        return None
    identity = identity_of(offer.platform, message.sender)
    decision, known = _judge(tx, offer, message, identity, user_scope=terms.user_scope)
    if not isinstance(decision, Pass) or identity is None:
        return None
    person = known.person if known is not None and terms.person_scope else None
    key = _key(message, person, user_scope=terms.user_scope)
    return Standing(identity=identity, role=decision.role, conversation=conversations.find(tx, key))


def accept(tx: Tx, offers: Sequence[Offer], terms: Terms, notices: Notices, now: datetime) -> Accepted:
    """Store a batch in order. One transaction; a second run with the same events stores nothing new."""
    intake = Intake(tx, terms, notices, now)
    receipts = tuple(intake.receive(offer) for offer in offers)
    return Accepted(
        receipts=receipts,
        strangers=tuple(intake.strangers),
        taken=tuple(intake.taken),
        posted=tuple(intake.posted),
        pressed=tuple(intake.pressed),
        limits=tuple(intake.limits),
    )


def offer(house: House, inbound: Inbound, account: str, *, loops: bool = False) -> Offer:
    """An event with what its bot's configuration says of it. `loops`: bots have been heard too often in a row there."""
    bot = house.bots.get(BotName(inbound.address.bot))
    return Offer(
        inbound=inbound,
        account=account,
        platform=bot.platform if bot is not None else inbound.address.bot,
        access=house.access.of(inbound.address.bot),
        code=lambda: house.random.token(8),
        person=house.random.uuid7,
        button=house.button_ids(inbound.address.bot),
        loops=loops,
    )


def terms(house: House) -> Terms:
    rules = house.rules
    return Terms(
        limit=rules.limit, person_scope=rules.person_scope, user_scope=rules.user_scope,
        has_owners=house.access.has_owners, consent_by=rules.consent_by,
        conversations_per_hour=rules.guests.conversations_per_hour, quotas=house.quotas,
        now_s=house.clock.monotonic(),
    )  # fmt: skip
