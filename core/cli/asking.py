"""Ask the desk: over its socket if it runs, else by opening its store for the moment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from core.cli.options import Place
from core.errors import NotRunning
from core.service.socket import SOCKET_NAME, Json
from core.service.socket_client import ask

if TYPE_CHECKING:
    from config.load import Loaded


def ask_desk(place: Place, verb: str, args: Mapping[str, Json]) -> Json:
    """The verb's result. Raises `ConfigFaults`, and `FrontdeskError` with words for the one who typed."""
    return asyncio.run(_ask(place.load(), verb, args))


async def _ask(loaded: Loaded, verb: str, args: Mapping[str, Json]) -> Json:
    try:
        return await ask(loaded.state_dir / SOCKET_NAME, verb, args)
    except NotRunning:
        from core.main import offline

        async with offline(loaded) as verbs:
            return await verbs[verb](args)
