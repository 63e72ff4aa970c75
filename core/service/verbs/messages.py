"""`send`: whoever runs the desk says something in a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct

from core.delivery.split import is_blank
from core.errors import VerbFailed
from core.people.names import storable
from core.service.socket import Json, Verb
from core.service.verbs.means import Means, argument
from core.service.verbs.sessions import key_of
from core.store import conversations, deliveries, entries, sessions
from core.store.conversations import Conversation
from core.store.deliveries import NOTICE, Parcel, Posted
from core.store.entries import Draft, Kind
from core.store.sql import Tx

MOST_CHARS = 32_000
"""Of one message: some ten of a platform's messages; more is a file's."""


def verbs(means: Means) -> Mapping[str, Verb]:
    """By the names that requests use."""
    return {"send": partial(_send, means)}


class Saying(Struct, frozen=True, kw_only=True):
    """What is to be said where; `parts` is the text as its bot splits it."""

    key: str
    text: str
    parts: Sequence[str]
    now: datetime


async def _send(means: Means, args: Mapping[str, Json]) -> Json:
    """Queue a text to a conversation's last address. It goes out in its turn, also after a restart.

    The transcript keeps it as a notice, if the conversation's session goes on: people see it there and in exports. The
    model is not shown it, as it is shown no notice: it did not say this, and a transcript that changed under a running
    turn would not be the one that the turn answers.
    """
    key, said = argument(args, "key"), storable(argument(args, "text"))
    if is_blank(said):
        raise VerbFailed("there is nothing to send: the text is blank", code=2)
    if len(said) > MOST_CHARS:
        raise VerbFailed(f"the text has {len(said):,} characters; at most {MOST_CHARS:,} are sent", code=2)
    address = (await means.store.read(lambda tx: _conversation(tx, key))).address
    saying = Saying(key=key, text=said, parts=means.running.parts(address.bot, said), now=means.clock.now())
    where, posted = await means.store.write(lambda tx: _say(tx, saying))
    for one in posted:
        means.running.push(one)
    means.running.tell_log("sent_by_command", key=where, parts=len(posted))
    return {
        "key": where,
        "bot": address.bot,
        "chat": address.chat,
        "deliveries": [one.id for one in posted],
        "running": means.running.runs,
    }


def _conversation(tx: Tx, key: str) -> Conversation:
    """By its key or by the id of a session in it. Raises `VerbFailed`."""
    found = conversations.find(tx, key)
    if found is None:
        session = sessions.find(tx, key)
        found = session.conversation if session is not None else None
    if found is None:
        raise VerbFailed(f"no conversation {key!r}; `frontdesk sessions list` shows keys")
    return conversations.get(tx, found)


def _say(tx: Tx, saying: Saying) -> tuple[str, list[Posted]]:
    conversation = conversations.lock(tx, _conversation(tx, saying.key).id)
    session = sessions.get(tx, conversation.session) if conversation.session is not None else None
    if session is not None and session.ended_at is None:
        entries.append(tx, session, [Draft(kind=Kind.NOTICE, text=saying.text)], saying.now)
    parcels = [
        Parcel(
            conversation=conversation.id, turn=None, role=NOTICE, part=number, address=conversation.address,
            kind=conversation.kind, text=part,
        )
        for number, part in enumerate(saying.parts, start=1)
    ]  # fmt: skip
    return key_of(tx, conversation.id), [deliveries.post(tx, parcel, saying.now) for parcel in parcels]
