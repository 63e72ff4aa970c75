"""Whether a delivery is there already: what we send carries the delivery's id as metadata."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from bots.slack.history import cursor_of
from bots.slack.line import Line
from bots.slack.outbound import DELIVERED
from core.errors import BotError, BotRejected, ChatDead, NotSent, Rejected, Unknown
from core.fields import Json, records
from core.vocabulary import Address, Delivery, Earlier, MessageId

_PAGE: Final = 200
_MOST_PAGES: Final = 50
_TS: Final = re.compile(r"\d+\.\d+", re.ASCII)


def since(delivery: Delivery, earlier: Earlier) -> float:
    """No earlier try of the delivery was before that, by Slack's clock: it is below what it answers, too."""
    asked = delivery.answers or ""
    return max(earlier.since.timestamp(), float(asked) if _TS.fullmatch(asked) else 0.0)


async def find(line: Line, address: Address, matches: Callable[[Json], bool], since: float) -> MessageId | None:
    """A message after that moment that matches, if there is one. Raises `NotSent` where Slack does not say now,
    `Unknown` where more was said there than can be looked at, or `BotError` where Slack never will say."""
    arguments: dict[str, object] = {
        "channel": address.chat,
        "oldest": f"{since:.6f}",
        "limit": _PAGE,
        "include_all_metadata": True,
    }
    method = "conversations.history"
    if address.thread is not None:
        method, arguments = "conversations.replies", {**arguments, "ts": address.thread}
    for _ in range(_MOST_PAGES):
        answer = await _ask(line, method, arguments)
        for one in records(answer.get("messages")):
            if isinstance(one.get("ts"), str) and matches(one):
                return MessageId(str(one["ts"]))
        cursor = cursor_of(answer)
        if not cursor:
            return None
        arguments = {**arguments, "cursor": cursor}
    raise Unknown("too much was said there to know whether it was sent before", for_good=True)


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
