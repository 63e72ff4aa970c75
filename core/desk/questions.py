"""What people are asked before a tool may do something: one message for each call, with its two buttons; where there
are no buttons, one message for all.

Whoever asked for the call is asked, if they may allow it; else every owner is, in their direct chat, and where the turn
is that is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from core.desk import consent, offering
from core.desk.house import House
from core.desk.offering import Choice, Made, Offered
from core.desk.record import Told
from core.people.access import allows
from core.people.names import one_line
from core.store import consents, owners
from core.store.buttons import Action
from core.store.consents import Ask
from core.store.entries import Entry
from core.store.sql import Tx
from core.store.turns import Turn
from core.vocabulary import Address, ChatKind

_LABELS: Final = {Action.APPROVE: "button_approve", Action.DENY: "button_deny"}


class _Person(NamedTuple):
    """Who is asked, and where."""

    identity: str
    address: Address


async def ask(
    house: House, turn: Turn, role: str, name: str, calls: Sequence[tuple[Ask, Entry]], now: datetime
) -> tuple[Told, ...]:
    """Every call exactly as it will be made, in messages that fit the platform. `role` and `name`: the turn's author's.
    Raises `StoreError`."""
    if not calls:
        return ()
    asker = _Person(turn.author, turn.address)
    if allows(house.rules.consent_by, role):
        return await _ask(house, turn, asker, calls, now, head=_count(house, calls))
    found = await house.store.read(lambda tx: _owners(house, tx, turn))
    where = house.notices.say("consent_in_group") if turn.kind is not ChatKind.DIRECT else ""
    head = house.notices.say("consent_for", name=one_line(name), identity=turn.author, where=where)
    told = [_told_asker(house, turn, calls, now, asked=bool(found))]
    for owner in found:
        told += await _ask(house, turn, owner, calls, now, head=head)
    return tuple(told)


def _owners(house: House, tx: Tx, turn: Turn) -> list[_Person]:
    """By the bot that the turn is with, or else by another one."""
    here = turn.address.bot
    for bot in (here, *(bot for bot in house.bots if bot != here)):
        found = owners.places(tx, bot, house.access.of(bot).owners)
        if found:
            return [_Person(identity, address) for identity, address in found]
    return []


def _told_asker(house: House, turn: Turn, calls: Sequence[tuple[Ask, Entry]], now: datetime, *, asked: bool) -> Told:
    """Who has to wait for an owner can still say that the calls are not to be made."""
    tools = ", ".join(dict.fromkeys(one_line(call.text) for _, call in calls))
    ids = ", ".join(ask_.id for ask_, _ in calls)
    text = house.notices.say("consent_owner_asked" if asked else "consent_no_owner", tools=tools, ids=ids)
    asker = _Person(turn.author, turn.address)
    return Told(text, made=_buttons(house, turn, asker, calls[0][0], now, Action.DENY) if len(calls) == 1 else ())


def _count(house: House, calls: Sequence[tuple[Ask, Entry]]) -> str:
    return house.notices.say("consent_ask", count=len(calls)) if len(calls) > 1 else ""


async def _ask(
    house: House, turn: Turn, person: _Person, calls: Sequence[tuple[Ask, Entry]], now: datetime, *, head: str
) -> tuple[Told, ...]:
    notices, bot = house.notices, person.address.bot
    elsewhere = person.address if person.address != turn.address else None
    how = consent.how(notices) if elsewhere is None else consent.how_elsewhere(notices)
    if house.button_ids(bot) is None:
        begin = head or notices.say("consent_ask", count=len(calls))
        whole = consent.asked(calls, notices, begin, how)
        return tuple(Told(part, to=elsewhere) for part in await house.outbox.parts_aside(bot, whole))
    told = [Told(head, to=elsewhere)] if head else []
    for ask_, call in calls:
        words = f"{consent.shown(ask_, call, notices)}\n\n{how}"
        *before, last = await house.outbox.parts_aside(bot, words) or (words,)
        made = _buttons(house, turn, person, ask_, now, Action.APPROVE, Action.DENY)
        told += [*(Told(part, to=elsewhere) for part in before), Told(last, made=made, to=elsewhere)]
    return tuple(told)


def _buttons(house: House, turn: Turn, person: _Person, ask_: Ask, now: datetime, *actions: Action) -> tuple[Made, ...]:
    offered = Offered(
        question=consents.question(ask_.id, turn.id), address=person.address, identity=person.identity,
        conversation=turn.conversation, expires_at=now + consent.EXPIRES_AFTER,
    )  # fmt: skip
    choices = [
        Choice(
            label=_LABELS[action], action=action, target=ask_.id, style="good" if action is Action.APPROVE else "bad"
        )
        for action in actions
    ]
    return offering.make(offered, choices, house.button_ids(person.address.bot), house.notices)
