"""One part, given to its bot: what it became, or why not."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from msgspec import Struct
from msgspec.structs import replace

from core.delivery.workshop import Workshop
from core.errors import ChatDead, NotSent, Rejected, SendError, StoreError, Unknown
from core.ports import Bot, CanEdit, CanType
from core.store import standing
from core.store.deliveries import NOTICE, PREVIEW, UNKNOWN_NOTICE, Posted
from core.vocabulary import Address, ChatKind, Delivery, Earlier, MessageId

log = structlog.get_logger("frontdesk.delivery")


class Sent(Struct, frozen=True):
    message: MessageId | None


Fate = Sent | SendError

_BEFORE = timedelta(minutes=10)
"""A platform's clock may be behind ours."""


async def accepts(bot: Bot, posted: Posted) -> bool:
    """Does the platform take anything for this chat? Asked with what leaves no trace, before what is said only once."""
    if not isinstance(bot, CanType):
        return True
    try:
        await bot.typing(_address(posted))
    except (Rejected, ChatDead):
        return True  # it answers; what becomes of the notice is the notice's to find out
    except SendError:
        return False
    except Exception:  # delivery lane: a fault in what shows that somebody types keeps no word back
        log.exception("bot_fault", bot=posted.address.bot, delivery=posted.id)
    return True


async def hand_over(
    workshop: Workshop, bot: Bot, posted: Posted, growing: bool = False, tried: datetime | None = None
) -> Fate:
    """Give one part to the bot: an edit if the platform's id is known, else a send. `growing`: as in `Delivery`.
    `tried`: it may have arrived since then."""
    files = workshop.files_of(posted)
    if len(files) < len(posted.files) and not posted.text.strip():
        return Rejected("a file of it is not kept any more")
    delivery = Delivery(
        id=posted.id, address=_address(posted), kind=posted.kind, text=posted.text, buttons=posted.buttons, files=files,
        answers=posted.address.reply_to, beginning=posted.role == PREVIEW or posted.doubtful, growing=growing,
        notice=posted.role in (NOTICE, UNKNOWN_NOTICE), alone=posted.alone,
    )  # fmt: skip
    try:
        if posted.message is None:
            earlier = None if tried is None else await _earlier(workshop, posted, tried)
            return Sent(await bot.send(replace(delivery, earlier=earlier)))
        if isinstance(bot, CanEdit):
            await bot.edit(delivery, posted.message)
            return Sent(posted.message)
        return Rejected("this bot can't edit")
    except SendError as error:
        return error
    except StoreError:
        return NotSent("the store can't tell what was sent before")
    except Exception as error:  # delivery lane: a fault in one bot stops no other; it may have gone out
        log.exception("bot_fault", bot=posted.address.bot, delivery=posted.id)
        return Unknown(f"fault in the bot: {type(error).__name__}")


async def _earlier(workshop: Workshop, posted: Posted, tried: datetime) -> Earlier:
    others = await workshop.store.read(lambda tx: standing.others(tx, posted, tried - _BEFORE))
    return Earlier(since=tried, others=others)


def _address(posted: Posted) -> Address:
    """Among others, the first part replies to the question."""
    replies = posted.part == 1 and posted.kind is not ChatKind.DIRECT
    return posted.address if replies else replace(posted.address, reply_to=None)
