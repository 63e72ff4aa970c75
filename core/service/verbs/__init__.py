"""The verbs of the command line, as the daemon carries them out."""

from __future__ import annotations

from collections.abc import Mapping

from core.ports import Clock, Random
from core.service.notices import Notices
from core.service.socket import Json, Verb
from core.service.verbs.db import verbs as about_db
from core.service.verbs.explain import verbs as about_explaining
from core.service.verbs.means import Means, Running, stamp
from core.service.verbs.messages import verbs as about_messages
from core.service.verbs.people import verbs as about_people
from core.service.verbs.running import AtRest, AtWork
from core.service.verbs.sessions import verbs as about_sessions
from core.store.engine import Store

__all__ = ["AtRest", "AtWork", "Running", "Verbs", "stamp"]


class Verbs:
    def __init__(self, store: Store, *, clock: Clock, random: Random, notices: Notices, running: Running) -> None:
        self._means = Means(store=store, clock=clock, random=random, notices=notices, running=running)

    def table(self) -> Mapping[str, Verb]:
        """By the names that requests over the socket use."""
        means = self._means
        return {
            "status": self._status,
            **about_sessions(means),
            **about_people(means),
            **about_messages(means),
            **about_explaining(means),
            **about_db(means),
        }

    async def _status(self, args: Mapping[str, Json]) -> Json:
        return await self._means.running.status()
