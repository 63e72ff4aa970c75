"""`people ...`: who may talk to the desk."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial

from core.desk.linking import Link, Unlink, link, unlink
from core.errors import VerbFailed
from core.people.pairing import Approved, Giving, approve, give_role, role_named, waiting
from core.service.socket import Json, Verb
from core.service.verbs.means import Means, argument, stamp
from core.store import people
from core.store.people import Person, Role
from core.store.sql import Tx

CONFIG = "config"
"""Where somebody is an owner because the configuration says so."""


def person_line(person: Person) -> dict[str, Json]:
    return {"id": person.id, "name": person.name, "role": person.role, "identities": list(person.identities)}


def list_people(tx: Tx, now: datetime, owners: frozenset[str]) -> dict[str, Json]:
    """`owners`: the identities that the configuration names; it has the last word on their role, and those who were not
    heard yet are told of as well, without an id."""
    known = people.everybody(tx)
    unheard = sorted(owners.difference(*(person.identities for person in known)))
    named: list[Json] = [
        {"id": None, "name": "", "role": Role.OWNER, "identities": [one], "source": CONFIG} for one in unheard
    ]
    return {
        "people": [*(_with_source(person, owners) for person in known), *named],
        "pending": [
            {
                "code": pairing.code,
                "platform": pairing.identity.partition(":")[0],
                "name": pairing.name,
                "expires_at": stamp(pairing.expires_at),
            }
            for pairing in people.waiting(tx, now)
        ],
    }


def _with_source(person: Person, owners: frozenset[str]) -> dict[str, Json]:
    if owners.isdisjoint(person.identities):
        return {**person_line(person), "source": "store"}
    return {**person_line(person), "role": Role.OWNER, "source": CONFIG}


def verbs(means: Means) -> Mapping[str, Verb]:
    """By the names that requests use."""
    return {
        f"people.{name}": partial(verb, means)
        for name, verb in (
            ("list", _list), ("waiting", _waiting), ("approve", _approve), ("role", _role),
            ("block", _block), ("link", _link), ("unlink", _unlink),
        )
    }  # fmt: skip


async def _list(means: Means, args: Mapping[str, Json]) -> Json:
    now = means.clock.now()
    owners = means.running.owners
    return await means.store.read(lambda tx: list_people(tx, now, owners))


async def _waiting(means: Means, args: Mapping[str, Json]) -> Json:
    """Whom `approve` would let in, and as what."""
    code, now = argument(args, "code"), means.clock.now()
    found = await means.store.read(lambda tx: waiting(tx, code, now, has_owners=means.has_owners))
    if found is None:
        raise _no_code(code)
    pairing, role = found
    return {
        "code": pairing.code, "name": pairing.name, "identity": pairing.identity, "bot": pairing.bot, "becomes": role,
    }  # fmt: skip


def _no_code(code: str) -> VerbFailed:
    return VerbFailed(f"no code {code!r} waits; it may have expired (`frontdesk people list` shows codes)")


async def _approve(means: Means, args: Mapping[str, Json]) -> Json:
    """`becomes`, where it is given: the only role that they may get by it."""
    code, person, now = argument(args, "code"), means.random.uuid7(), means.clock.now()
    welcome = means.notices.say("paired")
    told = args.get("becomes")

    def unit(tx: Tx) -> Approved | None:
        found = waiting(tx, code, now, has_owners=means.has_owners)
        if found is not None and told not in (None, found[1]):
            raise VerbFailed(f"they would become {found[1]} by now, not {told}; look again, and approve them then")
        return approve(tx, code, person, now, welcome=welcome, has_owners=means.has_owners)

    approved = await means.store.write(unit)
    if approved is None:
        raise _no_code(code)
    means.running.push(approved.posted)
    return person_line(approved.person)


async def _block(means: Means, args: Mapping[str, Json]) -> Json:
    return await _give(means, argument(args, "who"), Role.BLOCKED)


async def _role(means: Means, args: Mapping[str, Json]) -> Json:
    return await _give(means, argument(args, "id"), role_named(argument(args, "role")))


async def _give(means: Means, who: str, role: Role) -> Json:
    giving = Giving(who=who, role=role, person=means.random.uuid7(), now=means.clock.now(), has_owners=means.has_owners)
    person = await means.store.write(lambda tx: give_role(tx, giving))
    if person is None:
        raise VerbFailed(f"no person {who!r}; `frontdesk people list` shows ids, /whoami an identity")
    return person_line(person)


async def _link(means: Means, args: Mapping[str, Json]) -> Json:
    """Two are one human: the first keeps id, name and role, the other's identities are theirs from now on."""
    wanted = Link(
        person=argument(args, "id"), other=argument(args, "other"), now=means.clock.now(), has_owners=means.has_owners
    )
    person = await means.store.write(lambda tx: link(tx, wanted))
    means.running.tell_log("people_linked", person=person.id)
    return person_line(person)


async def _unlink(means: Means, args: Mapping[str, Json]) -> Json:
    """An identity is a person of its own again."""
    wanted = Unlink(identity=argument(args, "identity"), person=means.random.uuid7(), now=means.clock.now())
    person = await means.store.write(lambda tx: unlink(tx, wanted))
    means.running.tell_log("people_unlinked", person=person.id)
    return person_line(person)
