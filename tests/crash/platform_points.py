"""Where the daemon dies on a platform's way in, and around buttons: more points for `tests.crash.victim`. What needs an
SDK is imported there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from core.delivery.lane import Lane
from core.desk.desk import Desk
from core.desk.manners import Manner
from core.desk.owner import Owner
from core.store.deliveries import Posted
from core.vocabulary import Inbound, Message, Press
from tests.crash.victim import Install, Trap, Which, _command, after_effect, before, replace


def ack_held(trap: Trap) -> None:
    """Slack hears nothing of a message until something has been answered, and then nothing any more."""
    from bots.slack.intake import Intake, _Item

    real_acknowledge, real_done = Intake._acknowledge, Lane._done
    answered = asyncio.Event()

    async def acknowledge(intake: Intake, item: _Item, answer: object) -> None:
        if (await item.reading).inbound is not None:
            if trap.next_is_fatal():
                await answered.wait()
            trap.spring()
        await real_acknowledge(intake, item, answer)  # type: ignore[arg-type]  # handed through

    def done(lane: Lane, posted: Posted) -> None:
        real_done(lane, posted)
        answered.set()  # whichever it was: one that was answered before its turn to be acknowledged counts too

    replace(Intake, "_acknowledge", acknowledge)
    replace(Lane, "_done", done)


def _brings(kind: type[Message] | type[Press]) -> Which:
    def which(_: object, batch: Sequence[Inbound]) -> object:
        return tuple(one.event for one in batch) if any(isinstance(one, kind) for one in batch) else False

    return which


POINTS: Final[dict[str, Install]] = {
    "ack_held": ack_held,
    "message_unstored": before(Desk, "receive", _brings(Message)),
    "press_unstored": before(Desk, "receive", _brings(Press)),
    "stop_accepted": before(Owner, "command", _command("stop")),
    "inside_stop": after_effect("stop"),
    "press_answered": before(Manner, "_answer"),
}
