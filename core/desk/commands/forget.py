"""/forget: what a person asks the desk to forget of them. The first one asks, the next one within minutes does it.

In this transaction the person is unknown and the conversation ends; what is left goes in small units, by
`core.desk.forgetting`, from a mark that outlives the process.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from core.desk.admit import close_suspended
from core.desk.commands.effects import Case, Effect
from core.store import forgotten, sessions
from core.store.forgotten import Mark, Question, TookPart
from core.store.people import Role
from core.store.sql import Tx
from core.vocabulary import ChatKind

ASKED = "forget_asked"
"""How a row ends that only asked."""
FORGOTTEN = "forgotten"
"""Why a session ends."""
GOOD_FOR = timedelta(minutes=10)
YES = "yes"


def forget(tx: Tx, case: Case) -> Effect:
    """Only the asker counts, also where several people talk: with every identity that they are known by."""
    row = case.row
    identities = forgotten.identities_of(tx, row.identity)
    here = [case.conversation.id] if row.kind is ChatKind.DIRECT else []
    found = forgotten.took_part(tx, identities, case.now, here)
    question = Question(
        row=row.id, conversation=case.conversation.id, identity=row.identity, command="forget", detail=ASKED,
        since=case.now - GOOD_FOR,
    )  # fmt: skip
    if case.argument.strip().casefold() != YES or not forgotten.was_asked(tx, question):
        return Effect(reply=_question(case, found, len(identities)), detail=ASKED)
    own = {*here, *(one.conversation for one in found.own)}
    one = Mark(identities=identities, at=case.now, row=row.id, conversations=tuple(sorted(own)))
    forgotten.mark(tx, one)
    forgotten.unknow(tx, one)
    session = case.session(tx)
    if session is not None and session.ended_at is None and session.id in {one.session for one in found.own}:
        session = close_suspended(tx, case.conversation, session, case.now)
        sessions.end(tx, session.id, FORGOTTEN, case.now)
    return Effect(reply=case.notices.say("forgotten"), evict=True)


def _question(case: Case, found: TookPart, identities: int) -> str:
    say, own = case.notices.say, found.own
    lines = [say("forget_ask", sessions=len(own), messages=sum(one.messages for one in own))]
    lines += [say("forget_shared", sessions=found.shared)] if found.shared else []
    lines += [say("forget_accounts", count=identities)] if identities > 1 else []
    lines += [say("forget_owner")] if case.row.role == Role.OWNER else []
    return "\n".join([*lines, say("forget_how", minutes=int(GOOD_FOR.total_seconds() // 60))])


EFFECTS: dict[str, Callable[[Tx, Case], Effect]] = {"forget": forget}
