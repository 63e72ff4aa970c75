"""Commands that change something, carried out by the conversation's owner. One transaction each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct, field

from core.agents.registry import Agents
from core.desk.answering import Offer
from core.desk.coalesce import Ref, ref_of, stopped_turn
from core.desk.commands import answers, choices, ended, forget
from core.desk.commands.effects import EFFECTS, Case, Effect
from core.desk.commands.table import BY_NAME, Parsed, Reach, parse
from core.desk.record import Ending, close_turn
from core.desk.replying import reply
from core.desk.resets import Policy
from core.faultpoints import faultpoint
from core.service.notices import Notices
from core.store import conversations, deliveries, inbox
from core.store.conversations import Conversation, ConversationId, SessionId
from core.store.deliveries import Posted
from core.store.inbox import Fate, Lane, Waiting
from core.store.sql import Tx
from core.store.turns import Turn
from core.vocabulary import RowId

ALL_EFFECTS = {**EFFECTS, **answers.EFFECTS, **choices.EFFECTS, **forget.EFFECTS, **ended.EFFECTS}
CLOSING = ("stop", "reset", ended.END)
"""Control commands that end what was accepted before them."""


class Order(Struct, frozen=True, kw_only=True):
    """A command row to be carried out. `running` is the turn that it ends, with how that ended. `reach`: how much of
    the conversation is the sender's to end; who may not at all is told so, by
    `refusal`, a key of the message catalogue."""

    conversation: ConversationId
    fence: int | None
    row: RowId
    name: str
    now: datetime
    policy: Policy
    notices: Notices
    new_session: SessionId
    parts: Callable[[str], tuple[str, ...]]
    agents: Agents
    offer: Offer
    running: tuple[Turn, Ending] | None = None
    reach: Reach = Reach.ALL
    refusal: str = "not_yours"


class Done(Struct, frozen=True, kw_only=True):
    """`live_on`: the row waits at its place as an ordinary message now. `gone`: it had its fate already. `opened`: rows
    that it made. `title`: what is talked about there from now on."""

    fence: int
    posted: tuple[Posted, ...] = ()
    live_on: bool = False
    evict: bool = False
    gone: bool = False
    closed: tuple[RowId, ...] = field(default=())
    opened: tuple[Ref, ...] = ()
    title: str | None = None


def carry_out(tx: Tx, order: Order) -> Done:
    """Effect, reply and fate. Raises `FenceLost`."""
    conversation = conversations.own(tx, order.conversation, order.fence)
    posted: list[Posted] = []
    if order.running is not None:
        posted += close_turn(tx, *order.running, order.now).posted
    row = inbox.pending(tx, order.row)
    if row is None:
        return Done(fence=conversation.fence, posted=tuple(posted), gone=True, evict=order.running is not None)
    closed: list[RowId] = []
    stops = stopped_turn(order.name, row.text)
    meant = stops is None or (order.running is not None and order.running[0].id == stops)
    if row.lane is Lane.CONTROL and order.name in CLOSING and meant and order.reach is not Reach.NONE:
        whose = None if order.reach is Reach.ALL else row.identity
        closed = inbox.close_before(tx, conversation.id, row.id, order.now, whose)
    nothing = Effect(reply=order.notices.say("stopped_nothing"))
    effect = _effect(tx, conversation, row, order, len(closed)) if meant else nothing
    posted += effect.posted
    if effect.reply:
        parts = order.parts(effect.reply)
        posted += deliveries.say_all(tx, reply(row, conversation.id), parts, order.now)
    if effect.message is not None:
        inbox.become_message(tx, row.id, effect.message)
        if effect.brings is not None:
            inbox.enclose(tx, row.id, effect.brings)
    else:
        inbox.finish(tx, row.id, Fate.ANSWERED, order.now, effect.detail or order.name)
    return Done(
        fence=conversation.fence,
        posted=tuple(posted),
        live_on=effect.message is not None,
        evict=effect.evict or order.running is not None,
        closed=tuple(closed),
        opened=tuple(ref_of(row) for row in effect.opened),
        title=effect.title,
    )


def _effect(tx: Tx, conversation: Conversation, row: Waiting, order: Order, closed: int) -> Effect:
    parsed = parse(row.text)
    if order.reach is Reach.NONE and not _only_shows(order.name, parsed):
        return Effect(reply=order.notices.say(order.refusal))
    case = Case(
        conversation=conversation,
        row=row,
        argument=parsed.argument if parsed is not None else row.text,
        now=order.now,
        policy=order.policy,
        notices=order.notices,
        new_session=order.new_session,
        parts=order.parts,
        agents=order.agents,
        offer=order.offer,
        stopped=order.running is not None,
        closed=closed,
        reach=order.reach,
    )
    effect = ALL_EFFECTS[order.name](tx, case)
    faultpoint("command.written", order.name, row.id)
    return effect


def _only_shows(name: str, parsed: Parsed | None) -> bool:
    command = BY_NAME.get(name)
    return command is not None and command.shows and parsed is not None and not parsed.argument.strip()
