"""What the argument of a command may be for a person, as platforms offer it while somebody types."""

from __future__ import annotations

from core.agents.agent import AgentSpec
from core.desk.commands.effects import may_come_to
from core.desk.house import House
from core.people.access import identity_of
from core.people.names import one_line
from core.ports import Choice, Principal
from core.store import conversations, people, sessions
from core.store.people import Role
from core.store.sql import Tx

MOST = 25
"""As many as people look through, and as many as any platform shows."""
SHOWN_CHARS = 75
COMPLETED = frozenset({"resume", "model", "agent"})


async def complete(house: House, principal: Principal, command: str, typed: str) -> list[Choice]:
    """Best first; nothing for strangers, and nothing of other people's. Raises `StoreError`."""
    bot = house.bots.get(principal.address.bot)
    identity = identity_of(bot.platform, principal.sender) if bot is not None else None
    if identity is None or command not in COMPLETED:
        return []
    access = house.access.of(principal.address.bot)

    def look(tx: Tx) -> tuple[Role | None, list[Choice]]:
        known = people.known(tx, identity)
        role = access.role(identity, known.role if known is not None else None)
        role = Role.GUEST if role is None and access.direct == "open" else role
        wanted = role is not None and role is not Role.BLOCKED and command == "resume"
        return role, _sessions(tx, house, principal, identity, role) if wanted else []

    role, found = await house.store.read(look)
    if role is None or role is Role.BLOCKED:
        return []
    spec = house.agents.spec(None, house.policies.agent(principal.address.bot))
    offered = found if command == "resume" else _names(house, spec, command)
    words = typed.strip().casefold()
    return [choice for choice in offered if words in choice.label.casefold() or words in choice.value][:MOST]


def _sessions(tx: Tx, house: House, principal: Principal, identity: str, role: Role | None) -> list[Choice]:
    here, now = principal.address.chat, house.clock.now()
    listed = []
    for session in sessions.of_person(tx, None, identity, 200):
        place = conversations.get(tx, session.conversation)
        if session.messages and may_come_to(session, here=place.address.chat == here, role=role):
            title = one_line(session.title or house.notices.say("untitled"))[:SHOWN_CHARS]
            listed.append(Choice(value=session.id, label=f"{title} ({house.notices.age(now - session.touched_at)})"))
    return listed


def _names(house: House, spec: AgentSpec, command: str) -> list[Choice]:
    names = list(spec.models) if command == "model" else list(house.agents.specs)
    return [Choice(value=name, label=name[:SHOWN_CHARS]) for name in names]
