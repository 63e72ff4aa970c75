"""Who answers in a conversation: `/model` and `/agent`. What is chosen holds for all who talk there and may choose it
themselves (`core.desk.answering`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.agents.agent import AgentSpec
from core.agents.registry import agent_named, model_named
from core.desk.admit import close_suspended
from core.desk.answering import chooses_models
from core.desk.commands.effects import Case, Effect
from core.store import conversations
from core.store.conversations import Conversation
from core.store.sql import Tx

NO_CHOICE = "default"
NAME_SHOWN = 120
"""Characters of what a person typed that are said back."""


def model(tx: Tx, case: Case) -> Effect:
    """The name that was chosen is stored, as it is listed: a short name goes on to mean what the configuration says."""
    say, conversation, name = case.notices.say, _held(case), _name(case)
    usual = case.agents.spec(conversation.agent, case.offer.usual)
    if not usual.model:
        return Effect(reply=say("model_none", agent=usual.name))
    now = case.agents.spec(conversation.agent, case.offer.usual, conversation.model)
    if not chooses_models(case.row.role):
        return Effect(reply=say("model_not_yours" if name else "model_shown", model=now.model))
    if not name:
        return Effect(reply=_with_models(case, say("model_is", model=now.model, usual=usual.model), usual))
    cleared = name.casefold() == NO_CHOICE
    chosen = None if cleared else model_named(usual.models, name)
    if chosen is None and not cleared:
        return Effect(reply=_with_models(case, say("model_unknown", name=name[:NAME_SHOWN]), usual))
    conversations.choose(tx, conversation.id, agent=conversation.agent, model=chosen)
    now = case.agents.spec(conversation.agent, case.offer.usual, chosen)
    return Effect(reply=say("model_default" if cleared else "model_chosen", model=now.model), evict=True)


def agent(tx: Tx, case: Case) -> Effect:
    """Naming the one that answers where nobody chose takes the choice back."""
    say, conversation, name, offered = case.notices.say, _held(case), _name(case), _offered(case)
    before = case.agents.spec(conversation.agent, case.offer.usual)
    if not name and len(offered) == 1:
        return Effect(reply=say("agent_shown", agent=before.name))
    if not name:
        return Effect(reply=_with_agents(case, say("agent_is", agent=before.name)))
    named = agent_named({one: case.agents.specs[one] for one in offered}, name)
    if named is None:
        return Effect(reply=_with_agents(case, say("agent_unknown", name=name[:NAME_SHOWN])))
    usual = named == case.agents.spec(None, case.offer.usual).name
    same = named == before.name
    if not same:
        _close_calls(tx, case)
    conversations.choose(
        tx, conversation.id, agent=None if usual else named, model=conversation.model if same else None
    )
    return Effect(reply=say("agent_default" if usual else "agent_chosen", agent=named), evict=True)


def _close_calls(tx: Tx, case: Case) -> None:
    """Another agent can't carry out the calls of this one."""
    session = case.session(tx)
    if session is not None:
        close_suspended(tx, case.conversation, session, case.now)


def _held(case: Case) -> Conversation:
    return case.offer.holds(case.conversation, case.row.role)


def _offered(case: Case) -> list[str]:
    return case.offer.agents(case.row.role, case.agents.specs)


def _name(case: Case) -> str:
    return " ".join(case.argument.split())


def _with_models(case: Case, head: str, spec: AgentSpec) -> str:
    return "\n".join([head, "", *(_model_line(case, name, spec.models) for name in spec.models)])


def _model_line(case: Case, name: str, models: Mapping[str, str]) -> str:
    plain = models[name] == name
    return case.notices.say("choice", name=name) if plain else case.notices.say("choice_of", name=name, of=models[name])


def _with_agents(case: Case, head: str) -> str:
    return "\n".join([head, "", *(case.notices.say("choice", name=name) for name in _offered(case))])


EFFECTS: dict[str, Callable[[Tx, Case], Effect]] = {"model": model, "agent": agent}
