"""One human with several identities: two people become one, and so do their conversations where those are a person's;
and the way back.

In one transaction, while neither side has work: a key that is re-pointed under a running turn would have two owners.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from core.desk import keys
from core.desk.admit import close_suspended
from core.desk.commands.effects import in_use
from core.errors import VerbFailed
from core.people.pairing import identity_named
from core.store import conversations, linking, people, sessions
from core.store.conversations import Conversation, ConversationId
from core.store.people import Person, Role
from core.store.sql import Tx

ENDED_AS = "command"


class Link(Struct, frozen=True, kw_only=True):
    """`other`: a person's id, or an identity, PLATFORM:USER, of somebody known or not."""

    person: str
    other: str
    now: datetime
    has_owners: bool


def link(tx: Tx, wanted: Link) -> Person:
    """The person as it is then: the first one, with the identities of both.

    Direct chats that are kept per person (`[session] dm_scope = "person"`) go on in the first one's conversation: the
    other key leads there from now on, and the other's session ends; whoever took part in it can resume it. Keys of
    chats stay as they are. Raises `VerbFailed`.
    """
    keep = _known(tx, wanted.person)
    if ":" not in wanted.other:
        gone: Person | None = _known(tx, wanted.other)
    else:
        identity = identity_named(wanted.other)
        known = people.known(tx, identity)
        gone = linking.person(tx, known.person) if known is not None else None
        if gone is None:
            linking.know(tx, keep, identity, wanted.now)
    if gone is not None and gone.id != keep.id:
        _may(tx, keep, gone, wanted)
        _lead_on(tx, keep, gone, wanted.now)
        linking.merge(tx, keep.id, gone.id)
    return linking.person(tx, keep.id) or keep


class Unlink(Struct, frozen=True, kw_only=True):
    """`identity`: PLATFORM:USER, one of several of a person's. `person` becomes the id of whom it belongs to then."""

    identity: str
    person: str
    now: datetime


def unlink(tx: Tx, wanted: Unlink) -> Person:
    """The identity's own person: with the role that it had, but for an owner's, who may have been taken for one.

    Conversations stay with those who have them; a direct chat that is kept per person begins anew with the next
    message. Raises `VerbFailed`.
    """
    identity = identity_named(wanted.identity)
    known = people.known(tx, identity)
    if known is None:
        raise VerbFailed(f"nobody is known as {identity}; `frontdesk people list` shows identities")
    before = _known(tx, known.person)
    if len(before.identities) == 1:
        raise VerbFailed(f"{identity} is all that {before.name} ({before.id}) is known by: there is nothing to unlink")
    shared = conversations.find(tx, keys.person(before.id))
    if shared is not None:
        _idle(tx, shared)
    role = Role.USER if before.role is Role.OWNER else before.role
    alone = Person(id=wanted.person, name=linking.name_of(tx, identity), role=role, identities=(identity,))
    linking.part(tx, identity, alone, wanted.now)
    return alone


def _known(tx: Tx, who: str) -> Person:
    found = linking.person(tx, who)
    if found is None:
        raise VerbFailed(f"no person {who!r}; `frontdesk people list` shows ids")
    return found


def _may(tx: Tx, keep: Person, gone: Person, wanted: Link) -> None:
    if Role.BLOCKED in (keep.role, gone.role) and keep.role is not gone.role:
        blocked = keep if keep.role is Role.BLOCKED else gone
        raise VerbFailed(f"{blocked.name} ({blocked.id}) is blocked; give both the same role first (`people role`)")
    last_owner = gone.role is Role.OWNER and keep.role is not Role.OWNER and people.owners(tx) == 1
    if last_owner and not wanted.has_owners:
        raise VerbFailed(
            f"{gone.name} ({gone.id}) is the only owner and would become {keep.role}: name the owner first, "
            f"as in `people link {gone.id} {keep.id}`"
        )


def _lead_on(tx: Tx, keep: Person, gone: Person, now: datetime) -> None:
    """Both keys of the two people lead to one conversation."""
    theirs = conversations.find(tx, keys.person(gone.id))
    if theirs is None:
        return
    ours = conversations.find(tx, keys.person(keep.id))
    locked = [_idle(tx, one) for one in sorted({theirs, *([ours] if ours is not None else [])})]
    if ours is not None and ours != theirs:
        _end(tx, next(one for one in locked if one.id == theirs), now)
    to = ours if ours is not None else theirs
    for one in (keep, gone):
        linking.lead(tx, keys.person(one.id), to, now)


def _idle(tx: Tx, conversation: ConversationId) -> Conversation:
    found = conversations.lock(tx, conversation)
    if in_use(tx, found):
        raise VerbFailed("one of them is being answered just now, or an answer is on its way; try again in a moment")
    return found


def _end(tx: Tx, conversation: Conversation, now: datetime) -> None:
    if conversation.session is None:
        return
    session = sessions.get(tx, conversation.session)
    if session.ended_at is None:
        sessions.end(tx, close_suspended(tx, conversation, session, now).id, ENDED_AS, now)
