"""People, their identities, and the codes that strangers wait with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from sqlalchemy import delete, func, select, update

from core.store.sql import Row, Sql, Tx, insert, integer, text, to_us
from core.store.tables import identities, pairings, people
from core.vocabulary import BotName, ChatId, ChatKind


class Role(StrEnum):
    OWNER = "owner"
    USER = "user"
    GUEST = "guest"
    BLOCKED = "blocked"


class Person(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    role: Role
    identities: tuple[str, ...]


class Known(Struct, frozen=True, kw_only=True):
    """What the store knows of an identity."""

    person: str
    role: Role


class Pairing(Struct, frozen=True, kw_only=True):
    """A stranger's code: shown once, good until `expires_at`."""

    code: str
    identity: str
    name: str
    bot: BotName
    chat: ChatId
    kind: ChatKind
    expires_at: datetime


_KNOWN = Sql(
    select(people.c.id, people.c.role)
    .join(identities, identities.c.person_id == people.c.id)
    .where(identities.c.identity == text("identity"))
)
_PEOPLE = Sql(select(people).order_by(people.c.created_at, people.c.id))
_PERSON = Sql(select(people).where(people.c.id == text("id")))
_IDENTITIES = Sql(
    select(identities.c.identity).where(identities.c.person_id == text("id")).order_by(identities.c.identity)
)
_INSERT_PERSON = insert(people, "id", "name", "role", "created_at")
_INSERT_IDENTITY = insert(identities, "identity", "person_id", "name", "created_at", once=["identity"])
_ROLE = Sql(update(people).where(people.c.id == text("row")).values(role=text("to")))
_OWNERS = Sql(select(func.count()).select_from(people).where(people.c.role == "owner"))
_INSERT_PAIRING = insert(
    pairings, "code", "identity", "name", "bot", "chat", "kind", "created_at", "expires_at", returning="code",
    once=["identity"],
)  # fmt: skip
_PAIRING = Sql(select(pairings).where(pairings.c.code == text("code"), pairings.c.expires_at > integer("at")))
_PAIRINGS = Sql(select(pairings).where(pairings.c.expires_at > integer("at")).order_by(pairings.c.created_at))
_OF_BOT = (pairings.c.bot == text("of"), pairings.c.expires_at > integer("at"))
_PAIRING_COUNT = Sql(select(func.count()).select_from(pairings).where(*_OF_BOT))
_OLDEST = Sql(select(pairings.c.code).where(*_OF_BOT).order_by(pairings.c.created_at, pairings.c.code).limit(1))
_HAS_PAIRING = Sql(
    select(func.count())
    .select_from(pairings)
    .where(pairings.c.identity == text("identity"), pairings.c.expires_at > integer("at"))
)
_UNPAIR = Sql(delete(pairings).where(pairings.c.code == text("code")))
_EXPIRE = Sql(delete(pairings).where(pairings.c.expires_at <= integer("at")))
_EXPIRE_ONE = Sql(
    delete(pairings).where(pairings.c.identity == text("identity"), pairings.c.expires_at <= integer("at"))
)


def known(tx: Tx, identity: str) -> Known | None:
    row = tx.one(_KNOWN, identity=identity)
    return None if row is None else Known(person=row.text("id"), role=Role(row.text("role")))


def _person(tx: Tx, row: Row) -> Person:
    return Person(
        id=row.text("id"),
        name=row.text("name"),
        role=Role(row.text("role")),
        identities=tuple(found.text("identity") for found in tx.all(_IDENTITIES, id=row.text("id"))),
    )


def everybody(tx: Tx) -> list[Person]:
    return [_person(tx, row) for row in tx.all(_PEOPLE)]


def add(tx: Tx, person: Person, at: datetime) -> None:
    tx.run(_INSERT_PERSON, id=person.id, name=person.name, role=person.role, created_at=to_us(at))
    for identity in person.identities:
        tx.run(_INSERT_IDENTITY, identity=identity, person_id=person.id, name=person.name, created_at=to_us(at))


def set_role(tx: Tx, person: str, role: Role) -> Person | None:
    """The person as it is then; None if there is none with this id."""
    if tx.run(_ROLE, row=person, to=role) == 0:
        return None
    row = tx.one(_PERSON, id=person)
    return None if row is None else _person(tx, row)


def owners(tx: Tx) -> int:
    return tx.number(_OWNERS)


def _pairing(row: Row) -> Pairing:
    return Pairing(
        code=row.text("code"),
        identity=row.text("identity"),
        name=row.text("name"),
        bot=BotName(row.text("bot")),
        chat=ChatId(row.text("chat")),
        kind=ChatKind(row.text("kind")),
        expires_at=row.time("expires_at"),
    )


def offer(tx: Tx, pairing: Pairing, at: datetime) -> bool:
    """Keep a stranger's code; False if one was given that is still good."""
    tx.run(_EXPIRE_ONE, identity=pairing.identity, at=to_us(at))
    made = tx.one(
        _INSERT_PAIRING, code=pairing.code, identity=pairing.identity, name=pairing.name, bot=pairing.bot,
        chat=pairing.chat, kind=pairing.kind, created_at=to_us(at), expires_at=to_us(pairing.expires_at),
    )  # fmt: skip
    return made is not None


def pairing(tx: Tx, code: str, at: datetime) -> Pairing | None:
    row = tx.one(_PAIRING, code=code, at=to_us(at))
    return None if row is None else _pairing(row)


def waiting(tx: Tx, at: datetime) -> Sequence[Pairing]:
    """Codes that are still good, oldest first."""
    return [_pairing(row) for row in tx.all(_PAIRINGS, at=to_us(at))]


def waiting_count(tx: Tx, bot: BotName, at: datetime) -> int:
    """Strangers of one bot whose codes are still good."""
    return tx.number(_PAIRING_COUNT, of=bot, at=to_us(at))


def has_code(tx: Tx, identity: str, at: datetime) -> bool:
    """Was a stranger given a code that is still good?"""
    return tx.number(_HAS_PAIRING, identity=identity, at=to_us(at)) > 0


def drop_oldest(tx: Tx, bot: BotName, at: datetime) -> None:
    """Take back the code of a bot that was given first, of those that are still good."""
    row = tx.one(_OLDEST, of=bot, at=to_us(at))
    if row is not None:
        unpair(tx, row.text("code"))


def unpair(tx: Tx, code: str) -> None:
    tx.run(_UNPAIR, code=code)


def expire(tx: Tx, at: datetime) -> int:
    return tx.run(_EXPIRE, at=to_us(at))
