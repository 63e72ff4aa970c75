"""Ask the desk: over its socket if it runs, else by opening its store for the moment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from core.cli.options import Place
from core.errors import NotRunning
from core.service.socket import SOCKET_NAME, Json
from core.service.socket_client import ask


def ask_desk(place: Place, verb: str, args: Mapping[str, Json]) -> Json:
    """The verb's result. Raises `ConfigFaults`, and `FrontdeskError` with words for the one who typed."""
    return asyncio.run(_ask(place, verb, args))


def ask_running(place: Place, verb: str) -> Json:
    """What the daemon answers. Raises `NotRunning`, `ConfigFaults` and `VerbFailed`."""
    return asyncio.run(ask(place.state_directory() / SOCKET_NAME, verb, {}))


async def _ask(place: Place, verb: str, args: Mapping[str, Json]) -> Json:
    try:
        return await ask(place.state_directory() / SOCKET_NAME, verb, args)
    except NotRunning:
        loaded = place.load()
        from core.main import offline

        async with offline(loaded) as verbs:
            return await verbs[verb](args)
