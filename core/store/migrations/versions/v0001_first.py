"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from core.store.migrations.first_ddl import forbid_changes, index_texts

revision = "0001"
down_revision = None


def upgrade() -> None:
    _desk()
    _conversations()
    _sessions()
    _turns()
    _entries()
    _inbox()
    _deliveries()
    _people()
    _gate()
    forbid_changes()
    index_texts()


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)


def _maybe_text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=True)


def _whole(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False)


def _maybe_whole(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=True)


def _small(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _partial_index(name: str, table: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    rows = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=rows, postgresql_where=rows)


def _desk() -> None:
    op.create_table("facts", _text("name"), _text("value"), sa.PrimaryKeyConstraint("name"))


def _conversations() -> None:
    op.create_table(
        "conversations",
        _id(),
        _maybe_text("session_id"),
        _whole("generation"),
        _whole("fence"),
        _maybe_text("agent"),
        _maybe_text("model"),
        _text("bot"),
        _text("chat"),
        _maybe_text("thread"),
        _text("kind"),
        _maybe_text("told"),
        _whole("created_at"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("session_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "keys",
        _text("key"),
        _whole("conversation_id"),
        _whole("created_at"),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"]),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index("ix_keys_conversation_id", "keys", ["conversation_id"])


def _sessions() -> None:
    op.create_table(
        "sessions",
        _text("id"),
        _whole("conversation_id"),
        _whole("generation"),
        _maybe_text("parent_id"),
        _maybe_whole("parent_last_at"),
        _maybe_text("reset_reason"),
        _whole("started_at"),
        _whole("last_human_at"),
        _whole("touched_at"),
        _maybe_whole("ended_at"),
        _maybe_text("end_reason"),
        _maybe_whole("expires_at"),
        _maybe_text("title"),
        _text("bot"),
        _text("kind"),
        _whole("head"),
        _whole("model_head"),
        _whole("messages"),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("sessions_by_conversation", "sessions", ["conversation_id", "started_at"])
    _partial_index("sessions_by_expiry", "sessions", ["expires_at"], "expires_at IS NOT NULL")
    op.create_index("sessions_by_touch", "sessions", ["touched_at", "id"])
    op.create_table(
        "participants",
        _text("session_id"),
        _text("identity"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"]),
        sa.PrimaryKeyConstraint("session_id", "identity"),
    )
    op.create_index("participants_by_identity", "participants", ["identity", "session_id"])


def _turns() -> None:
    op.create_table(
        "turns",
        _text("id"),
        _whole("conversation_id"),
        _text("session_id"),
        _text("state"),
        _small("attempt"),
        _text("author"),
        _maybe_text("thread"),
        _maybe_text("reply_to"),
        _text("bot"),
        _text("chat"),
        _text("kind"),
        _whole("user_seq"),
        _text("agent"),
        _maybe_text("usage"),
        _maybe_text("reference"),
        _whole("opened_at"),
        _maybe_whole("closed_at"),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"]),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("turns_by_session", "turns", ["session_id", "opened_at"])
    _partial_index("turns_one_running", "turns", ["conversation_id"], "state = 'running'", unique=True)
    _partial_index("turns_open", "turns", ["conversation_id"], "state IN ('running', 'suspended')")
    op.create_table(
        "consents",
        _text("id"),
        _text("turn_id"),
        _text("call"),
        _text("bot"),
        _text("chat"),
        _text("asker"),
        _text("state"),
        _whole("created_at"),
        _whole("expires_at"),
        sa.CheckConstraint("state IN ('open','approved','denied','expired','closed')", name="consents_state"),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_consents_expires_at", "consents", ["expires_at"])
    op.create_index("ix_consents_turn_id", "consents", ["turn_id"])


def _entries() -> None:
    op.create_table(
        "entries",
        _id(),
        _text("session_id"),
        _whole("seq"),
        _text("kind"),
        _text("text"),
        _maybe_text("data"),
        _maybe_text("turn_id"),
        _maybe_text("sender"),
        _whole("at"),
        sa.CheckConstraint(
            "kind IN ('user','assistant','tool_call','tool_result','notice','rewind','compaction','clear')",
            name="entries_kind",
        ),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("session_id", "seq"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "attachments",
        _id(),
        _text("session_id"),
        _maybe_whole("entry_id"),
        _text("digest"),
        _text("name"),
        _text("media_type"),
        _whole("size"),
        _whole("created_at"),
        sa.ForeignKeyConstraint(["entry_id"], ["entries.id"]),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"]),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_attachments_digest", "attachments", ["digest"])
    op.create_index("ix_attachments_entry_id", "attachments", ["entry_id"])
    op.create_index("ix_attachments_session_id", "attachments", ["session_id"])


def _inbox() -> None:
    op.create_table(
        "inbox",
        _id(),
        _text("account"),
        _text("dedupe"),
        _maybe_text("message"),
        _maybe_whole("conversation_id"),
        _text("lane"),
        _maybe_text("command"),
        _text("state"),
        _maybe_text("fate"),
        _maybe_text("detail"),
        _maybe_text("turn_id"),
        _text("bot"),
        _text("chat"),
        _maybe_text("thread"),
        _text("kind"),
        _maybe_text("identity"),
        _maybe_text("name"),
        _maybe_text("role"),
        _text("text"),
        _small("more_likely"),
        _whole("sent_at"),
        _whole("received_at"),
        _maybe_whole("done_at"),
        sa.CheckConstraint("(state = 'done') = (fate IS NOT NULL)", name="inbox_fate"),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("account", "dedupe"),
        sqlite_autoincrement=True,
    )
    _partial_index("inbox_by_turn", "inbox", ["turn_id"], "turn_id IS NOT NULL")
    _partial_index("inbox_done", "inbox", ["done_at"], "done_at IS NOT NULL")
    _partial_index("inbox_pending", "inbox", ["conversation_id", "id"], "state = 'pending'")
    _partial_index("inbox_undone", "inbox", ["id"], "state != 'done'")
    op.create_table(
        "idempotency",
        _text("scope"),
        _text("key"),
        _text("digest"),
        _maybe_whole("row_id"),
        _maybe_text("answer"),
        _whole("created_at"),
        _whole("expires_at"),
        sa.ForeignKeyConstraint(["row_id"], ["inbox.id"]),
        sa.PrimaryKeyConstraint("scope", "key"),
    )
    op.create_index("ix_idempotency_expires_at", "idempotency", ["expires_at"])
    op.create_index("ix_idempotency_row_id", "idempotency", ["row_id"])


def _deliveries() -> None:
    op.create_table(
        "deliveries",
        _id(),
        _maybe_whole("conversation_id"),
        _maybe_text("turn_id"),
        _text("role"),
        _small("part"),
        _text("bot"),
        _text("chat"),
        _maybe_text("thread"),
        _maybe_text("reply_to"),
        _text("kind"),
        _text("text"),
        _text("state"),
        _maybe_text("message"),
        _small("attempts"),
        _maybe_whole("not_before"),
        _maybe_text("error"),
        _whole("created_at"),
        _maybe_whole("done_at"),
        sa.CheckConstraint("role IN ('preview','reply','notice','unknown_notice')", name="deliveries_role"),
        sa.CheckConstraint("state IN ('queued','sending','sent','failed','unknown')", name="deliveries_state"),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"]),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    _partial_index("deliveries_by_turn", "deliveries", ["turn_id"], "turn_id IS NOT NULL")
    _partial_index("deliveries_done", "deliveries", ["done_at"], "done_at IS NOT NULL")
    _partial_index("deliveries_said", "deliveries", ["done_at"], "state = 'sent' AND text != ''")
    _partial_index("deliveries_unknown", "deliveries", ["bot", "chat"], "state = 'unknown'")
    _partial_index("deliveries_unsent", "deliveries", ["bot", "chat", "id"], "state IN ('queued', 'sending')")
    _partial_index("deliveries_unsent_in", "deliveries", ["conversation_id"], "state IN ('queued', 'sending')")


def _people() -> None:
    op.create_table(
        "people",
        _text("id"),
        _text("name"),
        _text("role"),
        _whole("created_at"),
        sa.CheckConstraint("role IN ('owner','user','guest','blocked')", name="people_role"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "identities",
        _text("identity"),
        _text("person_id"),
        _text("name"),
        _whole("created_at"),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"]),
        sa.PrimaryKeyConstraint("identity"),
    )
    op.create_index("ix_identities_person_id", "identities", ["person_id"])
    op.create_table(
        "pairings",
        _text("code"),
        _text("identity"),
        _text("name"),
        _text("bot"),
        _text("chat"),
        _text("kind"),
        _whole("created_at"),
        _whole("expires_at"),
        sa.PrimaryKeyConstraint("code"),
        sa.UniqueConstraint("identity"),
    )
    op.create_index("ix_pairings_expires_at", "pairings", ["expires_at"])


def _gate() -> None:
    op.create_table(
        "never",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.CheckConstraint("id <> id", name="never_any"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "deletions",
        _text("session_id"),
        sa.Column("guard", sa.BigInteger(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["guard"], ["never.id"], initially="DEFERRED", deferrable=True),
        sa.PrimaryKeyConstraint("session_id"),
    )
