"""/approve and /deny: what a person says to calls that wait for their word."""

from __future__ import annotations

from collections.abc import Callable

from core.desk import consent
from core.desk.commands.effects import Case, Effect
from core.desk.consent import Verdict
from core.store import consents, history
from core.store.consents import Consent, ConsentId, ConsentState, Waits
from core.store.sql import Tx

ALL = "all"
_UNANSWERED = (ConsentState.OPEN, ConsentState.EXPIRED)


def approve(tx: Tx, case: Case) -> Effect:
    return _answer(tx, case, Verdict(state=ConsentState.APPROVED), "consent_approved")


def deny(tx: Tx, case: Case) -> Effect:
    return _answer(tx, case, Verdict(state=ConsentState.DENIED, result=history.DENIED), "consent_denied")


def _answer(tx: Tx, case: Case, verdict: Verdict, said: str) -> Effect:
    say = case.notices.say
    waiting = [one for one in consents.open_in(tx, case.conversation.id) if one.waits is Waits.CONSENT]
    due = [one for one in waiting if one.expires_at > case.now]
    meant = _meant(tx, case, due)
    if isinstance(meant, str):
        return Effect(reply=meant)
    rows = [consent.answer(tx, case.conversation, one, verdict, case.now) for one in meant]
    opened = tuple(row for row in rows if row is not None)
    left = [one.id for one in due if one not in meant]
    reply = say("consent_left", said=say(said), count=len(left), ids=", ".join(left)) if left else say(said)
    return Effect(reply=reply, opened=opened)


def _meant(tx: Tx, case: Case, due: list[Consent]) -> list[Consent] | str:
    """The calls that the argument names, or what to say instead. An id never means another call."""
    say, name = case.notices.say, case.argument.strip().casefold()
    if not name or name == ALL:
        if len(due) > 1 and not name:
            return say("consent_which", count=len(due), ids=", ".join(one.id for one in due))
        last = consents.last_in(tx, case.row.address, case.now - consents.KNOWN_FOR) if not due else None
        expired = last is not None and last.expires_at <= case.now and last.state in _UNANSWERED
        return due or say("consent_expired" if expired else "consent_none")
    named = [one for one in due if one.id.casefold() == name]
    if named:
        return named
    known = consents.get(tx, ConsentId(name.upper()))
    if known is None or known.conversation != case.conversation.id:
        return say("consent_unknown", id=name[:20])
    state = ConsentState.EXPIRED if known.state is ConsentState.OPEN else known.state
    return say("consent_settled", state=say(f"consent_is_{state}"))


EFFECTS: dict[str, Callable[[Tx, Case], Effect]] = {"approve": approve, "deny": deny}
