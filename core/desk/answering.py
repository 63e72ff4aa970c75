"""Who answers somebody: what was chosen in the conversation, as far as this person may choose it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from core.store.conversations import Conversation
from core.store.inbox import Waiting
from core.store.people import Role
from core.vocabulary import ChatKind


class Offer(Struct, frozen=True, kw_only=True):
    """The agents of one bot: `usual` answers where nobody chose, and `more` may be chosen by whoever is no owner."""

    usual: str
    more: tuple[str, ...] = ()

    def agents(self, role: str, known: Iterable[str]) -> list[str]:
        """Those of the `known` agents that somebody with this role may choose."""
        return [name for name in known if role == Role.OWNER or name in (self.usual, *self.more)]

    def holds(self, conversation: Conversation, role: str) -> Conversation:
        """The conversation as it is for somebody with this role: another person's choice gives nobody an agent that
        they may not choose, and a model that a guest once chose for themselves is theirs no more."""
        if conversation.agent is not None and not self.agents(role, [conversation.agent]):
            return replace(conversation, agent=None, model=None)
        if conversation.kind is ChatKind.DIRECT and not chooses_models(role):
            return replace(conversation, model=None)
        return conversation


def chooses_models(role: str) -> bool:
    """Whoever was let in may."""
    return role in (Role.OWNER, Role.USER)


def role_of(rows: Sequence[Waiting]) -> str:
    """As what the author of a turn's rows was heard: the last one's. Nobody's is a guest's."""
    return rows[-1].role if rows else Role.GUEST
