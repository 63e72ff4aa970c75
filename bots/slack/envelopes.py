"""What Slack hands over, by socket or by HTTP, and wants acknowledged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal

from core.fields import Json

Kind = Literal["event", "command", "interaction"]
ANSWER_S: Final = 2.8
"""Slack takes an acknowledgement within three seconds (https://docs.slack.dev/apis/events-api/#responding)."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Envelope:
    """`acknowledge` takes what is answered with it, if anything, and never raises. `arrived_s` is of the monotonic
    clock."""

    kind: Kind
    payload: Json
    arrived_s: float
    acknowledge: Callable[[Json | None], Awaitable[None]]

    @property
    def event_id(self) -> str:
        """The same each time that Slack tries; "" if there is none."""
        value = self.payload.get("event_id")
        return value if isinstance(value, str) else ""
