"""Whether a delivery is there already: what we send carries the delivery's id as metadata."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from bots.slack.line import Line
from bots.slack.outbound import DELIVERED, RECOGNISED_S
from bots.slack.recent import Recent
from core.errors import BotError, BotRejected, ChatDead, NotSent, Rejected, SendError
from core.fields import Json
from core.vocabulary import Address, Delivery, DeliveryId, MessageId

_PAGE: Final = 200
_MOST_PAGES: Final = 5
_REMEMBERED: Final = 4096


class Attempts:
    """What this process knows of the deliveries that it was handed."""

    def __init__(self) -> None:
        self._unsure: Recent[DeliveryId, None] = Recent(_REMEMBERED)
        self._unsent: Recent[DeliveryId, None] = Recent(_REMEMBERED)

    def may_be_there(self, delivery: Delivery) -> bool:
        """Was it perhaps sent before? Then Slack is asked."""
        return delivery.id in self._unsure or (delivery.attempt > 1 and delivery.id not in self._unsent)

    def failed(self, delivery: Delivery, why: SendError, *, asked: bool) -> None:
        """`asked`: Slack was asked, and said that it was not there."""
        if not why.certain:
            self._unsure.put(delivery.id, None)
        elif asked:
            self._unsure.pop(delivery.id)
            self._unsent.put(delivery.id, None)

    def arrived(self, delivery: Delivery) -> None:
        self._unsure.pop(delivery.id)
        self._unsent.pop(delivery.id)


async def find(line: Line, address: Address, matches: Callable[[Json], bool]) -> MessageId | None:
    """Our newest message there that matches, if it is there. Raises `NotSent` where Slack does not say, or `BotError`
    where it never will."""
    oldest = (line.clock.now() - timedelta(seconds=RECOGNISED_S)).timestamp()
    arguments: dict[str, object] = {
        "channel": address.chat,
        "oldest": f"{oldest:.6f}",
        "limit": _PAGE,
        "include_all_metadata": True,
    }
    method = "conversations.history"
    if address.thread is not None:
        method, arguments = "conversations.replies", {**arguments, "ts": address.thread}
    for _ in range(_MOST_PAGES):
        answer = await _ask(line, method, arguments)
        listed = answer.get("messages")
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict) and isinstance(one.get("ts"), str) and matches(one):
                return MessageId(str(one["ts"]))
        more = answer.get("response_metadata")
        cursor = more.get("next_cursor") if isinstance(more, dict) else None
        if not cursor or not isinstance(cursor, str):
            return None
        arguments = {**arguments, "cursor": cursor}
    return None


def holds(delivery: Delivery) -> Callable[[Json], bool]:
    """Does a message carry the delivery? What is sent where a beginning can't grow on is not that beginning."""

    def matches(message: Json) -> bool:
        about = message.get("metadata")
        payload = about.get("event_payload") if isinstance(about, dict) else None
        return (
            isinstance(about, dict)
            and about.get("event_type") == DELIVERED
            and isinstance(payload, dict)
            and payload.get("id") == str(delivery.id)
            and bool(payload.get("beginning")) == delivery.beginning
        )

    return matches


def shares(file: str) -> Callable[[Json], bool]:
    """Does a message share the file?"""

    def matches(message: Json) -> bool:
        listed = message.get("files")
        return isinstance(listed, list) and any(isinstance(one, dict) and one.get("id") == file for one in listed)

    return matches


async def _ask(line: Line, method: str, arguments: Json) -> dict[str, object]:
    try:
        return await line.call(method, arguments)
    except (NotSent, ChatDead, BotRejected):
        raise
    except Rejected as refusal:
        if "thread_not_found" in str(refusal):  # so nothing is in it
            return {}
        raise NotSent(f"not known whether it was sent before: {refusal}") from None
    except BotError as trouble:
        raise NotSent(f"not known whether it was sent before: {trouble}") from None
