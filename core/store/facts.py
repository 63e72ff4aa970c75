"""Single values of the desk itself, by name."""

from __future__ import annotations

from sqlalchemy import select, update

from core.store.sql import Sql, Tx, insert, text
from core.store.tables import facts

_GET = Sql(select(facts.c.value).where(facts.c.name == text("name")))
_SET = Sql(update(facts).where(facts.c.name == text("row")).values(value=text("to")))
_ACCOUNT = "account:"
_ADD = insert(facts, "name", "value", once=["name"])


def get(tx: Tx, name: str) -> str | None:
    row = tx.one(_GET, name=name)
    return None if row is None else row.text("value")


def account_of(tx: Tx, bot: str) -> str:
    """The platform's account that this bot's name stood for last; "" if it never did."""
    return get(tx, _ACCOUNT + bot) or ""


def keep_account(tx: Tx, bot: str, account: str) -> None:
    put(tx, _ACCOUNT + bot, account)


def put(tx: Tx, name: str, value: str) -> None:
    if tx.run(_SET, row=name, to=value) == 0:
        tx.run(_ADD, name=name, value=value)
