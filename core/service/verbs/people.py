"""`people ...`: who may talk to the desk."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial

from core.desk.linking import Link, link
from core.errors import VerbFailed
from core.people.pairing import approve, block, give_role, role_named
from core.service.socket import Json, Verb
from core.service.verbs.means import Means, argument, stamp
from core.store import people
from core.store.people import Person
from core.store.sql import Tx


def person_line(person: Person) -> dict[str, Json]:
    return {"id": person.id, "name": person.name, "role": person.role, "identities": list(person.identities)}


def list_people(tx: Tx, now: datetime) -> dict[str, Json]:
    return {
        "people": [person_line(person) for person in people.everybody(tx)],
        "pending": [
            {
                "code": waiting.code,
                "platform": waiting.identity.partition(":")[0],
                "name": waiting.name,
                "expires_at": stamp(waiting.expires_at),
            }
            for waiting in people.waiting(tx, now)
        ],
    }


def verbs(means: Means) -> Mapping[str, Verb]:
    """By the names that requests use."""
    return {
        f"people.{name}": partial(verb, means)
        for name, verb in (
            ("list", _list), ("approve", _approve), ("role", _role), ("block", _block), ("link", _link),
        )
    }  # fmt: skip


async def _list(means: Means, args: Mapping[str, Json]) -> Json:
    now = means.clock.now()
    return await means.store.read(lambda tx: list_people(tx, now))


async def _approve(means: Means, args: Mapping[str, Json]) -> Json:
    code, person, now = argument(args, "code"), means.random.uuid7(), means.clock.now()
    welcome = means.notices.say("paired")
    approved = await means.store.write(
        lambda tx: approve(tx, code, person, now, welcome=welcome, has_owners=means.has_owners)
    )
    if approved is None:
        raise VerbFailed(f"no code {code!r} waits; it may have expired (`frontdesk people list` shows codes)")
    means.running.push(approved.posted)
    return person_line(approved.person)


async def _block(means: Means, args: Mapping[str, Json]) -> Json:
    who, made, now = argument(args, "who"), means.random.uuid7(), means.clock.now()
    person = await means.store.write(lambda tx: block(tx, who, made, now, has_owners=means.has_owners))
    if person is None:
        raise VerbFailed(f"no person {who!r}; `frontdesk people list` shows ids, /whoami an identity")
    return person_line(person)


async def _role(means: Means, args: Mapping[str, Json]) -> Json:
    person_id, role = argument(args, "id"), role_named(argument(args, "role"))
    person = await means.store.write(lambda tx: give_role(tx, person_id, role, has_owners=means.has_owners))
    if person is None:
        raise VerbFailed(f"no person {person_id!r}; `frontdesk people list` shows ids")
    return person_line(person)


async def _link(means: Means, args: Mapping[str, Json]) -> Json:
    """Two are one human: the first keeps id, name and role, the other's identities are theirs from now on."""
    wanted = Link(
        person=argument(args, "id"), other=argument(args, "other"), now=means.clock.now(), has_owners=means.has_owners
    )
    person = await means.store.write(lambda tx: link(tx, wanted))
    means.running.tell_log("people_linked", person=person.id)
    return person_line(person)
