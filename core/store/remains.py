"""What stays known of a turn when it goes with its session: how it ended, and whether all of it was sent.

The rows that it had answered keep that, and no word of what was said, as `inbox.detail`:
`gone:STATE:REACHED:REFERENCE`, where REACHED is "" or `unsent`, and REFERENCE may be "".
"""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import case, func, literal, or_, select, update

from core.store.sql import Sql, Tx, text
from core.store.tables import deliveries, inbox, turns

GONE = "gone"
UNSENT = "unsent"
OWN_WORDS = ("deleted", "restored", "asked_again")
"""Why a part was not sent, where no platform said so: these quote nobody."""


class Remains(Struct, frozen=True, kw_only=True):
    """`state`: the turn's. `unsent`: something that it said was not sent. `reference`: "" for none."""

    state: str
    unsent: bool
    reference: str


_i, _t, _d = inbox.c, turns.c, deliveries.c
FAILED = (_d.state == "failed", or_(_d.error.is_(None), _d.error != "asked_again"))
"""Parts that were not sent; one that was asked for again has come since."""
_unsent = select(_d.id).where(_d.turn_id == _t.id, *FAILED).exists()
_words = (
    select(
        literal(f"{GONE}:")
        .concat(_t.state)
        .concat(case((_unsent, f":{UNSENT}:"), else_="::"))
        .concat(func.coalesce(_t.reference, ""))
    )
    .where(_t.id == _i.turn_id)
    .correlate(inbox)
    .scalar_subquery()
)
_of_session = select(_t.id).where(_t.session_id == text("session"))
ENDS_WITH = _i.detail.like(literal(f"{GONE}:%:").concat(text("plain")))
"""The reference is `plain`, which must hold no wildcard."""
_LEAVE = Sql(
    update(inbox).where(_i.turn_id.in_(_of_session), _i.fate.in_(("answered", "merged"))).values(detail=_words)
)


def leave(tx: Tx, session: str) -> None:
    """Before the turns of a session go."""
    tx.run(_LEAVE, session=session)


def read(detail: str) -> Remains | None:
    """None where it says something else."""
    match detail.split(":"):
        case [word, state, reached, reference] if word == GONE:
            return Remains(state=state, unsent=reached == UNSENT, reference=reference)
        case _:
            return None
