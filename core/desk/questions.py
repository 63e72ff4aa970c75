"""What people are asked before a tool may do something: one message for each call, with its two buttons; where there
are no buttons, one message for all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from core.desk import consent, offering
from core.desk.house import House
from core.desk.offering import Choice, Made, Offered
from core.desk.record import Told
from core.store import consents
from core.store.buttons import Action
from core.store.consents import Ask
from core.store.entries import Entry
from core.store.turns import Turn


async def ask(house: House, turn: Turn, calls: Sequence[tuple[Ask, Entry]], now: datetime) -> tuple[Told, ...]:
    """Every call exactly as it will be made, in messages that fit the platform."""
    notices, bot = house.notices, turn.address.bot
    token = house.button_ids(bot)
    if token is None or not calls:
        whole = consent.asked(calls, notices)
        return tuple(Told(text=part) for part in await house.outbox.parts_aside(bot, whole)) if whole else ()
    told = [Told(text=notices.say("consent_ask", count=len(calls)))] if len(calls) > 1 else []
    for ask_, call in calls:
        text = consent.shown(ask_, call, notices)
        words = f"{text}\n\n{consent.how(notices)}"
        *before, last = await house.outbox.parts_aside(bot, words) or (words,)
        told += [*(Told(text=part) for part in before), Told(text=last, made=_buttons(house, turn, ask_, now))]
    return tuple(told)


def _buttons(house: House, turn: Turn, ask_: Ask, now: datetime) -> tuple[Made, ...]:
    offered = Offered(
        question=consents.question(ask_.id, turn.id), address=turn.address, identity=turn.author,
        conversation=turn.conversation, expires_at=now + consent.EXPIRES_AFTER,
    )  # fmt: skip
    choices = (
        Choice(label="button_approve", action=Action.APPROVE, target=ask_.id, style="good"),
        Choice(label="button_deny", action=Action.DENY, target=ask_.id, style="bad"),
    )
    return offering.make(offered, choices, house.button_ids(turn.address.bot), house.notices)
