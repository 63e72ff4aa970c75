"""Alembic's side of the store: imported only when the schema is behind."""
