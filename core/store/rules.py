"""What must be true of a store, whatever happened, as statements that find the rows for which it is not.

`PIECE(column)` stands for the piece of a table that a statement looks at; `Rule.over` says which table that is.
"""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import BigInteger, Integer, Table

from core.store.search import BEGUN, CURSOR, PIECES
from core.store.tables import metadata

SESSIONS, TURNS, CONVERSATIONS, INBOX, DELIVERIES, INDEX = (
    "sessions", "turns", "conversations", "inbox", "deliveries", "entries_search",
)  # fmt: skip
WHOLE = ""
"""A statement that an index keeps short, whatever the store holds."""

COUNTERS = "A transcript and what is counted of it disagree."
PLACES = "A conversation and its sessions disagree about which of them goes on."
WORK = "A turn is not in the state that the rest of the store takes it to be in."
FATES = "What became of a message is not said, or said twice; it may be answered again or never."
OUTBOX = "A reply may be sent again, or not at all."
SEARCH = "Searching may miss what people said."
VALUES = "A row can't be read, since something else wrote to it; what it belongs to can't go on."
DATABASE = "The database itself is damaged or was changed by something else."

_LOOK = "`frontdesk explain` on the id shows what is known; a backup from before has it right (`frontdesk db restore`)."
ADVICE = {
    COUNTERS: "`frontdesk sessions export ID` still reads it. Restore a backup from before, or delete the session.",
    PLACES: "Restore a backup from before; until then /reset there begins a sound session.",
    WORK: _LOOK,
    FATES: _LOOK,
    OUTBOX: _LOOK,
    SEARCH: "Transcripts are not affected. Restore a backup from before if you rely on searching.",
    VALUES: "Restore a backup from before. The chat of a session that can't be read gets a new one by itself.",
    DATABASE: "Stop the desk and restore the last good backup (`frontdesk db restore FILE`); look at the disk.",
}


class Rule(Struct, frozen=True, kw_only=True):
    """`words` finds the rows (`subject`: a table and an id) that break it. `means`: what that is to the owner."""

    name: str
    over: str
    means: str
    words: str
    dialect: str | None = None


def _numbers(table: Table) -> Rule:
    """SQLite keeps a text in a column of numbers if it is none."""
    columns = [column.name for column in table.columns if isinstance(column.type, BigInteger | Integer)]
    odd = " OR ".join(f"typeof(x.{name}) NOT IN ('integer', 'null')" for name in columns)
    return Rule(
        name=f"numbers and times of {table.name} are numbers", over=table.name, means=VALUES, dialect="sqlite",
        words=f"SELECT '{table.name} ' || x.id AS subject FROM {table.name} x WHERE PIECE(x.id) AND ({odd})",  # noqa: S608  # names of ours
    )  # fmt: skip


