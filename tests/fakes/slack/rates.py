"""Rate limits. Source of the numbers: https://docs.slack.dev/apis/web-api/rate-limits."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from tests.fakes.slack.errors import rate_limited

POST = "chat.postMessage"
_POSTS = frozenset({POST, "files.completeUploadExternal"})


@dataclass(frozen=True, kw_only=True)
class RateLimits:
    """Per method, app and workspace a tier's calls per minute, all of them at once if need be; one message per second
    and channel with short bursts; some hundred messages per minute and workspace."""

    post_per_s: float = 1.0
    post_burst: int = 5
    team_posts_per_min: int = 300
    tiers_per_min: tuple[int, int, int, int] = (1, 20, 50, 100)


@dataclass
class Injected:
    """A 429 that a test ordered: it starts after `after` more calls that would have been let through."""

    method: str
    channel: str | None
    retry_after_s: int
    after: int


@dataclass
class _Bucket:
    tokens: float
    at: float

    def wait_s(self, per_s: float, burst: float, now: float) -> float:
        """Seconds until the next call may pass; fills the bucket on the way."""
        self.tokens = min(burst, self.tokens + (now - self.at) * per_s)
        self.at = now
        return 0.0 if self.tokens >= 1.0 - 1e-9 else (1.0 - self.tokens) / per_s


class RateControl:
    """Decides on each call in turn. A refusal opens a wait; calling again before its end breaks the rules."""

    def __init__(self, limits: RateLimits | None, clock: Callable[[], float]) -> None:
        self.limits = limits
        self._clock = clock
        self._injected: list[Injected] = []
        self._waits: dict[tuple[str, str], float] = {}
        self._buckets: dict[tuple[str, str], _Bucket] = {}

    def inject(self, injected: Injected) -> None:
        self._injected.append(injected)

    def clear(self) -> None:
        self._injected.clear()
        self._waits.clear()
        self._buckets.clear()

    def admit(self, owner: str, method: str, tier: int | None, channel: str) -> None:
        """Counts the call, or raises `ApiError` 429. `owner` is the app in its workspace."""
        now = self._clock()
        place = f"{owner}/{method}"
        self._refuse_early(place, channel, now)
        for injected in self._injected:
            if injected.method not in {"*", method} or injected.channel not in {None, channel}:
                continue
            if injected.after == 0:
                self._injected.remove(injected)
                self._waits[place, injected.channel or ""] = now + injected.retry_after_s
                raise rate_limited(injected.retry_after_s, problem=None)
            injected.after -= 1
        if self.limits is not None:
            self._count(self.limits, (owner, method, channel), tier, now)

    def _refuse_early(self, place: str, channel: str, now: float) -> None:
        for key in {(place, ""), (place, channel)}:
            until = self._waits.get(key, now)
            if now < until:
                raise rate_limited(max(1, math.ceil(until - now)), problem="retry_early")
            self._waits.pop(key, None)

    def _count(self, limits: RateLimits, call: tuple[str, str, str], tier: int | None, now: float) -> None:
        owner, method, channel = call
        asked: list[tuple[_Bucket, float]] = []
        if tier is not None:
            per_min = limits.tiers_per_min[tier - 1]
            asked.append(self._ask((f"{owner}/{method}", ""), per_min / 60, per_min, now))
        if method in _POSTS:
            asked.append(self._ask((f"{owner}/posts", channel), limits.post_per_s, limits.post_burst, now))
            per_min = limits.team_posts_per_min
            asked.append(self._ask((f"{owner}/posts", ""), per_min / 60, per_min, now))
        wait_s = max((wait for _, wait in asked), default=0.0)
        if wait_s > 0:
            retry_after_s = max(1, math.ceil(wait_s - 1e-9))
            self._waits[f"{owner}/{method}", channel if method in _POSTS else ""] = now + retry_after_s
            raise rate_limited(retry_after_s, problem="rate")
        for bucket, _ in asked:
            bucket.tokens -= 1.0

    def _ask(self, key: tuple[str, str], per_s: float, burst: float, now: float) -> tuple[_Bucket, float]:
        bucket = self._buckets.setdefault(key, _Bucket(float(burst), now))
        return bucket, bucket.wait_s(per_s, burst, now)
