"""Answers that did not arrive are found by their conversation; what one person alone is to see names that person."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("deliveries", sa.Column("alone", sa.Text(), nullable=True))
    lost = sa.text("state = 'failed' AND role = 'reply'")
    op.create_index("deliveries_lost", "deliveries", ["conversation_id"], sqlite_where=lost, postgresql_where=lost)
