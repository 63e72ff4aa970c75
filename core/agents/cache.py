"""Agents that wait for their session's next turn. Bounded by count, bytes of history and idle time."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.agents.agent import Agent
from core.agents.signature import AgentSignature
from core.store.conversations import ConversationId
from core.store.entries import Entry, Json

ENTRY_OVERHEAD_BYTES = 600
"""Of one entry's objects around its text (measured with sys.getsizeof on CPython 3.11)."""

DATA_BYTES = 70
"""Of one value in an entry's data: its place in a dict, its key and the value's own head (measured likewise)."""


def weight(history: list[Entry]) -> int:
    """About how many bytes a history holds."""
    return sum(len(entry.text) + ENTRY_OVERHEAD_BYTES + _data_weight(entry.data) for entry in history)


def _data_weight(data: Json) -> int:
    """JSON as Python holds it: about three times what is written."""
    match data:
        case str():
            return len(data)
        case Mapping():
            return DATA_BYTES + sum(DATA_BYTES + _data_weight(value) for value in data.values())
        case Sequence():
            return DATA_BYTES + sum(_data_weight(value) for value in data)
        case _:
            return 0


@dataclass(slots=True)
class CachedAgent:
    """An agent with the history that it has seen, good for one signature."""

    signature: AgentSignature
    agent: Agent
    history: list[Entry]
    bytes: int
    used_s: float = 0.0

    def learn(self, history: list[Entry]) -> None:
        """It knows this, and nothing else."""
        self.history = history
        self.bytes = weight(history)


class AgentCache:
    """Least recently used first. A busy agent is not in here: taking one removes it, and the turn puts it back."""

    def __init__(self, *, most: int, most_bytes: int, idle_s: float) -> None:
        self.most = most
        self.most_bytes = most_bytes
        self.idle_s = idle_s
        self.hits = 0
        self.evictions = 0
        self.misses: Counter[str] = Counter()
        self._agents: OrderedDict[ConversationId, CachedAgent] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._agents)

    @property
    def bytes(self) -> int:
        """About how many the histories hold."""
        return self._bytes

    def take(self, conversation: ConversationId, signature: AgentSignature) -> CachedAgent | None:
        """The conversation's agent if it is exactly the one that is wanted. A stale one is thrown away."""
        cached = self._remove(conversation)
        if cached is None:
            self.misses["absent"] += 1
            return None
        difference = cached.signature.first_difference(signature)
        if difference is not None:
            self.misses[difference] += 1
            return None
        self.hits += 1
        return cached

    def bound(self, *, most: int, most_bytes: int, idle_s: float) -> None:
        """Other bounds from now on; who is beyond them has to go."""
        self.most, self.most_bytes, self.idle_s = most, most_bytes, idle_s
        self._make_room()

    def put(self, conversation: ConversationId, cached: CachedAgent, now_s: float) -> None:
        """Keep it for the next turn; others may have to go for it."""
        self._remove(conversation)
        cached.used_s = now_s
        self._agents[conversation] = cached
        self._bytes += cached.bytes
        self._make_room()

    def _make_room(self) -> None:
        while self._agents and (len(self._agents) > self.most or self._bytes > self.most_bytes):
            self.evict(next(iter(self._agents)))

    def evict(self, conversation: ConversationId) -> None:
        if self._remove(conversation) is not None:
            self.evictions += 1

    def evict_idle(self, now_s: float) -> int:
        """Throw away agents that were not used for `idle_s`; how many."""
        old = [key for key, cached in self._agents.items() if now_s - cached.used_s >= self.idle_s]
        for conversation in old:
            self.evict(conversation)
        return len(old)

    def _remove(self, conversation: ConversationId) -> CachedAgent | None:
        cached = self._agents.pop(conversation, None)
        if cached is not None:
            self._bytes -= cached.bytes
        return cached
