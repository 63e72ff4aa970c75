"""A verb of the command line, as the socket gives it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from core.service.socket import Json
from tests.flow.house import House


async def verb(house: House, name: str, **args: Json) -> dict[str, Any]:
    """Its answer, through JSON; returns once what it set in motion rests."""
    given: Mapping[str, Json] = json.loads(json.dumps(args))
    found: dict[str, Any] = json.loads(json.dumps(await house.verbs.table()[name](given)))
    await house.idle()
    return found


def begun(house: House, name: str, **args: Json) -> asyncio.Task[Json]:
    """A verb whose answer takes its time."""

    async def ask() -> Json:
        return await house.verbs.table()[name](args)

    return asyncio.create_task(ask())
