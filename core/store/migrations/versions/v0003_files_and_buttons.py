"""What comes with a message and goes out with an answer: files, quotes, buttons; and chats that got another id."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("inbox", sa.Column("enclosed", sa.Text(), nullable=True))
    op.add_column("deliveries", sa.Column("buttons", sa.Text(), nullable=True))
    op.add_column("deliveries", sa.Column("files", sa.Text(), nullable=True))
    op.create_table(
        "buttons",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("bot", sa.Text(), nullable=False),
        sa.Column("chat", sa.Text(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), sa.ForeignKey("conversations.id"), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_buttons_question", "buttons", ["question"])
    op.create_index("ix_buttons_conversation_id", "buttons", ["conversation_id"])
    op.create_index("ix_buttons_expires_at", "buttons", ["expires_at"])
    op.create_table(
        "moves",
        sa.Column("bot", sa.Text(), primary_key=True),
        sa.Column("was", sa.Text(), primary_key=True),
        sa.Column("chat", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )
    op.create_index("moves_by_chat", "moves", ["bot", "chat"])
