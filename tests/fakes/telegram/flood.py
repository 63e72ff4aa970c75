"""Flood control. Source of the numbers: https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tests.fakes.telegram.errors import too_many_requests
from tests.fakes.telegram.model import Chat

COUNTED = frozenset(
    [
        "sendmessage",
        "sendphoto",
        "senddocument",
        "sendvoice",
        "sendaudio",
        "sendvideo",
        "sendmediagroup",
        "editmessagetext",
        "editmessagecaption",
        "editmessagereplymarkup",
    ]
)
GROUP_WINDOW_S = 60.0


@dataclass(frozen=True, kw_only=True)
class FloodLimits:
    """The FAQ: one message a second in a chat with short bursts, 20 a minute in a group, 30 a second in all.

    Edits count like messages. Channels are treated like private chats.
    """

    chat_per_s: float = 1.0
    chat_burst: int = 5
    group_per_min: int = 20
    overall_per_s: int = 30


@dataclass
class Injected:
    """A 429 that a test ordered: it starts after `after` more calls that would have been let through."""

    chat_id: int | None
    method: str | None
    retry_after_s: int
    after: int

    def fits(self, method: str, chat_id: int) -> bool:
        if self.chat_id not in {None, chat_id}:
            return False
        return method in COUNTED if self.method is None else method == self.method


class FloodControl:
    """Decides on each call in turn. A refusal opens a wait; calling again before its end breaks the rules."""

    def __init__(self, limits: FloodLimits | None, clock: Callable[[], float]) -> None:
        self.limits = limits
        self._clock = clock
        self._injected: list[Injected] = []
        self._waits: dict[tuple[int | None, str | None], float] = {}
        self._tokens: dict[int, tuple[float, float]] = {}
        self._group_sends: dict[int, deque[float]] = {}
        self._sends: deque[float] = deque()

    def inject(self, injected: Injected) -> None:
        self._injected.append(injected)

    def clear(self) -> None:
        self._injected.clear()
        self._waits.clear()

    def admit(self, method: str, chat: Chat) -> None:
        """Counts the call, or raises `ApiError` 429."""
        now = self._clock()
        self._refuse_early(method, chat, now)
        for injected in self._injected:
            if not injected.fits(method, chat.id):
                continue
            if injected.after == 0:
                self._injected.remove(injected)
                self._waits[injected.chat_id, injected.method] = now + injected.retry_after_s
                raise too_many_requests(injected.retry_after_s, rule=None)
            injected.after -= 1
        if self.limits is not None and method in COUNTED:
            self._count(self.limits, chat, now)

    def _refuse_early(self, method: str, chat: Chat, now: float) -> None:
        for (chat_id, only), until in list(self._waits.items()):
            fits = chat_id in {None, chat.id} and (method in COUNTED if only is None else method == only)
            if now >= until:
                del self._waits[chat_id, only]
            elif fits:
                raise too_many_requests(max(1, math.ceil(until - now)), rule="retry_early")

    def _count(self, limits: FloodLimits, chat: Chat, now: float) -> None:
        tokens, at = self._tokens.get(chat.id, (float(limits.chat_burst), now))
        tokens = min(float(limits.chat_burst), tokens + (now - at) * limits.chat_per_s)
        group = self._group_sends.setdefault(chat.id, deque())
        _forget(group, now - GROUP_WINDOW_S)
        _forget(self._sends, now - 1.0)
        wait_s = 0.0
        if tokens < 1.0 - 1e-9:
            wait_s = (1.0 - tokens) / limits.chat_per_s
        if chat.is_group and len(group) >= limits.group_per_min:
            wait_s = max(wait_s, group[0] + GROUP_WINDOW_S - now)
        whole_bot = len(self._sends) >= limits.overall_per_s
        if whole_bot:
            wait_s = max(wait_s, self._sends[0] + 1.0 - now)
        if wait_s > 0:
            retry_after_s = max(1, math.ceil(wait_s - 1e-9))
            self._waits[None if whole_bot else chat.id, None] = now + retry_after_s
            raise too_many_requests(retry_after_s, rule="rate")
        self._tokens[chat.id] = (tokens - 1.0, now)
        group.append(now)
        self._sends.append(now)


def _forget(times: deque[float], before: float) -> None:
    while times and times[0] <= before:
        times.popleft()
