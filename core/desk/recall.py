"""The agent for a turn: from the cache if it is exactly the right one, else made anew from the log."""

from __future__ import annotations

from collections.abc import AsyncIterator

import structlog

from core.agents.agent import AgentEvent, TurnContext
from core.agents.cache import CachedAgent, weight
from core.agents.signature import sign
from core.desk.admit import Admitted
from core.desk.house import House
from core.errors import AgentError, StoreError
from core.store import entries, history
from core.store.entries import Entry, Kind

log = structlog.get_logger("frontdesk.agents")


_NOTHING: tuple[AgentEvent, ...] = ()


class BrokenAgent:
    """Stands for an agent that could not be made, so that the turn fails like any other."""

    def __init__(self, fault: Exception) -> None:
        self._fault = fault

    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        for event in _NOTHING:
            yield event
        raise AgentError("the agent can't be made") from self._fault


async def recall(house: House, admitted: Admitted, *, anew: bool = False) -> CachedAgent:
    """With `anew` (another attempt at a turn) the cache is not asked."""
    conversation, turn = admitted.conversation, admitted.turn
    agents = house.agents  # another configuration may hold before this one has been looked through
    spec = await agents.fresh(conversation.agent, turn.agent, conversation.model)
    signature = sign(admitted.session, admitted.head, spec)
    if not anew:
        cached = house.cache.take(conversation.id, signature)
        if cached is not None:
            return cached
    try:
        past = await _past(house, admitted) if admitted.head else []
        agent = agents.make(spec)
    except StoreError:
        raise
    except Exception as fault:  # agent: a log that can't be folded or a factory that fails is told like any fault
        log.exception("agent_not_made", agent=spec.name)
        return CachedAgent(signature=signature, agent=BrokenAgent(fault), history=[], bytes=0)
    return CachedAgent(signature=signature, agent=agent, history=past, bytes=weight(past))


async def _past(house: House, admitted: Admitted) -> list[Entry]:
    """What the model is shown before this turn's message. A new attempt finds rewound entries behind it, and maybe a
    compaction that the first one made."""
    log_ = await house.store.read(lambda tx: entries.of_session(tx, admitted.session.id))
    before = admitted.message.seq
    return [one for one in history.for_model(log_) if one.seq < before or one.kind is Kind.COMPACTION]


def keep(house: House, admitted: Admitted, cached: CachedAgent, learned: list[Entry], head: int) -> None:
    """After a turn that went well the agent waits for the next one, good for the head that the turn left."""
    conversation = admitted.conversation
    spec = house.agents.spec(conversation.agent, admitted.turn.agent, conversation.model)
    signature = sign(admitted.session, head, spec)
    if signature.digest == cached.signature.digest:
        cached.signature = signature
        cached.history += learned
        cached.bytes += weight(learned)
        house.cache.put(conversation.id, cached, house.clock.monotonic())
