"""What the argument of a command may be for a person, as platforms offer it while somebody types."""

from __future__ import annotations

from collections.abc import Iterable

from core.desk import intake
from core.desk.answering import chooses_models
from core.desk.commands.effects import resumable
from core.desk.house import House
from core.desk.intake import Standing
from core.people.names import one_line
from core.ports import Choice, Principal
from core.store import conversations
from core.store.conversations import Conversation
from core.store.sessions import Session
from core.store.sql import Tx
from core.vocabulary import EventId, Message, MessageId

MOST = 25
"""As many as people look through, and as many as any platform shows."""
SHOWN_CHARS = 75
COMPLETED = frozenset({"resume", "model", "agent"})


async def complete(house: House, principal: Principal, command: str, typed: str) -> list[Choice]:
    """Best first: what the command may be given; nothing for whom the gate lets command nothing there. Raises
    `StoreError`."""
    if command not in COMPLETED:
        return []
    offer, terms = intake.offer(house, _command(house, principal), ""), intake.terms(house)

    def look(tx: Tx) -> tuple[Standing | None, Conversation | None, list[Session]]:
        who = intake.standing(tx, offer, terms)
        if who is None:
            return None, None, []
        here = None if who.conversation is None else conversations.get(tx, who.conversation)
        found = resumable(tx, who.conversation, who.identity, who.role) if command == "resume" else []
        return who, here, found

    who, here, found = await house.store.read(look)
    if who is None:
        return []
    agents = house.policies.agents(principal.address.bot)
    held = agents.holds(here, who.role) if here is not None else None
    spec = house.agents.spec(held.agent if held is not None else None, agents.usual)
    match command:
        case "resume":
            offered = _sessions(house, found)
        case "model":
            offered = _names(spec.models if chooses_models(who.role) else ())
        case _:
            offered = _names(agents.agents(who.role, house.agents.specs))
    words = typed.strip().casefold()
    return [choice for choice in offered if words in choice.label.casefold() or words in choice.value][:MOST]


async def hears(house: House, principal: Principal) -> bool:
    """Does the gate let this person command something there? Raises `StoreError`."""
    offer, terms = intake.offer(house, _command(house, principal), ""), intake.terms(house)
    return await house.store.read(lambda tx: intake.standing(tx, offer, terms)) is not None


def _command(house: House, principal: Principal) -> Message:
    """What the gate judges: something is offered to whom it lets command something."""
    return Message(
        event=EventId(""), message=MessageId(""), address=principal.address, kind=principal.kind,
        sender=principal.sender, text="(command)", sent_at=house.clock.now(), addressed=True, within=principal.within,
    )  # fmt: skip


def _sessions(house: House, found: list[Session]) -> list[Choice]:
    now = house.clock.now()
    listed = []
    for session in found:
        if session.messages:
            title = one_line(session.title or house.notices.say("untitled"))[:SHOWN_CHARS]
            listed.append(Choice(value=session.id, label=f"{title} ({house.notices.age(now - session.touched_at)})"))
    return listed


def _names(names: Iterable[str]) -> list[Choice]:
    return [Choice(value=name, label=name[:SHOWN_CHARS]) for name in names]
