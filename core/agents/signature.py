"""What a cached agent was made from. Equality decides whether it may answer."""

from __future__ import annotations

from msgspec import Struct

from core.agents.agent import AgentSpec
from core.store.conversations import SessionId
from core.store.sessions import ResetContext, Session


class AgentSignature(Struct, frozen=True, kw_only=True):
    """`head` is the seq of the last entry that the model sees: an agent is good for one head only."""

    session: SessionId
    generation: int
    reset: ResetContext | None
    head: int
    agent: str
    model: str
    digest: str

    def first_difference(self, other: AgentSignature) -> str | None:
        """The name of the first field that differs; None: they are equal."""
        names = self.__struct_fields__
        return next((name for name in names if getattr(self, name) != getattr(other, name)), None)


def sign(session: Session, head: int, spec: AgentSpec) -> AgentSignature:
    """The signature of an agent that may answer in this session after this head."""
    return AgentSignature(
        session=session.id,
        generation=session.generation,
        reset=session.reset,
        head=head,
        agent=spec.name,
        model=spec.model,
        digest=spec.digest,
    )
