"""The cache of agents: exact, bounded, counted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import fields, replace

from core.agents.agent import AgentSpec
from core.agents.cache import AgentCache, CachedAgent
from core.agents.offline import make
from core.agents.signature import AgentSignature
from core.store.conversations import ConversationId, SessionId
from core.store.sessions import ResetContext

AT = datetime(2026, 3, 2, tzinfo=UTC)
ONE = AgentSignature(session=SessionId("s"), generation=1, reset=None, head=4, agent="a", model="m", digest="d")
OTHERS: dict[str, object] = {
    "session": SessionId("t"),
    "generation": 2,
    "reset": ResetContext(reason="idle", parent=SessionId("p"), parent_last_at=AT),
    "head": 5,
    "agent": "b",
    "model": "n",
    "digest": "e",
}
KEY = ConversationId(1)


def cached(signature: AgentSignature = ONE, size: int = 10) -> CachedAgent:
    return CachedAgent(signature=signature, agent=make(AgentSpec(name="a", backend="offline")), history=[], bytes=size)


def cache(most: int = 3, most_bytes: int = 100, idle_s: float = 60) -> AgentCache:
    return AgentCache(most=most, most_bytes=most_bytes, idle_s=idle_s)


@pytest.mark.parametrize("field", sorted(OTHERS))
def test_any_difference_is_a_miss_counted_by_its_name(field: str) -> None:
    agents = cache()
    agents.put(KEY, cached(), 0)
    assert agents.take(KEY, replace(ONE, **{field: OTHERS[field]})) is None
    assert dict(agents.misses) == {field: 1}
    assert len(agents) == 0


def test_every_field_of_a_signature_decides() -> None:
    assert {field.name for field in fields(AgentSignature)} == set(OTHERS)


def test_an_agent_that_is_taken_is_in_the_cache_no_more() -> None:
    agents = cache()
    agents.put(KEY, cached(), 0)
    assert agents.take(KEY, ONE) is not None
    assert agents.take(KEY, ONE) is None
    assert (agents.hits, dict(agents.misses)) == (1, {"absent": 1})


def test_whoever_was_quiet_longest_goes_first() -> None:
    agents = cache(most=2)
    for number in (1, 2):
        agents.put(ConversationId(number), cached(), number)
    taken = agents.take(ConversationId(1), ONE)
    assert taken is not None
    agents.put(ConversationId(1), taken, 3)
    agents.put(ConversationId(3), cached(), 4)
    assert agents.take(ConversationId(2), ONE) is None
    assert agents.take(ConversationId(1), ONE) is not None
    assert agents.evictions == 1


def test_bytes_bound_it_too_and_one_that_is_too_large_is_not_kept() -> None:
    agents = cache(most=100, most_bytes=100)
    for number in range(20):
        agents.put(ConversationId(number), cached(size=30), number)
    assert len(agents) == 3
    agents.put(ConversationId(99), cached(size=101), 99)
    assert len(agents) == 0
    agents.put(KEY, cached(size=100), 100)
    assert len(agents) == 1


def test_putting_one_anew_counts_it_once() -> None:
    agents = cache(most_bytes=100)
    for _ in range(10):
        agents.put(KEY, cached(size=60), 0)
    assert len(agents) == 1
    assert agents.evictions == 0


def test_idle_ones_go() -> None:
    agents = cache(idle_s=60)
    agents.put(ConversationId(1), cached(), 0)
    agents.put(ConversationId(2), cached(), 30)
    assert agents.evict_idle(60) == 1
    assert agents.evict_idle(60) == 0
    assert agents.evict_idle(90) == 1
