"""What agents with models need: tools that come with a message, what a call waits for, a person's use of a day."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("inbox", sa.Column("tools", sa.Text(), nullable=True))
    op.add_column("consents", sa.Column("kind", sa.Text(), nullable=False, server_default="consent"))
    op.create_index("turns_by_author", "turns", ["author", "opened_at"])
