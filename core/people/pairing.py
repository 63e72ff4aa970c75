"""How a stranger is let in: the owner approves the code that the stranger was given."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from pydantic_core import PydanticCustomError

from config.identity import parse_identity
from core.errors import VerbFailed
from core.store import deliveries, linking, people
from core.store.deliveries import Posted
from core.store.people import Pairing, Person, Role
from core.store.sql import Tx
from core.vocabulary import Address


class Approved(Struct, frozen=True, kw_only=True):
    person: Person
    posted: Posted


def waiting(tx: Tx, code: str, now: datetime, *, has_owners: bool) -> tuple[Pairing, Role] | None:
    """Who holds a code that is good, and what they become: the first one, where nobody owns the desk yet, its owner."""
    pairing = people.pairing(tx, code.strip().upper(), now)
    if pairing is None:
        return None
    return pairing, Role.USER if has_owners or people.owners(tx) else Role.OWNER


def approve(tx: Tx, code: str, person_id: str, now: datetime, *, welcome: str, has_owners: bool) -> Approved | None:
    """Let the holder of a code in, as what `waiting` tells, and say so to them. None: no such code is good. One
    transaction."""
    found = waiting(tx, code, now, has_owners=has_owners)
    if found is None:
        return None
    pairing, role = found
    person = Person(id=person_id, name=pairing.name, role=role, identities=(pairing.identity,))
    people.add(tx, person, now)
    people.unpair(tx, pairing.code)
    address = Address(bot=pairing.bot, chat=pairing.chat)
    return Approved(person=person, posted=deliveries.say(tx, address, pairing.kind, welcome, now))


class Giving(Struct, frozen=True, kw_only=True):
    """`who`: a person's id, or an identity, PLATFORM:USER, of somebody known or not: then `person` becomes the id.
    `has_owners`: does the configuration name one?"""

    who: str
    role: Role
    person: str
    now: datetime
    has_owners: bool


def give_role(tx: Tx, giving: Giving) -> Person | None:
    """The person as it is then; None if there is none with this id. Raises `VerbFailed` for what is no identity, and
    where nobody would own the desk any more: the next stranger who is let in would."""
    if ":" not in giving.who:
        return _set_role(tx, giving.who, giving.role, has_owners=giving.has_owners)
    identity = identity_named(giving.who)
    known = people.known(tx, identity)
    if known is not None:
        return _set_role(tx, known.person, giving.role, has_owners=giving.has_owners)
    person = Person(id=giving.person, name=identity, role=giving.role, identities=(identity,))
    people.add(tx, person, giving.now)
    linking.unpair(tx, identity)
    return person


def _set_role(tx: Tx, person_id: str, role: Role, *, has_owners: bool) -> Person | None:
    before = next((person for person in people.everybody(tx) if person.id == person_id), None)
    last = before is not None and before.role is Role.OWNER and people.owners(tx) == 1 and not has_owners
    if last and role is not Role.OWNER:
        raise VerbFailed("this is the only owner; make somebody else owner first, or name one in [access] owners")
    return people.set_role(tx, person_id, role)


def identity_named(given: str) -> str:
    """An identity as people write it, PLATFORM:USER. Raises `VerbFailed`."""
    try:
        return str(parse_identity(given))
    except PydanticCustomError as fault:
        said = fault.context or {}
        raise VerbFailed(f"{said.get('message')}; {said.get('hint')}", code=2) from fault


def role_named(name: str) -> Role:
    """Raises `VerbFailed`."""
    try:
        return Role(name.lower())
    except ValueError:
        raise VerbFailed(f"no role {name!r}; there are {', '.join(Role)}", code=2) from None
