"""A crash is counted against what caused it: how a turn is asked again after one, and how often files were read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("turns", sa.Column("retry", sa.Text(), nullable=True))
    op.add_column("inbox", sa.Column("reads", sa.Integer(), nullable=False, server_default="0"))
