"""How fast a chat may be written to. One object per bot and chat decides; all of a bot's share its account's pace."""

from __future__ import annotations

from core.errors import FloodWait
from core.vocabulary import Capabilities, ChatKind, Pace


class Bucket:
    """`burst` at once, then one every `interval_s`, and nothing before a wait is over that the platform named. Times
    are monotonic seconds."""

    def __init__(self, pace: Pace | None) -> None:
        self._pace = pace
        self._level = float(pace.burst) if pace else 0.0
        self._at = 0.0
        self._blocked_until = 0.0

    def allow(self, pace: Pace | None, now: float) -> None:
        """Another pace from now on; what was spent stays spent."""
        filled = self._filled(now) if self._pace is not None else float(pace.burst) if pace is not None else 0.0
        self._level = min(filled, float(pace.burst)) if pace is not None else 0.0
        self._pace, self._at = pace, now

    def ready_in(self, now: float) -> float:
        """Seconds until one may go."""
        blocked_s = max(0.0, self._blocked_until - now)
        if self._pace is None:
            return blocked_s
        return max(blocked_s, (1.0 - self._filled(now)) * self._pace.interval_s)

    def blocked(self, now: float) -> bool:
        """Is a wait under way that the platform named?"""
        return now < self._blocked_until

    def block(self, now: float, wait_s: float) -> None:
        self._blocked_until = max(self._blocked_until, now + wait_s)

    def full(self, now: float) -> bool:
        """Nothing is remembered that a new one would not know."""
        return not self.blocked(now) and (self._pace is None or self._filled(now) >= self._pace.burst)

    def spend(self, now: float) -> None:
        if self._pace is not None:
            self._level = self._filled(now) - 1.0
            self._at = now

    def _filled(self, now: float) -> float:
        assert self._pace is not None  # noqa: S101  # callers looked
        return min(float(self._pace.burst), self._level + (now - self._at) / self._pace.interval_s)


class ChatPace:
    """When the next send or edit may go to one chat."""

    def __init__(self, capabilities: Capabilities, kind: ChatKind, account: Bucket) -> None:
        self._direct = kind is ChatKind.DIRECT
        self._chat = Bucket(self._pace_in(capabilities))
        self._account = account
        self._edit_every_s = self._edits_in(capabilities)
        self._edited_at = float("-inf")

    def _pace_in(self, capabilities: Capabilities) -> Pace | None:
        return capabilities.direct_pace if self._direct else capabilities.group_pace

    def _edits_in(self, capabilities: Capabilities) -> float:
        every_s = capabilities.edit_interval_s or 0.0
        if not self._direct and capabilities.group_pace is not None:
            return max(every_s, capabilities.group_pace.interval_s)
        return every_s

    def allow(self, capabilities: Capabilities, now: float) -> None:
        """The platform allows something else from now on; what went before still counts."""
        self._chat.allow(self._pace_in(capabilities), now)
        self._edit_every_s = self._edits_in(capabilities)

    def send_in(self, now: float) -> float:
        """Seconds until a send may go."""
        return max(self._chat.ready_in(now), self._account.ready_in(now))

    def edit_in(self, now: float) -> float:
        """Seconds until a preview's next edit may go. The last word, which replaces it, is a send."""
        return max(self.send_in(now), self._edited_at + self._edit_every_s - now)

    def spend(self, now: float) -> None:
        """One went, send or edit: platforms count both."""
        self._chat.spend(now)
        self._account.spend(now)
        self._edited_at = now

    def obey(self, now: float, flood: FloodWait) -> None:
        """The platform named a wait: before it is over nothing goes to this chat, or to any of the account."""
        (self._account if flood.account else self._chat).block(now, flood.wait_s)

    def blocked(self, now: float) -> bool:
        """Did the platform name a wait that is not over? Then nothing is shown there either."""
        return self._chat.blocked(now) or self._account.blocked(now)

    def rested(self, now: float) -> bool:
        """As `Bucket.full`."""
        return self._chat.full(now) and now >= self._edited_at + self._edit_every_s
