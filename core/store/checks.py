"""What must be true of a store, whatever happened. Reads everything, so it is for `db verify` and for tests."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text as verbatim
from sqlalchemy.sql.elements import ClauseElement

from core.store.search import CURSOR
from core.store.sql import Sql, Tx

MOST = 20
"""Findings of one rule that are told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A broken rule, and the row that breaks it: a table's name and the row's id there."""

    rule: str
    subject: str


_WORDS = {
    "sqlite": {
        "CALL(r)": "r.data ->> 'call'",
        "CALL(c)": "c.data ->> 'call'",
        "LAST_ID": "coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'entries'",
    },
    "postgresql": {
        "CALL(r)": "CAST(r.data AS json) ->> 'call'",
        "CALL(c)": "CAST(c.data AS json) ->> 'call'",
        "LAST_ID": "last_value FROM entries_id_seq",
    },
}
"""Where the databases say the same thing differently."""

_SESSIONS = {
    "the seqs of a session count from 1 without a gap": """
        SELECT 'sessions ' || session_id AS subject FROM entries GROUP BY session_id
        HAVING min(seq) <> 1 OR max(seq) <> count(*)
    """,
    "a session's head is the seq of its last entry": """
        SELECT 'sessions ' || s.id AS subject FROM sessions s
        LEFT JOIN (SELECT session_id, max(seq) AS last FROM entries GROUP BY session_id) e ON e.session_id = s.id
        WHERE s.head <> coalesce(e.last, 0)
    """,
    "a session's model head is the seq of its last entry that is no notice": """
        SELECT 'sessions ' || s.id AS subject FROM sessions s
        LEFT JOIN (
            SELECT session_id, max(seq) AS last FROM entries WHERE kind <> 'notice' GROUP BY session_id
        ) e ON e.session_id = s.id
        WHERE s.model_head <> coalesce(e.last, 0)
    """,
    "a session counts its user entries": """
        SELECT 'sessions ' || s.id AS subject FROM sessions s
        LEFT JOIN (
            SELECT session_id, count(*) AS n FROM entries WHERE kind = 'user' GROUP BY session_id
        ) e ON e.session_id = s.id
        WHERE s.messages <> coalesce(e.n, 0)
    """,
    "an ended session has a reason and does not expire, an open one has no reason": """
        SELECT 'sessions ' || id AS subject FROM sessions
        WHERE (ended_at IS NULL) <> (end_reason IS NULL) OR (ended_at IS NOT NULL AND expires_at IS NOT NULL)
    """,
    "a session that is nobody's last has ended": """
        SELECT 'sessions ' || s.id AS subject FROM sessions s
        WHERE s.ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.session_id = s.id)
    """,
    "a conversation's last session exists, belongs to it and is not of a later generation": """
        SELECT 'conversations ' || c.id AS subject FROM conversations c LEFT JOIN sessions s ON s.id = c.session_id
        WHERE c.session_id IS NOT NULL
            AND (s.id IS NULL OR s.conversation_id <> c.id OR s.generation > c.generation)
    """,
    "a session is the last of one conversation at most": """
        SELECT 'sessions ' || session_id AS subject FROM conversations WHERE session_id IS NOT NULL
        GROUP BY session_id HAVING count(*) > 1
    """,
}

_TURNS = {
    "an open turn is in an open session of its own conversation": """
        SELECT 'turns ' || t.id AS subject FROM turns t JOIN sessions s ON s.id = t.session_id
        WHERE t.state IN ('running', 'suspended')
            AND (s.ended_at IS NOT NULL OR s.conversation_id <> t.conversation_id)
    """,
    "a turn has a known state, and a closed one its time": """
        SELECT 'turns ' || id AS subject FROM turns
        WHERE state NOT IN ('running', 'suspended', 'done', 'failed', 'cancelled', 'interrupted')
            OR (state <> 'running' AND closed_at IS NULL)
    """,
    "a turn's user entry is in its session": """
        SELECT 'turns ' || t.id AS subject FROM turns t JOIN sessions s ON s.id = t.session_id
        WHERE t.user_seq > s.head OR t.user_seq < 0 OR t.attempt < 1
    """,
    "a conversation has one running turn at most": """
        SELECT 'conversations ' || conversation_id AS subject FROM turns WHERE state = 'running'
        GROUP BY conversation_id HAVING count(*) > 1
    """,
    "an entry's turn exists and is of its session": """
        SELECT 'entries ' || e.id AS subject FROM entries e LEFT JOIN turns t ON t.id = e.turn_id
        WHERE e.turn_id IS NOT NULL AND (t.id IS NULL OR t.session_id <> e.session_id)
    """,
    "a call of a closed turn has its result": """
        SELECT 'entries ' || c.id AS subject FROM entries c
        JOIN turns t ON t.id = c.turn_id AND t.state NOT IN ('running', 'suspended')
        WHERE c.kind = 'tool_call' AND NOT EXISTS (
            SELECT 1 FROM entries r WHERE r.session_id = c.session_id AND r.seq > c.seq AND r.kind = 'tool_result'
                AND CALL(r) = CALL(c)
        )
    """,
}

_INBOX = {
    "a row that is done has exactly one fate and its time, any other none": """
        SELECT 'inbox ' || id AS subject FROM inbox
        WHERE state NOT IN ('pending', 'taken', 'done')
            OR (state = 'done') <> (fate IS NOT NULL) OR (state = 'done') <> (done_at IS NOT NULL)
            OR fate NOT IN ('answered', 'merged', 'closed', 'refused', 'ignored', 'stale')
    """,
    "the text of a row that is done is gone": """
        SELECT 'inbox ' || id AS subject FROM inbox WHERE state = 'done' AND text <> ''
    """,
    "a row that waits has a conversation, and no turn": """
        SELECT 'inbox ' || id AS subject FROM inbox
        WHERE state = 'pending' AND (turn_id IS NOT NULL OR conversation_id IS NULL)
    """,
    "a taken row is with an open turn of its conversation": """
        SELECT 'inbox ' || i.id AS subject FROM inbox i LEFT JOIN turns t ON t.id = i.turn_id
        WHERE i.state = 'taken' AND (
            t.id IS NULL OR t.state NOT IN ('running', 'suspended') OR t.conversation_id <> i.conversation_id
        )
    """,
    "a row's turn exists": """
        SELECT 'inbox ' || i.id AS subject FROM inbox i
        WHERE i.turn_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = i.turn_id)
    """,
}

_DELIVERIES = {
    "a delivery has its time when it is done with, and not before": """
        SELECT 'deliveries ' || id AS subject FROM deliveries
        WHERE (state IN ('sent', 'failed', 'unknown')) <> (done_at IS NOT NULL)
    """,
    "a delivery that is not sent has something to say": """
        SELECT 'deliveries ' || id AS subject FROM deliveries
        WHERE state IN ('queued', 'sending') AND role <> 'preview' AND text = ''
    """,
    "a delivery that is being sent was attempted, and its part counts from 1": """
        SELECT 'deliveries ' || id AS subject FROM deliveries
        WHERE (state IN ('sending', 'sent', 'unknown') AND attempts < 1) OR part < 1
    """,
    "a preview is of a running turn": """
        SELECT 'deliveries ' || d.id AS subject FROM deliveries d LEFT JOIN turns t ON t.id = d.turn_id
        WHERE d.role = 'preview' AND (t.id IS NULL OR t.state <> 'running')
    """,
    "a delivery's turn exists": """
        SELECT 'deliveries ' || d.id AS subject FROM deliveries d
        WHERE d.turn_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = d.turn_id)
    """,
}

_REST = {
    "no deletion is left open": "SELECT 'deletions ' || session_id AS subject FROM deletions",
    "the search cursor is at an entry that is or was": f"""
        SELECT 'facts ' || name AS subject FROM facts
        WHERE name = '{CURSOR}' AND CAST(value AS BIGINT) > (SELECT LAST_ID)
    """,  # noqa: S608  # a constant of ours
}

_SQLITE = {
    "a row has what it references": """
        SELECT "table" || ' ' || coalesce(rowid, 0) AS subject FROM pragma_foreign_key_check
    """,
}


def _rule(words: str) -> Sql:
    def build(dialect: str) -> ClauseElement:
        written = words
        for ours, theirs in _WORDS[dialect].items():
            written = written.replace(ours, theirs)
        return verbatim(f"SELECT subject FROM ({written}) AS broken ORDER BY subject LIMIT {MOST}")  # noqa: S608  # constants of ours

    return Sql(build)


_RULES = {name: _rule(words) for name, words in (_SESSIONS | _TURNS | _INBOX | _DELIVERIES | _REST).items()}
_RULES_ON_SQLITE = {name: _rule(words) for name, words in _SQLITE.items()}


def check(tx: Tx) -> list[Finding]:
    """Every broken rule, with at most `MOST` of the rows that break it; empty if all is well."""
    rules = {**_RULES, **_RULES_ON_SQLITE} if tx.dialect == "sqlite" else _RULES
    return [
        Finding(rule=name, subject=row.text("subject")) for name, sql in rules.items() for row in tx.all(sql)
    ]  # fmt: skip
