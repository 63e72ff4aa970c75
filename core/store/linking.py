"""What changes in the store when two turn out to be one human."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace
from sqlalchemy import delete, select, update

from core.store import people as people_
from core.store.conversations import ConversationId
from core.store.people import Person, Role
from core.store.sql import Sql, Tx, insert, integer, text, to_us
from core.store.tables import identities, keys, pairings, people

_PERSON = Sql(select(people).where(people.c.id == text("id")))
_IDENTITIES = Sql(
    select(identities.c.identity).where(identities.c.person_id == text("id")).order_by(identities.c.identity)
)
_MOVE = Sql(update(identities).where(identities.c.person_id == text("of_person")).values(person_id=text("to_person")))
_ADD = insert(identities, "identity", "person_id", "name", "created_at", once=["identity"])
_UNPAIR = Sql(delete(pairings).where(pairings.c.identity == text("row")))
_PART = Sql(update(identities).where(identities.c.identity == text("row")).values(person_id=text("to_person")))
_NAMED = Sql(select(identities.c.name).where(identities.c.identity == text("identity")))
_GONE = Sql(delete(people).where(people.c.id == text("row")))
_LEAD = Sql(update(keys).where(keys.c.key == text("row")).values(conversation_id=integer("to")))
_ADD_KEY = insert(keys, "key", "conversation_id", "created_at", once=["key"])


def person(tx: Tx, id_: str) -> Person | None:
    row = tx.one(_PERSON, id=id_)
    if row is None:
        return None
    known_by = tuple(found.text("identity") for found in tx.all(_IDENTITIES, id=id_))
    return Person(id=id_, name=row.text("name"), role=Role(row.text("role")), identities=known_by)


def merge(tx: Tx, keep: str, gone: str) -> None:
    """All identities of one become another's, and the one is nobody any more."""
    tx.run(_MOVE, of_person=gone, to_person=keep)
    tx.run(_GONE, row=gone)


def know(tx: Tx, keep: Person, identity: str, at: datetime) -> None:
    """An identity that nobody had is this person's; a code that it waits with is not needed any more."""
    tx.run(_ADD, identity=identity, person_id=keep.id, name=keep.name, created_at=to_us(at))
    unpair(tx, identity)


def unpair(tx: Tx, identity: str) -> None:
    """They need no code any more."""
    tx.run(_UNPAIR, row=identity)


def part(tx: Tx, identity: str, alone: Person, at: datetime) -> None:
    """This identity is a new person's from now on; `alone` has no other."""
    people_.add(tx, replace(alone, identities=()), at)
    tx.run(_PART, row=identity, to_person=alone.id)


def name_of(tx: Tx, identity: str) -> str:
    """What an identity was called when it came. Raises `LookupError`."""
    row = tx.one(_NAMED, identity=identity)
    if row is None:
        raise LookupError(f"nobody is {identity}")
    return row.text("name")


def lead(tx: Tx, key: str, to: ConversationId, at: datetime) -> None:
    """From now on this key leads there."""
    tx.run(_ADD_KEY, key=key, conversation_id=to, created_at=to_us(at))
    tx.run(_LEAD, row=key, to=to)
