"""The messages that asked for somebody's word: once nobody waits for it any more, they say what became of it, and
their buttons go.

Whoever presses one sees that at once; here it comes of every other end too: typed, for all at a time, too late, dropped
by another message, or by a process that has died since.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

import structlog
from msgspec.structs import replace

from core.delivery.handover import hand_over
from core.desk import consent
from core.desk.house import House
from core.errors import FloodWait, NotSent
from core.ports import Bot
from core.service.notices import Notices
from core.store import buttons, consents, deliveries
from core.store.buttons import Action, Meaning
from core.store.consents import ConsentId, ConsentState
from core.store.deliveries import Posted
from core.store.sql import Tx
from core.vocabulary import DeliveryId

log = structlog.get_logger("frontdesk.desk")

MOST = 100
"""Messages that one round looks at."""
SHOWN_FOR = timedelta(minutes=20)
"""How long after its time is over a question is looked at; then its buttons stay until somebody presses one."""


async def settle(house: House) -> None:
    """From all that are settled, aside: no platform holds anything up. What one does not take just now is left for the
    next round. Raises `StoreError`."""
    now = house.clock.now()
    for card in await house.store.read(lambda tx: _over(tx, house.notices, now)):
        bot = house.bots.get(card.address.bot)
        if bot is not None and house.outbox.is_up(bot.name):
            house.gestures.show(_change(house, bot, card))


async def _change(house: House, bot: Bot, card: Posted) -> None:
    lane, store = house.outbox.lane(bot.name, card.address.chat, card.kind).lease(), house.store
    try:
        async with lane.hold:
            if lane.pace is None or lane.pace.blocked(house.clock.monotonic()):
                return
            if card.id not in await store.read(partial(_settled_since, now=house.clock.now())):  # another round did it
                return
            fate = await hand_over(house.outbox.workshop, bot, card)
            if isinstance(fate, FloodWait):
                lane.pace.obey(house.clock.monotonic(), fate)
            if isinstance(fate, NotSent):
                log.info("card_not_settled", bot=bot.name, delivery=card.id, why=str(fate))
            else:
                await store.write(lambda tx: deliveries.stands(tx, card))
    finally:
        lane.let_go()


def _settled_since(tx: Tx, now: datetime) -> list[DeliveryId]:
    return consents.settled_cards(tx, now - SHOWN_FOR, MOST)


def _over(tx: Tx, notices: Notices, now: datetime) -> list[Posted]:
    """As they are to stand there from now on."""
    cards = [deliveries.get(tx, card) for card in _settled_since(tx, now)]
    meant = [(card, [found for one in card.buttons if (found := buttons.find(tx, one.data))]) for card in cards]
    return [
        replace(card, text=_settled(tx, card.text, found, notices), buttons=())
        for card, found in meant
        if not any(one.is_good(now) for one in found)
    ]


def _settled(tx: Tx, text: str, meant: Sequence[Meaning], notices: Notices) -> str:
    """What became of the call in place of how to answer."""
    asked = [consents.get(tx, ConsentId(one.target)) for one in meant if one.action in (Action.APPROVE, Action.DENY)]
    states = [one.state for one in asked if one is not None and one.state is not ConsentState.OPEN]
    ends = (consent.how(notices), consent.how_elsewhere(notices))
    how = next((end for end in ends if text.endswith(end)), None)
    if not states or how is None:
        return text
    return f"{text.removesuffix(how)}{notices.say(f'consent_was_{states[0]}')}"
