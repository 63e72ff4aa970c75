"""What Slack has to tell an app, and how often it tries. Knows neither sockets nor HTTP.

Source: https://docs.slack.dev/apis/events-api/#retries: an answer within 3 seconds, else up to three more attempts, at
once, after a minute and after five. Commands, interactions and the like are tried once: the person sees an error.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tests.fakes.slack.model import JsonObject, JsonValue

Kind: TypeAlias = Literal["events_api", "slash_commands", "interactive", "url_verification"]
State: TypeAlias = Literal["waiting", "open", "acked", "lost"]

ANSWER_S = 3.0
RETRIES_S = (0.0, 60.0, 300.0)


@dataclass
class Attempt:
    """One attempt. `via` is a socket's id or "http". `outcome` is empty while it is open, then "ok" or the reason of
    failure (timeout, http_timeout, http_error, connection_failed). `answered_at` is when an answer came, in time or
    not; `answer` is the payload that came with it. `sent` are headers and body, for HTTP."""

    envelope_id: str
    number: int
    at: float
    via: str
    outcome: str = ""
    answered_at: float | None = None
    answer: JsonValue = None
    status: int | None = None
    sent: tuple[dict[str, str], bytes] | None = None

    @property
    def delay_s(self) -> float | None:
        return None if self.answered_at is None else self.answered_at - self.at


@dataclass
class Delivery:
    """One event, command or interaction on its way to one app."""

    number: int
    app_id: str
    kind: Kind
    payload: JsonObject
    accepts_payload: bool
    next_at: float
    state: State = "waiting"
    reason: str | None = None
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def event_id(self) -> str:
        value = self.payload.get("event_id")
        return value if isinstance(value, str) else ""

    @property
    def event(self) -> JsonObject:
        value = self.payload.get("event")
        return value if isinstance(value, dict) else {}

    @property
    def retried(self) -> bool:
        return self.kind == "events_api"


class Courier:
    """Under the platform's lock. `retries_s` are the waits before each further attempt. `moves` counts changes."""

    def __init__(self, clock: Callable[[], float], *, answer_s: float, retries_s: tuple[float, ...]) -> None:
        self._clock = clock
        self.answer_s = answer_s
        self.retries_s = retries_s
        self.deliveries: list[Delivery] = []
        self._by_envelope: dict[str, tuple[Delivery, Attempt]] = {}
        self._unsettled: list[Delivery] = []
        self.moves = 0

    def add(self, app_id: str, kind: Kind, payload: JsonObject, *, accepts_payload: bool = False) -> Delivery:
        delivery = Delivery(
            number=len(self.deliveries),
            app_id=app_id,
            kind=kind,
            payload=payload,
            accepts_payload=accepts_payload,
            next_at=self._clock(),
        )
        self.deliveries.append(delivery)
        self._unsettled.append(delivery)
        return delivery

    def again(self, delivery: Delivery) -> None:
        """Sent once more although it is settled (a duplicate)."""
        delivery.state, delivery.next_at, delivery.reason = "waiting", self._clock(), "timeout"
        if delivery not in self._unsettled:
            self._unsettled.append(delivery)

    def due(self) -> list[Delivery]:
        """In the order in which they were added."""
        self._expire()
        self._unsettled = [one for one in self._unsettled if one.state in {"waiting", "open"}]
        now = self._clock()
        return [one for one in self._unsettled if one.state == "waiting" and one.next_at <= now]

    def next_at(self) -> float | None:
        """When there is something to do again, if nothing happens before."""
        times = [one.next_at for one in self._unsettled if one.state == "waiting"]
        times += [one.attempts[-1].at + self.answer_s for one in self._unsettled if one.state == "open"]
        return min(times, default=None)

    def begin(self, delivery: Delivery, via: str) -> Attempt:
        attempt = Attempt(str(uuid.uuid4()), len(delivery.attempts), self._clock(), via)
        delivery.attempts.append(attempt)
        delivery.state = "open"
        self.moves += 1
        self._by_envelope[attempt.envelope_id] = (delivery, attempt)
        return attempt

    def find(self, envelope_id: str) -> tuple[Delivery, Attempt] | None:
        return self._by_envelope.get(envelope_id)

    def answered(self, delivery: Delivery, attempt: Attempt, answer: JsonValue) -> bool:
        """Whether the answer came in time. One that comes late changes nothing."""
        if attempt.answered_at is None:
            attempt.answered_at, attempt.answer = self._clock(), answer
        if attempt.outcome or self._clock() > attempt.at + self.answer_s:
            return False
        attempt.outcome = "ok"
        delivery.state = "acked"
        return True

    def failed(self, delivery: Delivery, attempt: Attempt, reason: str, *, no_retry: bool = False) -> None:
        if attempt.outcome:
            return
        attempt.outcome = reason
        self.moves += 1
        if delivery.state != "open" or delivery.attempts[-1] is not attempt:
            return
        retry = len(delivery.attempts) - 1
        if no_retry or not delivery.retried or retry >= len(self.retries_s):
            delivery.state = "lost"
            return
        delivery.state, delivery.reason = "waiting", reason
        delivery.next_at = self._clock() + self.retries_s[retry]

    def _expire(self) -> None:
        now = self._clock()
        for delivery in self._unsettled:
            attempt = delivery.attempts[-1] if delivery.attempts else None
            if delivery.state == "open" and attempt is not None and now >= attempt.at + self.answer_s:
                self.failed(delivery, attempt, "http_timeout" if attempt.via == "http" else "timeout")