RULES = (
    *(_numbers(metadata.tables[name]) for name in (SESSIONS, TURNS, CONVERSATIONS, INBOX, DELIVERIES)),
    Rule(name="the seqs of a session count from 1 without a gap", over=SESSIONS, means=COUNTERS, words="""
        SELECT 'sessions ' || session_id AS subject FROM entries WHERE PIECE(session_id) GROUP BY session_id
        HAVING min(seq) <> 1 OR max(seq) <> count(*)
    """),
    Rule(name="a session's head is the seq of its last entry", over=SESSIONS, means=COUNTERS, words="""
        SELECT 'sessions ' || s.id AS subject FROM sessions s LEFT JOIN (
            SELECT session_id, max(seq) AS last FROM entries WHERE PIECE(session_id) GROUP BY session_id
        ) e ON e.session_id = s.id
        WHERE PIECE(s.id) AND s.head <> coalesce(e.last, 0)
    """),
    Rule(
        name="a session's model head is the seq of its last entry that is no notice", over=SESSIONS, means=COUNTERS,
        words="""
        SELECT 'sessions ' || s.id AS subject FROM sessions s LEFT JOIN (
            SELECT session_id, max(seq) AS last FROM entries WHERE PIECE(session_id) AND kind <> 'notice'
            GROUP BY session_id
        ) e ON e.session_id = s.id
        WHERE PIECE(s.id) AND s.model_head <> coalesce(e.last, 0)
    """),
    Rule(name="a session counts its user entries", over=SESSIONS, means=COUNTERS, words="""
        SELECT 'sessions ' || s.id AS subject FROM sessions s LEFT JOIN (
            SELECT session_id, count(*) AS n FROM entries WHERE PIECE(session_id) AND kind = 'user'
            GROUP BY session_id
        ) e ON e.session_id = s.id
        WHERE PIECE(s.id) AND s.messages <> coalesce(e.n, 0)
    """),
    Rule(
        name="an ended session has a reason and does not expire, an open one has no reason", over=SESSIONS,
        means=PLACES, words="""
        SELECT 'sessions ' || id AS subject FROM sessions
        WHERE PIECE(id) AND ((ended_at IS NULL) <> (end_reason IS NULL)
            OR (ended_at IS NOT NULL AND expires_at IS NOT NULL))
    """),
    Rule(name="a session that is nobody's last has ended", over=SESSIONS, means=PLACES, words="""
        SELECT 'sessions ' || s.id AS subject FROM sessions s
        WHERE PIECE(s.id) AND s.ended_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.session_id = s.id)
    """),
    Rule(
        name="a conversation's last session exists, belongs to it and is not of a later generation",
        over=CONVERSATIONS, means=PLACES, words="""
        SELECT 'conversations ' || c.id AS subject FROM conversations c LEFT JOIN sessions s ON s.id = c.session_id
        WHERE PIECE(c.id) AND c.session_id IS NOT NULL
            AND (s.id IS NULL OR s.conversation_id <> c.id OR s.generation > c.generation)
    """),
    Rule(name="a session is the last of one conversation at most", over=CONVERSATIONS, means=PLACES, words="""
        SELECT 'sessions ' || c.session_id AS subject FROM conversations c
        JOIN conversations d ON d.session_id = c.session_id AND d.id > c.id WHERE PIECE(c.id)
    """),
    Rule(name="an open turn is in an open session of its own conversation", over=TURNS, means=WORK, words="""
        SELECT 'turns ' || t.id AS subject FROM turns t JOIN sessions s ON s.id = t.session_id
        WHERE PIECE(t.id) AND t.state IN ('running', 'suspended')
            AND (s.ended_at IS NOT NULL OR s.conversation_id <> t.conversation_id)
    """),
    Rule(name="a turn has a known state, and a closed one its time", over=TURNS, means=WORK, words="""
        SELECT 'turns ' || id AS subject FROM turns
        WHERE PIECE(id) AND (
            state NOT IN ('running', 'suspended', 'done', 'failed', 'cancelled', 'interrupted')
            OR (state <> 'running' AND closed_at IS NULL))
    """),
    Rule(name="a turn's user entry is in its session", over=TURNS, means=WORK, words="""
        SELECT 'turns ' || t.id AS subject FROM turns t JOIN sessions s ON s.id = t.session_id
        WHERE PIECE(t.id) AND (t.user_seq > s.head OR t.user_seq < 0 OR t.attempt < 1)
    """),
    Rule(name="a conversation has one running turn at most", over=WHOLE, means=WORK, words="""
        SELECT 'conversations ' || conversation_id AS subject FROM turns WHERE state = 'running'
        GROUP BY conversation_id HAVING count(*) > 1
    """),
    Rule(name="an entry's turn exists and is of its session", over=SESSIONS, means=WORK, words="""
        SELECT 'entries ' || e.id AS subject FROM entries e LEFT JOIN turns t ON t.id = e.turn_id
        WHERE PIECE(e.session_id) AND e.turn_id IS NOT NULL AND (t.id IS NULL OR t.session_id <> e.session_id)
    """),
    Rule(name="a call of a closed turn has its result", over=SESSIONS, means=WORK, words="""
        SELECT 'entries ' || c.id AS subject FROM entries c
        JOIN turns t ON t.id = c.turn_id AND t.state NOT IN ('running', 'suspended')
        WHERE PIECE(c.session_id) AND c.kind = 'tool_call' AND NOT EXISTS (
            SELECT 1 FROM entries r WHERE r.session_id = c.session_id AND r.seq > c.seq AND r.kind = 'tool_result'
                AND CALL(r) = CALL(c)
        )
    """),
    Rule(
        name="a row that is done has exactly one fate and its time, any other none", over=INBOX, means=FATES, words="""
        SELECT 'inbox ' || id AS subject FROM inbox
        WHERE PIECE(id) AND (state NOT IN ('pending', 'taken', 'done')
            OR (state = 'done') <> (fate IS NOT NULL) OR (state = 'done') <> (done_at IS NOT NULL)
            OR fate NOT IN ('answered', 'merged', 'closed', 'refused', 'ignored', 'stale'))
    """),
    Rule(name="the text of a row that is done is gone", over=INBOX, means=FATES, words="""
        SELECT 'inbox ' || id AS subject FROM inbox WHERE PIECE(id) AND state = 'done' AND text <> ''
    """),
    Rule(name="a row that waits has a conversation, and no turn", over=INBOX, means=FATES, words="""
        SELECT 'inbox ' || id AS subject FROM inbox
        WHERE PIECE(id) AND state = 'pending' AND (turn_id IS NOT NULL OR conversation_id IS NULL)
    """),
    Rule(name="a taken row is with an open turn of its conversation", over=INBOX, means=FATES, words="""
        SELECT 'inbox ' || i.id AS subject FROM inbox i LEFT JOIN turns t ON t.id = i.turn_id
        WHERE PIECE(i.id) AND i.state = 'taken' AND (
            t.id IS NULL OR t.state NOT IN ('running', 'suspended') OR t.conversation_id <> i.conversation_id
        )
    """),
    Rule(name="a row's turn exists", over=INBOX, means=FATES, words="""
        SELECT 'inbox ' || i.id AS subject FROM inbox i
        WHERE PIECE(i.id) AND i.turn_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = i.turn_id)
    """),
    Rule(
        name="a delivery has its time when it is done with, and not before", over=DELIVERIES, means=OUTBOX, words="""
        SELECT 'deliveries ' || id AS subject FROM deliveries
        WHERE PIECE(id) AND (state IN ('sent', 'failed', 'unknown')) <> (done_at IS NOT NULL)
    """),
    Rule(name="a delivery that is not sent has something to say", over=DELIVERIES, means=OUTBOX, words="""
        SELECT 'deliveries ' || id AS subject FROM deliveries
        WHERE PIECE(id) AND state IN ('queued', 'sending') AND role <> 'preview' AND text = '' AND files IS NULL
    """),
    Rule(
        name="a delivery that is being sent was attempted, and its part counts from 1", over=DELIVERIES, means=OUTBOX,
        words="""
        SELECT 'deliveries ' || id AS subject FROM deliveries
        WHERE PIECE(id) AND ((state IN ('sending', 'sent', 'unknown') AND attempts < 1) OR part < 1)
    """),
    Rule(name="a preview is of a running turn", over=DELIVERIES, means=OUTBOX, words="""
        SELECT 'deliveries ' || d.id AS subject FROM deliveries d LEFT JOIN turns t ON t.id = d.turn_id
        WHERE PIECE(d.id) AND d.role = 'preview' AND (t.id IS NULL OR t.state <> 'running')
    """),
    Rule(name="a delivery's turn exists", over=DELIVERIES, means=OUTBOX, words="""
        SELECT 'deliveries ' || d.id AS subject FROM deliveries d
        WHERE PIECE(d.id) AND d.turn_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = d.turn_id)
    """),
    Rule(
        name="no deletion is left open", over=WHOLE, means=DATABASE,
        words="SELECT 'deletions ' || session_id AS subject FROM deletions",
    ),
    Rule(name="the search cursor is at an entry that is or was", over=WHOLE, means=SEARCH, words=f"""
        SELECT 'facts ' || name AS subject FROM facts
        WHERE name = '{CURSOR}' AND CAST(value AS BIGINT) > (SELECT LAST_ID)
    """),  # noqa: S608  # a constant of ours
    Rule(
        name="an entry before the search cursor is in the index", over=SESSIONS, means=SEARCH, dialect="sqlite",
        words=f"""
        SELECT 'entries ' || e.id AS subject FROM entries e
        WHERE PIECE(e.session_id) AND e.kind IN ('user', 'assistant') AND e.text <> ''
            AND e.id <= (SELECT CAST(value AS INTEGER) FROM facts WHERE name = '{CURSOR}')
            AND NOT EXISTS (SELECT 1 FROM entries_search WHERE rowid = e.id * {PIECES})
    """),  # noqa: S608  # constants of ours
    Rule(
        name="what is in the search index is of an entry that the cursor has passed", over=INDEX, means=SEARCH,
        dialect="sqlite", words=f"""
        SELECT 'entries_search ' || x.rowid AS subject FROM entries_search x LEFT JOIN entries e
            ON e.id = x.rowid / {PIECES}
        WHERE PIECE(x.rowid) AND (e.id IS NULL OR (
            e.id > (SELECT CAST(value AS INTEGER) FROM facts WHERE name = '{CURSOR}')
            AND NOT EXISTS (SELECT 1 FROM facts WHERE name = '{BEGUN}' AND value LIKE e.id || ':%')))
    """),  # noqa: S608  # constants of ours
    Rule(
        name="every constraint is in force and every index is usable", over=WHOLE, means=DATABASE,
        dialect="postgresql", words="""
        SELECT 'constraint ' || conname AS subject FROM pg_constraint
        WHERE NOT convalidated AND connamespace = current_schema()::regnamespace
        UNION ALL SELECT 'index ' || c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE NOT (i.indisvalid AND i.indisready) AND c.relnamespace = current_schema()::regnamespace
    """),
)  # fmt: skip
REFERENCES = "a row has what it references"
INTACT = "the database can be read everywhere"
FILE_THERE = "a file that a transcript refers to is on the disk, with its size"
MEANS = {
    **{rule.name: rule.means for rule in RULES},
    REFERENCES: DATABASE,
    INTACT: DATABASE,
    FILE_THERE: "An image or a document in a transcript is gone; the model is told so in its place.",
}
TO_DO = {
    **{name: ADVICE.get(means, "") for name, means in MEANS.items()},
    FILE_THERE: "Copy it back from a backup (`tar -xf FILE files/...` into the state directory), or leave it.",
}
