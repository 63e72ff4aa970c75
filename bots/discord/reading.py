"""Reading Discord's JSON (https://docs.discord.com/developers/reference): what is missing or wrong has one error."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from bots.discord.sdk import discord
from core.fields import Json, Unreadable, get
from core.people.names import storable

_MOST_SNOWFLAKE: Final = 2**64 - 1
_DIGITS: Final = re.compile(r"[0-9]{1,20}", re.ASCII)


def is_snowflake(value: object) -> bool:
    return isinstance(value, str) and _DIGITS.fullmatch(value) is not None and int(value) <= _MOST_SNOWFLAKE


def snowflake(record: Json, key: str) -> str:
    """An id, as Discord writes it: decimal digits of 64 bits."""
    value = get(record, key, str)
    if not is_snowflake(value):
        raise Unreadable(f"{key} is no id")
    return value


def opt_snowflake(record: Json, key: str) -> str | None:
    return None if record.get(key) is None else snowflake(record, key)


def made_at(snowflake: str) -> datetime:
    """When Discord made the thing with this id."""
    return discord.utils.snowflake_time(int(snowflake))


def snowflake_of(moment: datetime) -> str:
    """Less than every id that was made from `moment` on."""
    return str(max(0, discord.utils.time_snowflake(moment) - 1))


def time(record: Json, key: str) -> datetime:
    """An ISO 8601 timestamp with its zone."""
    try:
        told = datetime.fromisoformat(get(record, key, str))
        if told.tzinfo is not None:
            return told.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Unreadable(f"{key} is no time") from None
    raise Unreadable(f"{key} names no zone")


def one_line(text: str) -> str:
    """A name as it can stand within a line."""
    return " ".join(storable(text).split())
