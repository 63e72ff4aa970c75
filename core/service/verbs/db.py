"""`db ...`, as far as the daemon does it: what is sound, and where the store is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from core.service.socket import Json, Verb
from core.service.verbs.means import Means
from core.store.checks import survey
from core.store.sqlite import SqliteDatabase


def verbs(means: Means) -> Mapping[str, Verb]:
    """By the names that requests use."""
    return {"db.verify": partial(_verify, means), "db.where": partial(_where, means)}


async def _verify(means: Means, args: Mapping[str, Json]) -> Json:
    """Look at everything, in short reads beside whatever runs."""
    report = await survey(means.store)
    return {
        "sound": not report.findings,
        "checked": dict(report.checked),
        "findings": [
            {"rule": one.rule, "subject": one.subject, "means": one.means, "advice": one.advice}
            for one in report.findings
        ],
    }


async def _where(means: Means, args: Mapping[str, Json]) -> Json:
    """Which store is open, so that it can be copied: `path` is None where it is on a server."""
    database = means.store.database
    path = str(database.path.absolute()) if isinstance(database, SqliteDatabase) else None
    return {"dialect": database.dialect, "path": path}
