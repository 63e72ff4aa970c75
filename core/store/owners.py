"""Where the desk's owners can be reached."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace
from sqlalchemy import select

from core.store.addresses import address_of
from core.store.sql import Sql, Tx, text
from core.store.tables import conversations, identities, participants, people, sessions
from core.vocabulary import Address, BotName

_STORED = Sql(
    select(identities.c.identity)
    .join(people, people.c.id == identities.c.person_id)
    .where(people.c.role == "owner")
    .order_by(identities.c.identity)
)
_c, _s = conversations.c, sessions.c
_DIRECT = Sql(
    select(conversations)
    .join(sessions, _s.conversation_id == _c.id)
    .join(participants, participants.c.session_id == _s.id)
    .where(participants.c.identity == text("identity"), _c.kind == "direct", _c.bot == text("bot"))
    .order_by(_s.touched_at.desc(), _s.id.desc())
    .limit(1)
)


def places(tx: Tx, bot: BotName, named: Iterable[str]) -> list[tuple[str, Address]]:
    """Each owner who has talked with this bot in private, by identity, and where that was last. `named`: those whom
    the configuration names."""
    stored = [row.text("identity") for row in tx.all(_STORED)]
    found = []
    for identity in dict.fromkeys((*sorted(named), *stored)):
        row = tx.one(_DIRECT, identity=identity, bot=bot)
        if row is not None:
            found.append((identity, replace(address_of(row), reply_to=None)))
    return found
