"""The schema. Columns that end in `_at` or `_us` are microseconds since 1970 in UTC.

What `sqlite_where` says holds on PostgreSQL too. To say it there as well would import that dialect at every start.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

_RowId = BigInteger().with_variant(Integer(), "sqlite")


def _id() -> Column[int]:
    return Column("id", _RowId, primary_key=True, autoincrement=True)


facts = Table(
    "facts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
"""Single values of the desk itself: heartbeat, policy digest, search cursor, accounts."""

conversations = Table(
    "conversations",
    metadata,
    _id(),
    Column("session_id", Text, unique=True),
    Column("generation", BigInteger, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("agent", Text),
    Column("model", Text),
    Column("bot", Text, nullable=False),
    Column("chat", Text, nullable=False),
    Column("thread", Text),
    Column("kind", Text, nullable=False),
    Column("told", Text),
    Column("created_at", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)
"""`told`: a notice that waits for the next message (the session was resumed elsewhere)."""

keys = Table(
    "keys",
    metadata,
    Column("key", Text, primary_key=True),
    Column("conversation_id", BigInteger, ForeignKey("conversations.id"), nullable=False, index=True),
    Column("created_at", BigInteger, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("conversation_id", BigInteger, ForeignKey("conversations.id"), nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("parent_id", Text),
    Column("parent_last_at", BigInteger),
    Column("reset_reason", Text),
    Column("started_at", BigInteger, nullable=False),
    Column("last_human_at", BigInteger, nullable=False),
    Column("touched_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("end_reason", Text),
    Column("expires_at", BigInteger),
    Column("title", Text),
    Column("bot", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("head", BigInteger, nullable=False),
    Column("model_head", BigInteger, nullable=False),
    Column("messages", BigInteger, nullable=False),
    Index("sessions_by_conversation", "conversation_id", "started_at"),
    Index("sessions_by_touch", "touched_at", "id"),
)
Index("sessions_by_expiry", sessions.c.expires_at, sqlite_where=sessions.c.expires_at.isnot(None))
"""`head`: the last entry's seq, which counts from 1 without a gap. `model_head`: that of the last entry that the model
sees; a cached agent is good for one value of it. `messages`: user entries."""

participants = Table(
    "participants",
    metadata,
    Column("session_id", Text, ForeignKey("sessions.id"), primary_key=True),
    Column("identity", Text, primary_key=True),
    Index("participants_by_identity", "identity", "session_id"),
)

turns = Table(
    "turns",
    metadata,
    Column("id", Text, primary_key=True),
    Column("conversation_id", BigInteger, ForeignKey("conversations.id"), nullable=False),
    Column("session_id", Text, ForeignKey("sessions.id"), nullable=False),
    Column("state", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("author", Text, nullable=False),
    Column("thread", Text),
    Column("reply_to", Text),
    Column("bot", Text, nullable=False),
    Column("chat", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("user_seq", BigInteger, nullable=False),
    Column("agent", Text, nullable=False),
    Column("usage", Text),
    Column("reference", Text),
    Column("opened_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
    Column("retry", Text),
    Index("turns_by_session", "session_id", "opened_at"),
    Index("turns_by_author", "author", "opened_at"),
)
"""`user_seq`: the seq of the turn's last user entry, where a new attempt rewinds to.
`retry`: how it is asked again, see `core.store.turns`."""
_open_turn = turns.c.state.in_(("running", "suspended"))
Index("turns_open", turns.c.conversation_id, sqlite_where=_open_turn)
_running_turn = turns.c.state == "running"
Index("turns_one_running", turns.c.conversation_id, unique=True, sqlite_where=_running_turn)

entries = Table(
    "entries",
    metadata,
    _id(),
    Column("session_id", Text, ForeignKey("sessions.id"), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("data", Text),
    Column("turn_id", Text),
    Column("sender", Text),
    Column("at", BigInteger, nullable=False),
    UniqueConstraint("session_id", "seq"),
    CheckConstraint(
        "kind IN ('user','assistant','tool_call','tool_result','notice','rewind','compaction','clear')",
        name="entries_kind",
    ),
    sqlite_autoincrement=True,
)
"""`data`: JSON that depends on the kind (a call's id and arguments, a mark's target, the line shown to the model)."""

inbox = Table(
    "inbox",
    metadata,
    _id(),
    Column("account", Text, nullable=False),
    Column("dedupe", Text, nullable=False),
    Column("message", Text),
    Column("conversation_id", BigInteger, ForeignKey("conversations.id")),
    Column("lane", Text, nullable=False),
    Column("command", Text),
    Column("state", Text, nullable=False),
    Column("fate", Text),
    Column("detail", Text),
    Column("turn_id", Text),
    Column("bot", Text, nullable=False),
    Column("chat", Text, nullable=False),
    Column("thread", Text),
    Column("kind", Text, nullable=False),
    Column("identity", Text),
    Column("name", Text),
    Column("role", Text),
    Column("text", Text, nullable=False),
    Column("more_likely", Integer, nullable=False),
    Column("sent_at", BigInteger, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Column("done_at", BigInteger),
    Column("tools", Text),
    Column("enclosed", Text),
    Column("reads", Integer, nullable=False, server_default="0"),
    UniqueConstraint("account", "dedupe"),
    CheckConstraint("(state = 'done') = (fate IS NOT NULL)", name="inbox_fate"),
    sqlite_autoincrement=True,
)
"""`dedupe`: `m:CHAT:MESSAGE` for a message, `e:EVENT` for anything else. `tools`: what a client brought, as JSON.
`enclosed`: files and what the message refers to, as JSON. `reads`: in how many processes its files began to be read,
of those that died or still run."""
_pending = inbox.c.state == "pending"
Index("inbox_pending", inbox.c.conversation_id, inbox.c.id, sqlite_where=_pending)
_undone = inbox.c.state != "done"
Index("inbox_undone", inbox.c.id, sqlite_where=_undone)
Index("inbox_by_turn", inbox.c.turn_id, sqlite_where=inbox.c.turn_id.isnot(None))
Index("inbox_done", inbox.c.done_at, sqlite_where=inbox.c.done_at.isnot(None))

deliveries = Table(
    "deliveries",
    metadata,
    _id(),
    Column("conversation_id", BigInteger, ForeignKey("conversations.id")),
    Column("turn_id", Text),
    Column("role", Text, nullable=False),
    Column("part", Integer, nullable=False),
    Column("bot", Text, nullable=False),
    Column("chat", Text, nullable=False),
    Column("thread", Text),
    Column("reply_to", Text),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("message", Text),
    Column("attempts", Integer, nullable=False),
    Column("not_before", BigInteger),
    Column("error", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("done_at", BigInteger),
    Column("buttons", Text),
    Column("files", Text),
    Column("alone", Text),
    CheckConstraint("state IN ('queued','sending','sent','failed','unknown')", name="deliveries_state"),
    CheckConstraint("role IN ('preview','reply','notice','unknown_notice')", name="deliveries_role"),
    sqlite_autoincrement=True,
)
"""`buttons`, `files`: what goes with the text, as JSON. `alone`: the user who alone is to see it."""
_unsent = deliveries.c.state.in_(("queued", "sending"))
Index("deliveries_unsent", deliveries.c.bot, deliveries.c.chat, deliveries.c.id, sqlite_where=_unsent)
Index("deliveries_unsent_in", deliveries.c.conversation_id, sqlite_where=_unsent)
Index("deliveries_by_turn", deliveries.c.turn_id, sqlite_where=deliveries.c.turn_id.isnot(None))
Index("deliveries_done", deliveries.c.done_at, sqlite_where=deliveries.c.done_at.isnot(None))
_said = (deliveries.c.state == "sent") & (deliveries.c.text != "")
Index("deliveries_said", deliveries.c.done_at, sqlite_where=_said)
_missed = deliveries.c.state == "unknown"
Index("deliveries_unknown", deliveries.c.bot, deliveries.c.chat, sqlite_where=_missed)
_lost = (deliveries.c.state == "failed") & (deliveries.c.role == "reply")
Index("deliveries_lost", deliveries.c.conversation_id, sqlite_where=_lost)

people = Table(
    "people",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    CheckConstraint("role IN ('owner','user','guest','blocked')", name="people_role"),
)

identities = Table(
    "identities",
    metadata,
    Column("identity", Text, primary_key=True),
    Column("person_id", Text, ForeignKey("people.id"), nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)
"""`identity`: `platform:USER` or `platform:REALM/USER`."""

pairings = Table(
    "pairings",
    metadata,
    Column("code", Text, primary_key=True),
    Column("identity", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("bot", Text, nullable=False),
    Column("chat", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

consents = Table(
    "consents",
    metadata,
    Column("id", Text, primary_key=True),
    Column("turn_id", Text, ForeignKey("turns.id"), nullable=False, index=True),
    Column("call", Text, nullable=False),
    Column("bot", Text, nullable=False),
    Column("chat", Text, nullable=False),
    Column("asker", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
    Column("kind", Text, nullable=False, server_default="consent"),
    CheckConstraint("state IN ('open','approved','denied','expired','closed')", name="consents_state"),
)
"""One open call of a suspended turn that waits for a person (`kind` consent) or a client (client)."""

idempotency = Table(
    "idempotency",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("row_id", BigInteger, ForeignKey("inbox.id"), index=True),
    Column("answer", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

attachments = Table(
    "attachments",
    metadata,
    _id(),
    Column("session_id", Text, ForeignKey("sessions.id"), nullable=False, index=True),
    Column("entry_id", BigInteger, ForeignKey("entries.id"), index=True),
    Column("digest", Text, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

buttons = Table(
    "buttons",
    metadata,
    Column("id", Text, primary_key=True),
    Column("question", Text, nullable=False, index=True),
    Column("bot", Text, nullable=False),
    Column("chat", Text, nullable=False),
    Column("identity", Text, nullable=False),
    Column("conversation_id", BigInteger, ForeignKey("conversations.id"), index=True),
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)
"""Under messages of ours; see `core.store.buttons`."""

moves = Table(
    "moves",
    metadata,
    Column("bot", Text, primary_key=True),
    Column("was", Text, primary_key=True),
    Column("chat", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("moves_by_chat", "bot", "chat"),
)
"""Which id a chat has after the one that it had."""

never = Table(
    "never",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    CheckConstraint("id <> id", name="never_any"),
)
"""No row can be in it."""

deletions = Table(
    "deletions",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column(
        "guard",
        BigInteger,
        ForeignKey("never.id", deferrable=True, initially="DEFERRED"),
        nullable=False,
        server_default="0",
    ),
)
"""A session whose entries may go: the row lives inside one transaction only. `guard` references a row that can't be,
checked at commit, so that a transaction which forgets to take it away fails."""

MIGRATIONS = "schema_version"
"""The table in which Alembic keeps the version."""

SCHEMA = "0005"
