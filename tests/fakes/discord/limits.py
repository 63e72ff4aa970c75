"""Rate limits: buckets per route and top-level resource, the global limit, and those that a test orders.

https://docs.discord.com/developers/topics/rate-limits. Discord publishes the global number only; the others are those
that its answers have carried for years.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.fakes.discord.errors import ApiError
from tests.fakes.discord.model import JsonObject

OF_INTERACTIONS = frozenset({"callback", "followup", "get_response", "edit_response", "delete_response"})
"""Not bound to the global limit (docs, "Global Rate Limit")."""


@dataclass(frozen=True, kw_only=True)
class RateLimits:
    """Calls per seconds in a bucket; `routes` holds the exceptions."""

    overall_per_s: int = 50
    usual: tuple[int, float] = (10, 10.0)
    routes: dict[str, tuple[int, float]] = field(
        default_factory=lambda: {
            "create_message": (5, 5.0),
            "edit_message": (5, 5.0),
            "delete_message": (5, 1.0),
            "get_messages": (5, 5.0),
            "get_message": (5, 5.0),
            "typing": (5, 5.0),
            "create_reaction": (1, 0.25),
            "delete_reaction": (1, 0.25),
            "create_dm": (10, 60.0),
            "callback": (50, 1.0),
            "followup": (5, 2.0),
            "get_response": (5, 2.0),
            "edit_response": (5, 2.0),
            "delete_response": (5, 2.0),
        }
    )


class RateLimited(ApiError):
    """A 429. `scope` is user, shared or global; `after_s` are seconds."""

    def __init__(self, after_s: float, scope: str, *, code: int = 0, rule: str | None = None) -> None:
        words = "The resource is being rate limited." if scope == "shared" else "You are being rate limited."
        if code == 20028:
            words = "The write action you are performing on the channel has hit the write rate limit."
        super().__init__(429, code, words, rule=rule)
        self.after_s = after_s
        self.scope = scope

    def json(self) -> JsonObject:
        body: JsonObject = {
            "message": self.message,
            "retry_after": round(self.after_s, 3),
            "global": self.scope == "global",
        }
        return {**body, "code": self.code} if self.code else body


@dataclass
class Ordered:
    """A 429 that a test ordered, from `after` more fitting calls on. Route "*" fits every route."""

    route: str
    after_s: float
    scope: str = "user"
    channel_id: int | None = None
    code: int = 0
    after: int = 0

    def fits(self, route: str, channel_id: int | None) -> bool:
        return self.route in {"*", route} and self.channel_id in {None, channel_id}


@dataclass
class _Bucket:
    left: int
    resets_at: float


class RateLimiter:
    """Decides on each call in turn. A refusal opens a wait; calling again before its end breaks the rules."""

    def __init__(self, limits: RateLimits | None, clock: Callable[[], float], wall_clock: Callable[[], float]) -> None:
        self.limits = limits
        self._clock = clock
        self._wall_clock = wall_clock
        self._buckets: dict[tuple[str, str], _Bucket] = {}
        self._ordered: list[Ordered] = []
        self._waits: list[tuple[Ordered, str, float]] = []
        self._seconds: dict[str, list[float]] = {}

    def order(self, ordered: Ordered) -> None:
        self._ordered.append(ordered)

    def clear(self) -> None:
        self._ordered.clear()
        self._waits.clear()
        self._buckets.clear()
        self._seconds.clear()

    def admit(self, token: str, route: str, major: str, channel_id: int | None) -> None:
        """Counts the call, or raises `RateLimited`. `major` names the top-level resource of the path."""
        now = self._clock()
        self._refuse_early(token, route, channel_id, now)
        for ordered in self._ordered:
            if not ordered.fits(route, channel_id):
                continue
            if ordered.after == 0:
                self._ordered.remove(ordered)
                self._waits.append((ordered, token, now + ordered.after_s))
                raise RateLimited(ordered.after_s, ordered.scope, code=ordered.code)
            ordered.after -= 1
        if self.limits is not None:
            self._count(self.limits, token, route, major)

    def headers(self, token: str, route: str, major: str, error: ApiError | None = None) -> dict[str, str]:
        """The X-RateLimit-* headers of an answer."""
        heads = {"Via": "1.1 google"}
        if isinstance(error, RateLimited):
            heads["Retry-After"] = str(max(1, math.ceil(error.after_s)))
            heads["X-RateLimit-Scope"] = error.scope
            if error.scope == "global":
                return {**heads, "X-RateLimit-Global": "true"}
        limit, window_s = self._rule(route) if self.limits is not None else (1000, 1.0)
        bucket = self._buckets.get((route, f"{token}/{major}"))
        left, reset_s = (limit, window_s) if bucket is None else (bucket.left, bucket.resets_at - self._clock())
        if isinstance(error, RateLimited):
            reset_s = error.after_s
            left = left if error.scope == "shared" or error.code else 0
        return {
            **heads,
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(left),
            "X-RateLimit-Reset": f"{self._wall_clock() + max(0.0, reset_s):.3f}",
            "X-RateLimit-Reset-After": f"{max(0.0, reset_s):.3f}",
            "X-RateLimit-Bucket": hashlib.sha256(route.encode()).hexdigest()[:32],
        }

    def _rule(self, route: str) -> tuple[int, float]:
        assert self.limits is not None
        return self.limits.routes.get(route, self.limits.usual)

    def _refuse_early(self, token: str, route: str, channel_id: int | None, now: float) -> None:
        self._waits = [(ordered, owner, until) for ordered, owner, until in self._waits if until > now]
        for ordered, owner, until in self._waits:
            everywhere = ordered.scope == "global" and route not in OF_INTERACTIONS
            if owner == token and (everywhere or ordered.fits(route, channel_id)):
                raise RateLimited(until - now, ordered.scope, code=ordered.code, rule="retry_early")

    def _count(self, limits: RateLimits, token: str, route: str, major: str) -> None:
        now = self._clock()
        if route not in OF_INTERACTIONS:
            recent = [at for at in self._seconds.get(token, []) if at > now - 1.0]
            if len(recent) >= limits.overall_per_s:
                raise RateLimited(max(0.001, recent[0] + 1.0 - now), "global", rule="rate")
            self._seconds[token] = [*recent, now]
        limit, window_s = self._rule(route)
        key = (route, f"{token}/{major}")
        bucket = self._buckets.get(key)
        if bucket is None or bucket.resets_at <= now:
            bucket = self._buckets[key] = _Bucket(left=limit, resets_at=now + window_s)
        if bucket.left == 0:
            raise RateLimited(bucket.resets_at - now, "user", rule="rate")
        bucket.left -= 1
